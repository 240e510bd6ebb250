"""The commands that make augmented copies of a folder, and make one of them again."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.console import Console

from ...copies.settings import Settings
from ...errors import ProRandConvError
from ..options import OrDefault

if TYPE_CHECKING:  # commands import what they call when they run: --help must not wait for torch
    from ...copies.folder import Job, Outcome
    from ...copies.tree import Tree

SHOWN = 3
"""Names of files that are told; of more, the number."""


@dataclass(frozen=True)
class Augment:
    """Make augmented copies of a folder of pictures, and of their masks.

    Frozen copies are not the same as a new draw in every mini-batch: docs/augment.md compares them.
    Sub-folders are kept, nothing is overwritten, and the same command resumes.
    DST/augment.jsonl has the draw of each copy; prorandconv remake makes one again. A file that
    cannot be read is reported, the others are copied, and the exit code is 1.
    """

    source: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="SRC")]
    """folder of pictures, at any depth"""
    target: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="DST")]
    """folder to write to: a new one, or one that the same command has begun"""
    masks: OrDefault[Path] = None
    """folder of masks that are named as their pictures; DST then has images/ and masks/"""
    settings: Annotated[Settings, tyro.conf.arg(name="")] = field(default_factory=Settings)
    workers: OrDefault[int] = None
    """number of processes; does not change the copies (default: one a core, at most 8)"""
    renew: bool = False
    """replace the copies of pictures that have changed, or whose masks have"""
    dry_run: bool = False
    """tell how many copies there will be and how much room and time they take, and write nothing"""

    def run(self, out: Console) -> int:
        """Make the copies and say what was done."""
        from ...copies.folder import Job, make_copies
        from ..data.stores import Options

        workers = Options(workers=self.workers).processes
        job = Job(self.source, self.target, self.masks, self.settings)
        tree = job.tree()
        if self.dry_run:
            _tell_beforehand(job, tree, workers, out)
            return 0
        outcome = make_copies(job, tree, workers, renew=self.renew)
        _tell(job, tree, outcome, out)
        return 1 if outcome.problems else 0


@dataclass(frozen=True)
class Remake:
    """Make a copy again that prorandconv augment has made, from its original and its draw.

    Without --output, a copy that is missing is put back, and one that is there is compared: the
    exit code is 1 if a pixel differs.
    """

    picture: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="PICTURE")]
    """path of a copy, or of a mask, in the folder with its augment.jsonl"""
    output: OrDefault[Path] = None
    """file to write instead"""
    source: OrDefault[Path] = None
    """folder of the originals (default: where they were)"""
    masks: OrDefault[Path] = None
    """folder of the masks (default: where they were)"""

    def run(self, out: Console) -> int:
        """Make it again, and write or compare it."""
        from ...copies.pictures import store
        from ...copies.remake import remade, same_pixels

        path = self.output or self.picture
        if self.output is not None and self.output.exists():
            raise ProRandConvError.about(
                "--output", str(self.output), "a new file; nothing is overwritten"
            )
        content = remade(self.picture, self.source, self.masks)
        if not path.exists():
            store(path.parent, {path.name: content})
            out.print(f"{path}: written", soft_wrap=True)
            return 0
        same = same_pixels(path, content)
        found = "the same, pixel for pixel" if same else "differs from what its draw makes"
        out.print(f"{path}: {found}", soft_wrap=True)
        return 0 if same else 1


def _tell_beforehand(job: Job, tree: Tree, workers: int, out: Console) -> None:
    from ...copies.folder import as_size, check_target, estimate, free_bytes
    from ..run.display import duration

    check_target(job.target)
    expected = estimate(tree.pictures, job.settings)
    each = expected.manifest_bytes // max(expected.files, 1)
    lines = [
        f"{_counted(len(tree.pictures), 'picture')} in {_counted(tree.folders, 'folder')}, "
        f"{len(job.settings.numbers)} copies each"
        + (", originals included" if job.settings.include_originals else "")
        + f": {_counted(expected.files, 'file')}"
        + (", and as many masks" if job.masks else ""),
        f"room: about {as_size(expected.file_bytes)}, and "
        f"{as_size(expected.manifest_bytes)} for the manifest ({as_size(each)} a draw); "
        f"{as_size(free_bytes(job.target.absolute()))} are free",
        f"time: about {duration(expected.seconds / max(workers, 1))} with "
        f"{_counted(max(workers, 1), 'process', 'es')}",
        f"estimated from {_counted(expected.tried, 'picture')}, for a folder that is not begun yet",
        *_left_out(tree),
    ]
    for line in lines:
        out.print(line, soft_wrap=True)


def _tell(job: Job, tree: Tree, outcome: Outcome, out: Console) -> None:
    from ...copies.manifest import NAME

    each = len(job.settings.numbers)
    before = f", {outcome.before * each:,} were there" if outcome.before else ""
    lines = [
        f"{_counted(outcome.made * each, 'copy', 'ies')} of {_counted(outcome.made, 'picture')} "
        f"written{before}; their draws: {job.target / NAME}",
        *(f"{_counted(n, 'picture')}: {how}" for how, n in sorted(outcome.conversions.items())),
        *_named("copies of pictures that are there no more", outcome.orphans),
        *_left_out(tree),
    ]
    for line in lines:
        out.print(line, soft_wrap=True)
    for problem in outcome.problems.values():
        print(f"prorandconv: {problem}", file=sys.stderr)
    if outcome.problems:
        count = _counted(len(outcome.problems), "picture")
        print(f"prorandconv: {count} without copies, named above", file=sys.stderr)


def _left_out(tree: Tree) -> list[str]:
    return _named("left out, no pictures by their extension", tree.left_out)


def _named(what: str, names: Sequence[str]) -> list[str]:
    """A line with the number of names and the first of them; none if there are none."""
    if not names:
        return []
    shown = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
    return [f"{what}: {len(names):,} ({shown})"]


def _counted(count: int, one: str, ending: str = "s") -> str:
    """A number with its noun.

    Example:
        >>> _counted(1, "copy", "ies"), _counted(2000, "copy", "ies")
        ('1 copy', '2,000 copies')
    """
    if count == 1:
        return f"1 {one}"
    return f"{count:,} {one[:-1] if ending == 'ies' else one}{ending}"
