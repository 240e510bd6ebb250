"""Domains of scenes in folders, and benchmarks of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import DataError
from .benchmark import Benchmark, Counts, Domain, Findings, Published, Recipe
from .decoding import SUFFIXES
from .folders import images_in, photo_format
from .inspection import inspect, verified
from .masks import LabelIds, MaskEncoding
from .samples import ImageFormat
from .scenes import Scenes, absent_classes, shares, total
from .splits import SPLITS, Split, block_split
from .stores import Options, SceneFile

ROBUSTNET_RECIPE = Recipe(
    image_size=768,
    epochs=26,
    epochs_multi_source=26,
    batch_size=8,
    learning_rate=0.01,
    momentum=0.9,
    weight_decay=5e-4,
    schedule="poly",
    base_augmentation=True,
    pretrained=True,
)
"""RobustNet's, with the paper's batch size: 40,000 steps are 26 epochs of GTAV's 12,403 images."""


@dataclass(frozen=True)
class SceneDomain(Domain):
    """A domain whose scenes are pairs of files, an image and a mask.

    Attributes:
        name: the domain's name.
        folder: the domain's folder.
        classes: names of the classes, in order of their labels.
        format: how the scenes reach the network.
        options: how files are read.
        encoding: how masks are written.
        upright: turn images and masks as their EXIF orientations say.
    """

    name: str
    folder: Path
    classes: tuple[str, ...]
    format: ImageFormat
    options: Options
    encoding: MaskEncoding
    upright: bool = False

    def where(self) -> Path | None:
        """The domain's folder; None if it is missing."""
        return self.folder if self.folder.is_dir() else None

    @abstractmethod
    def pairs(self) -> dict[str, tuple[Path, Path]]:
        """Image and mask of each scene by its name, in order.

        Raises:
            DataError: a partner is missing.
        """

    def split(self, split: Split, names: Sequence[str]) -> list[str]:
        """Names of the scenes of a split; the test split is all of them.

        Args:
            split: which split.
            names: of all scenes.
        """
        if split == "test":
            return list(names)
        training, validation = block_split(names)
        return [names[i] for i in (training if split == "train" else validation)]

    def files(self) -> dict[str, SceneFile]:
        """All scenes by name, in order."""
        if self.where() is None:
            raise self.not_found()
        return {
            name: SceneFile(f"{self.name}/{name}", image, mask, self.encoding, self.upright)
            for name, (image, mask) in self.pairs().items()
        }

    def counts(self) -> Counts:
        """Count the scenes; which classes are in them is not looked at."""
        return {part: (len(self.files()),) for part in self.parts()}

    def examine(self) -> Findings:
        """Decode every image and every mask."""
        try:
            files = self.files()
        except DataError as error:
            return Findings({}, (str(error),))
        seen = inspect(list(files.values()), None, self.options, title=self.name)
        names = list(files)
        notes = [f"split: {len(self.split(s, names))} {s}" for s in SPLITS if self.split(s, names)]
        notes += [f"{one.image}: {s.conversion}" for one, s in seen.items() if s.conversion]
        problems = [state.problem for state in seen.values() if state.problem]
        labels = total(state.labels for state in seen.values())
        notes.append(f"pixels: {shares(labels, self.classes)}")
        if self.upright and (absent := absent_classes(labels, self.classes)):
            problems.append(f"{self.folder}: {absent}")
        return Findings(self.counts(), tuple(problems), tuple(notes))

    def load(self, split: Split) -> Scenes:
        """The scenes of a split, once all files of the domain are known to fit together."""
        files = self.files()
        contents = verified(
            self.folder,
            list(files.values()),
            None,
            self.options,
            title=self.name,
            checked=repr(self.encoding) + " upright" * self.upright,
        )
        known = dict(zip(files, contents, strict=True))
        names = self.split(split, list(files))
        if not names:
            raise DataError.at(
                self.folder,
                f"no scenes for the {split} split",
                "a source needs two scenes or more; published targets are only measured on",
            )
        return Scenes.in_files(
            [known[name] for name in names],
            self.options,
            classes=self.classes,
            split=split,
            format=self.format,
        )


@dataclass(frozen=True)
class PairedFolders(SceneDomain):
    """Two folders, ``images`` and ``masks``; a mask has the name of its image."""

    def layouts(self) -> tuple[str, ...]:
        """What is looked for."""
        return (f"{self.folder}/images/<name>.jpg and {self.folder}/masks/<name>.png",)

    def pairs(self) -> dict[str, tuple[Path, Path]]:
        """Image and mask of each scene by its name."""
        images, masks = (self._files(name) for name in ("images", "masks"))
        for own, others, kind in ((images, masks, "mask"), (masks, images, "image")):
            if alone := sorted(own.keys() - others.keys()):
                folder = self.folder / f"{kind}s"
                raise DataError.at(
                    own[alone[0]],
                    f"has no {kind} in {folder}"
                    + (f", nor have {len(alone) - 1} others" if alone[1:] else ""),
                    f"add {folder / alone[0]} with one of {' '.join(sorted(SUFFIXES))}, or "
                    "remove the file",
                )
        return {name: (images[name], masks[name]) for name in sorted(images)}

    def _files(self, name: str) -> dict[str, Path]:
        folder = self.folder / name
        if not folder.is_dir():
            raise DataError.at(folder, "no such folder", "expected images/ and masks/")
        found: dict[str, Path] = {}
        for path in images_in(folder):
            if path.stem in found:
                raise DataError.at(path, f"has the name of {found[path.stem]}", "rename one")
            found[path.stem] = path
        return found


def scene_benchmark(
    name: str,
    folder: Path,
    *,
    domains: Sequence[str],
    classes: tuple[str, ...],
    recipe: Recipe,
    network: str,
    options: Options,
    published: Published | None = None,
    sources: str = "",
    user_data: bool = False,
) -> Benchmark:
    """A benchmark of folders ``<domain>/{images,masks}``, whose masks hold numbers of classes.

    Args:
        name: the benchmark's name.
        folder: where its domains are.
        domains: their names.
        classes: names of the classes, in order of their labels.
        recipe: how to train.
        network: what to train.
        options: how files are read.
        published: published numbers of scenes.
        sources: where to get the data.
        user_data: whether the scenes are the user's own.
    """
    form = photo_format(recipe, options)
    encoding = LabelIds(len(classes))
    members: Mapping[str, Domain] = {
        domain: PairedFolders(
            domain, folder / domain, classes, form, options, encoding, upright=user_data
        )
        for domain in domains
    }
    return Benchmark(
        name=name,
        classes=classes,
        format=form,
        network=network,
        recipe=recipe,
        members=members,
        published=published or {},
        sources=sources,
        task="segmentation",
        user_data=user_data,
    )
