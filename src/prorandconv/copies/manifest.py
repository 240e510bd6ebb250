"""The manifest: JSON lines that say what each copy was made of. ``docs/augment.md`` defines it.

It grows while copies are made. What a process that was killed has written of a line is removed, and
the lines are put in order when all is done.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import __version__
from ..lab.errors import DataError
from ..lab.files import replacing, write_text
from ..transforms import DRAWING_VERSION
from .settings import Settings

NAME = "augment.jsonl"
FORMAT, VERSION = "prorandconv.augment", 1


@dataclass(frozen=True)
class Header:
    """The first line: what all copies have in common.

    Attributes:
        source: the folder of pictures, as seen from the manifest.
        masks: the folder of masks, likewise.
        settings: how copies are made.
    """

    source: str
    masks: str | None
    settings: Settings

    @classmethod
    def of(cls, folder: Path, source: Path, masks: Path | None, settings: Settings) -> Header:
        """The header of copies in a folder."""
        seen = None if masks is None else _seen_from(folder, masks)
        return cls(_seen_from(folder, source), seen, settings)

    def line(self) -> str:
        """As JSON."""
        return _line(
            {
                "format": FORMAT,
                "version": VERSION,
                "prorandconv": __version__,
                "drawing_version": DRAWING_VERSION,
                "source": self.source,
                "masks": self.masks,
                "settings": self.settings.to_mapping(),
            }
        )


@dataclass
class _Lines:
    """Where the lines of one picture are, and what they name."""

    spans: list[tuple[int, int]] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    hashes: tuple[str, str | None] | None = None
    """of the picture and its mask"""


class Manifest:
    """The manifest of a folder of copies."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / NAME
        self._lines: dict[str, _Lines] = {}
        self._head = 0
        """where the first line ends"""

    def resume(self, header: Header) -> None:
        """Read the manifest that is there, if there is one.

        Raises:
            DataError: it is damaged, or that of another command.
        """
        if not self.path.exists():
            return
        complete = 0
        for begin, complete, line in _lines(self.path):
            if begin:
                self._note(line, begin, complete)
            else:
                self._check_same_command(line, json.loads(header.line()))
                self._head = complete
        if not complete:
            raise DataError.at(self.path, "is empty", "remove it")
        if complete < self.path.stat().st_size:  # a part of a line, cut off by a kill
            os.truncate(self.path, complete)

    def begin(self, header: Header) -> None:
        """Write the first line, unless there is one."""
        if not self.path.exists():
            write_text(self.path, header.line())
            self._head = self.path.stat().st_size

    def has(self, source: str, targets: Iterable[str]) -> bool:
        """Whether all copies of a picture are recorded and there.

        Raises:
            DataError: they have other names than they would get now.
        """
        expected, found = list(targets), self._lines.get(source, _Lines()).targets
        if not set(found) <= set(expected):
            raise DataError.at(
                self.path,
                f"calls a copy of {source} {found[0]}, which now is {expected[0]}: since it was "
                "begun, a picture of the same name was added or removed",
                "choose another folder",
            )
        return found == expected and all((self.folder / name).exists() for name in expected)

    @property
    def sources(self) -> list[str]:
        """Names of the pictures that are recorded."""
        return sorted(self._lines)

    def hashes(self, source: str) -> tuple[str, str | None] | None:
        """Of a picture and its mask when they were copied; None if they were not."""
        return self._lines.get(source, _Lines()).hashes

    def forget(self, source: str) -> None:
        """Remove the copies of a picture, and at the end their lines."""
        for name in self._lines.pop(source).targets:
            (self.folder / name).unlink(missing_ok=True)

    def add(self, entries: Sequence[Mapping[str, Any]]) -> None:
        """Record all copies of a picture; they are written already."""
        lines = [_line(entry).encode() for entry in entries]
        begin = self.path.stat().st_size
        with self.path.open("ab") as file:
            file.write(b"".join(lines))
        self._lines.pop(entries[0]["source"], None)  # of a part of its copies
        for entry, line in zip(entries, lines, strict=True):
            self._note(entry, begin, begin + len(line))
            begin += len(line)

    def finish(self) -> None:
        """Put the lines in order of the pictures' names, if they are not."""
        spans = [span for name in sorted(self._lines) for span in self._lines[name].spans]
        begins, ends = [begin for begin, _ in spans], [self._head, *(end for _, end in spans)]
        if [*begins, self.path.stat().st_size] == ends:
            return
        with (
            replacing(self.path) as temporary,
            self.path.open("rb") as old,
            temporary.open("wb") as new,
        ):
            for begin, end in [(0, self._head), *spans]:
                old.seek(begin)
                new.write(old.read(end - begin))

    def _note(self, entry: Mapping[str, Any], begin: int, end: int) -> None:
        kept = self._lines.setdefault(entry["source"], _Lines())
        kept.hashes = entry["content"], entry["mask_content"]
        kept.spans.append((begin, end))
        kept.targets += targets_of(entry)

    def _check_same_command(self, stored: Mapping[str, Any], own: Mapping[str, Any]) -> None:
        check_header(self.path, stored)
        for name in ("source", "masks", "drawing_version"):
            if stored[name] != own[name]:
                self._differs(name, stored[name], own[name])
        was, now = (_flat(one["settings"]) for one in (stored, own))
        for name in was | now:
            if was.get(name) != now.get(name):
                self._differs(name, was.get(name), now.get(name))

    def _differs(self, name: str, was: object, now: object) -> None:
        raise DataError.at(
            self.folder,
            f"was begun with {name} {was}, now it is {now}",
            "give the same options to go on with it, or choose another folder",
        )


def targets_of(entry: Mapping[str, Any]) -> list[str]:
    """Paths of a copy's files within the folder."""
    return [name for name in (entry["picture"], entry["mask"]) if name is not None]


def find(path: Path, target: str) -> tuple[Header, dict[str, Any]]:
    """The header of a manifest, and the entry of a picture or mask.

    Raises:
        DataError: the manifest is damaged, or does not have it.
    """
    lines = (line for _, _, line in _lines(path))
    head = next(lines, {})
    check_header(path, head)
    for entry in lines:
        if target in targets_of(entry):
            settings = Settings.from_mapping(head["settings"])
            return Header(head["source"], head["masks"], settings), entry
    raise DataError.at(path, f"has no entry {target}", "give the path of one of its pictures")


def check_header(path: Path, line: Mapping[str, Any]) -> None:
    """Raise for what is not a manifest of this version."""
    if line.get("format") != FORMAT:
        raise DataError.at(path, "is no manifest of prorandconv augment", "choose another folder")
    if line.get("version") != VERSION:
        raise DataError.at(
            path, f"has version {line.get('version')}", f"this release reads version {VERSION}"
        )
    try:
        Settings.from_mapping(line["settings"])
        complete = line.keys() >= {"source", "masks", "drawing_version"}
    except (KeyError, TypeError, AttributeError):
        complete = False
    if not complete:
        raise DataError.at(path, "line 1 is damaged", "restore it, or choose another folder")


def _lines(path: Path) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Each line, and where it begins and ends; one that is not complete does not count."""
    begin = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            try:
                entry = json.loads(line)
                if not isinstance(entry, dict) or (number > 1 and not entry.keys() >= _KEYS):
                    raise ValueError
            except ValueError:
                raise DataError.at(
                    path, f"line {number} is damaged", "remove it: its picture is made again"
                ) from None
            yield begin, begin + len(line), entry
            begin += len(line)


_KEYS = {"picture", "mask", "source", "content", "mask_source", "mask_content", "draw"}
"""What is read of an entry."""


def _line(content: Mapping[str, Any]) -> str:
    return json.dumps(content, separators=(",", ":")) + "\n"


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {**{k: v for k, v in settings.items() if k != "operator"}, **settings["operator"]}


def _seen_from(folder: Path, other: Path) -> str:
    """A path that stays right when both folders move together."""
    try:
        return Path(os.path.relpath(other.resolve(), folder.resolve())).as_posix()
    except ValueError:  # another drive
        return other.resolve().as_posix()
