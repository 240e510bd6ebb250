"""How much Python one call of the augmentation runs: calls, functions and files of the package.

Run: python benchmarks/calls.py
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from types import FrameType

import torch

import prorandconv as prc

PACKAGE = str(Path(prc.__file__).parent)


def calls_of(augment: prc.ProRandConv, x: torch.Tensor) -> Counter[tuple[str, str]]:
    """How often each function of the package, by file and name, is called by ``augment(x)``."""
    found: Counter[tuple[str, str]] = Counter()

    def note(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE):
            found[Path(code.co_filename).relative_to(PACKAGE).as_posix(), code.co_qualname] += 1

    augment(x)  # fills the caches
    sys.setprofile(note)
    try:
        augment(x)
    finally:
        sys.setprofile(None)
    return found


def main() -> None:
    """Print the calls, the most frequent first, and their sums."""
    x = torch.rand(64, 3, 32, 32) * 2 - 1
    found = calls_of(prc.ProRandConv(), x)
    for (file, name), count in found.most_common():
        print(f"{count:4} {file} {name}")
    files = {file for file, _ in found}
    print(f"{found.total()} calls of {len(found)} functions in {len(files)} files")


if __name__ == "__main__":
    main()
