"""Everything that a study shows in pictures, each written beside the report."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure
from PIL import Image

from ...errors import ProRandConvError
from ..errors import DataError
from ..files import write_bytes
from ..methods import METHODS
from ..run.config import RunConfig
from .compare import Comparison
from .curves import learning_curves, render, themed
from .read import ReportedRun

LARGEST = 300_000
"""Bytes of a PNG."""
LONGEST = 100
"""Signs of a file's name."""


@dataclass(frozen=True)
class Picture:
    """A picture that is written."""

    name: str
    """of its PNG, without the ending"""
    title: str
    address: str
    """the whole picture as an address, to be put into a page"""
    narrow: str = ""
    """the same for a phone, if it is another"""

    @classmethod
    def plot(cls, figure: Figure, path: Path, title: str, narrow: Figure | None = None) -> Picture:
        """Write a plot as PNG; a page gets it as SVG, which follows light and dark.

        Args:
            figure: the plot.
            path: where to, without an ending.
            title: what it shows.
            narrow: the plot for a phone.
        """
        write_bytes(path.with_name(f"{path.name}.png"), render(figure, "png"))
        return cls(path.name, title, _drawing(figure), "" if narrow is None else _drawing(narrow))

    @classmethod
    def sheet(cls, image: Image.Image, path: Path, title: str) -> Picture:
        """Write images as PNG, with fewer colours if it would be too large."""
        content = _png(image)
        if len(content) > LARGEST:
            content = _png(image.quantize(128))
        write_bytes(path.with_name(f"{path.name}.png"), content)
        return cls(path.name, title, _address(content, "png"))


class Folder:
    """Where a report is written: gives out names, each once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._taken: set[str] = set()

    def free(self, *parts: str) -> Path:
        """A path without an ending, named after the parts, with a number if that is taken."""
        name = own = slug(" ".join(parts))[:LONGEST]
        number = 1
        while own in self._taken:
            number += 1
            own = f"{name}-{number}"
        self._taken.add(own)
        return self.path / own


def curve_pictures(comparison: Comparison, name: str, folder: Folder) -> Iterator[Picture]:
    """Scores over epochs."""
    several = any(len(seeds) > 1 for seeds in comparison.rows.values())
    spread = ": mean and standard deviation over seeds" if several else ""
    figures = zip(learning_curves(comparison), learning_curves(comparison, 1), strict=True)
    for figure, narrow in figures:
        title = f"Learning curves ({comparison.score}), {comparison.title}{spread}"
        yield Picture.plot(figure, folder.free(name, "curves"), title, narrow)


def sample_pictures(
    groups: Iterable[Comparison], name: str, folder: Folder, data_root: Path | None
) -> Iterator[Picture | str]:
    """Images of each source under draws of each method that changes images.

    Where the source's images are absent, a sentence says so.
    """
    seen: set[tuple[str, ...]] = set()
    for row, run in ((row, run) for group in groups for row, run in group.firsts.items()):
        source = (run.config["benchmark"], run.config["source"][0])
        if {source, (*source, row)} & seen:
            continue
        seen.add((*source, row))
        if run.config["method"] not in METHODS:
            yield f"No samples of {row}: a report calls no code that a file of results names"
            continue
        changes = {"network": "lenet", "weights": None}  # none is needed, nor may one be imported
        if data_root is not None:
            changes["data_root"] = str(data_root)
        from .sheets import sample_sheet  # images are loaded here and below, and nowhere else

        try:
            sheet = sample_sheet(RunConfig.from_mapping(run.config | changes))
        except DataError as error:
            seen.add(source)
            yield f"No images of {' '.join(source)} to augment: {error}"
            continue
        except Exception as error:  # whatever options a file of results may hold
            yield f"No samples of {row}: {type(error).__name__}: {error}"
            continue
        if sheet is not None:
            title = f"{row}: images of {' '.join(source)}, and new draws with the run's options"
            yield Picture.sheet(sheet, folder.free(name, "samples", *source[1:], row), title)


def prediction_pictures(
    groups: Iterable[Comparison],
    name: str,
    folder: Folder,
    data_root: Path | None,
    *,
    scenes: bool,
) -> Iterator[Picture | str]:
    """Scenes of each target, their classes, and what each method takes them for.

    The scenes are the same for all methods, and so is the seed where one seed's weights are kept
    for all; without ``scenes``, only what was found is shown. Classification has no such pictures.
    """
    for group in groups:
        runs = {row: _with_weights(of_seeds) for row, of_seeds in group.rows.items()}
        for row in (row for row, kept in runs.items() if not kept):
            if any(map(_segments, group.rows[row].values())):
                yield f"No predictions of {row}: no run of it has kept its weights"
        shown, seeds = _of_one_seed({row: kept for row, kept in runs.items() if kept})
        for target in group.targets if shown else ():
            from .sheets import prediction_sheet

            try:
                sheet = prediction_sheet(shown, target, data_root, scenes=scenes)
            except ProRandConvError as error:  # data that is gone, weights that are damaged
                yield f"No predictions for {target}: {error}"
                continue
            what = "scenes, their classes, and those" if scenes else "the classes"
            title = f"{target}: {what} that each method found, {seeds}"
            yield Picture.sheet(sheet, folder.free(name, "predictions", target), title)


def _with_weights(of_seeds: Mapping[int, ReportedRun]) -> dict[int, ReportedRun]:
    """The runs of a row that segment and whose weights are there, by seed."""
    return {seed: run for seed, run in of_seeds.items() if _segments(run) and run.has_weights}


def _of_one_seed(
    rows: Mapping[str, Mapping[int, ReportedRun]],
) -> tuple[dict[str, ReportedRun], str]:
    """A run of each row, of one seed if all rows have one in common; and which seeds these are."""
    common = set.intersection(*map(set, rows.values())) if rows else set()
    if common:
        seed = min(common)
        return {row: of_seeds[seed] for row, of_seeds in rows.items()}, f"seed {seed}"
    firsts = {row: min(of_seeds) for row, of_seeds in rows.items()}
    named = {f"{row}, seed {seed}": rows[row][seed] for row, seed in firsts.items()}
    return named, "of the first seed whose weights are there"


def _segments(run: ReportedRun) -> bool:
    """Whether a run segments, is done, and has a network that needs no code of a user's."""
    config = run.config
    named = ":" not in config["network"] and config["method"] in METHODS
    return config.get("task") == "segmentation" and run.result is not None and named


def _drawing(figure: Figure) -> str:
    return _address(themed(render(figure, "svg")), "svg+xml")


def slug(text: str) -> str:
    """Text as part of a file's name.

    Example:
        >>> slug("Progressive (Same), σ_w ~ U")
        'progressive-same-σ-w-u'
    """
    signs = "".join(sign if sign.isalnum() else " " for sign in text.lower())
    return "-".join(signs.split())


def _png(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "png", optimize=True)
    return buffer.getvalue()


def _address(content: bytes, kind: str) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
