"""What happened to a run that people should know, even if nobody looked on: its notes.txt."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

NOTES = "notes.txt"


def note(run: Path, messages: Iterable[str]) -> None:
    """Add messages to a run's notes; a full disk is no reason to end it.

    Args:
        run: the run's directory.
        messages: a line each.
    """
    now = time.strftime("%Y-%m-%d %H:%M:%S")
    lines = [f"{now} {message}\n" for message in messages]
    if lines:
        with suppress(OSError), open(run / NOTES, "a", encoding="utf-8") as file:
            file.writelines(lines)


def notes(run: Path) -> list[str]:
    """The lines of a run's notes, oldest first; none if all went well."""
    try:
        return (run / NOTES).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
