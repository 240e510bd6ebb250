"""Are all image files intact, and what is in them? Read once, and remembered."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from ..errors import DataError
from ..files import cache_folder, write_text
from ..progress import progress
from .decoding import Decoded
from .splits import fingerprint
from .stores import NOTHING, File, Options, read_files

AnyFile = TypeVar("AnyFile", bound=File)


def inspect(
    files: Sequence[AnyFile], size: int | None, options: Options, *, title: str
) -> dict[AnyFile, Decoded]:
    """Read and decode everything once; what has room in the cache is kept decoded.

    Args:
        files: images, or images with masks.
        size: side in pixels that they are resized to; None keeps the size of each.
        options: the cache, and the number of processes that decode.
        title: whose files they are, for the progress bar.
    """
    states = {}
    with progress(f"decoding {title}", len(files), unit="images") as advance:
        decoded = read_files(files, size, workers=options.processes, hashed=True)
        for file, state in zip(files, decoded, strict=True):
            if not state.problem:
                options.cache.offer(replace(file, content=state.content), size, state.pixels)
            states[file] = replace(state, pixels=NOTHING)
            advance(1)
    return states


def verified(
    folder: Path,
    files: Sequence[AnyFile],
    size: int | None,
    options: Options,
    *,
    title: str,
    checked: str = "",
) -> list[AnyFile]:
    """The same files with hashes of their content, all of which can be decoded.

    Files are read and decoded once; what was found is kept in the cache folder until a file's
    size or one of its times changes.

    Args:
        folder: what the files are in.
        files: images, or images with masks.
        size: side in pixels that they are resized to; None keeps the size of each.
        options: the cache, and the number of processes that decode.
        title: whose files they are, for messages.
        checked: what else was looked for, so that a change of it means another look.

    Raises:
        DataError: names the files that cannot be decoded.
    """
    kept = cache_folder() / "intact" / f"{fingerprint([str(folder.absolute())])}.json"
    known = _kept(kept)
    more = [checked] if checked else []
    stamps = {file: " ".join([*map(_stamp, file.paths), *more]) for file in files}
    found: dict[AnyFile, tuple[str, Mapping[int, int]]] = {
        file: known[stamp] for file, stamp in stamps.items() if stamp in known
    }
    if unknown := [file for file in files if file not in found]:
        states = inspect(unknown, size, options, title=title)
        found |= {
            file: (state.content, state.labels)
            for file, state in states.items()
            if not state.problem
        }
        with suppress(OSError):  # kept to save time, no more
            write_text(kept, json.dumps({stamps[file]: _line(*found[file]) for file in found}))
        _report(states, title)
    return [replace(file, content=found[file][0], labels=found[file][1]) for file in files]


def _report(states: dict[AnyFile, Decoded], title: str) -> None:
    """Warn of converted images; raise an error that names broken ones."""
    if converted := [(file, state) for file, state in states.items() if state.conversion]:
        first, how = converted[0]
        warnings.warn(
            f"{title}: {len(converted)} image(s) are not 8-bit grey or RGB, the first is "
            f"{first.paths[0]}: {how.conversion}; `prorandconv data check` names them all, save "
            "them as 8-bit RGB to decide for yourself",
            stacklevel=3,
        )
    if broken := [state.problem for state in states.values() if state.problem]:
        shown = "\n  ".join(broken[:10])
        rest = f"\n  and {len(broken) - 10} more" if len(broken) > 10 else ""
        raise DataError(f"{title}: {len(broken)} broken image(s):\n  {shown}{rest}")


def _stamp(path: Path) -> str:
    """A text that changes when the file is replaced, even by one of equal size and age."""
    try:
        state = path.stat()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise DataError.at(path, f"cannot be read ({reason})", "replace or remove it") from error
    return f"{path.absolute()} {state.st_size} {state.st_mtime_ns} {state.st_ctime_ns}"


def _line(content: str, labels: Mapping[int, int]) -> str:
    """``content class:pixels class:pixels``, the latter for scenes."""
    return " ".join([content, *(f"{label}:{count}" for label, count in labels.items())])


def _kept(path: Path) -> dict[str, tuple[str, dict[int, int]]]:
    """Content and labels of files by their stamps; damaged or missing: read the files again."""
    try:
        known = {}
        for stamp, line in json.loads(path.read_text()).items():
            content, *counts = line.split()
            pairs = (count.split(":") for count in counts)
            known[stamp] = content, {int(label): int(count) for label, count in pairs}
    except (OSError, ValueError, AttributeError):
        return {}
    return known
