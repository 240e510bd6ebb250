"""Which images are for training, validation and testing: deterministic, with a hash of them."""

from __future__ import annotations

import hashlib
import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from ..errors import DataError

Split = Literal["train", "val", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)


def stratified_split(
    names: Sequence[str], labels: Sequence[int], *, share: float = 0.1, seed: int = 0
) -> tuple[list[int], list[int]]:
    """Split images into training and validation, each class in the same proportion.

    Within a class, images are ordered by a hash of seed and name and the first ones are for
    validation: the outcome depends on neither the order of listing nor the version of any
    random number generator.

    Args:
        names: a name for each image that is the same on every machine.
        labels: the class of each image.
        share: validation's share of each class, at least one image if the class has two.
        seed: another seed gives another split.

    Returns:
        Positions of the training and of the validation images, in the given order.
    """
    members: dict[int, list[int]] = defaultdict(list)
    for position, label in enumerate(labels):
        members[label].append(position)
    chosen: set[int] = set()
    for positions in members.values():
        ranked = sorted(positions, key=lambda i: fingerprint([str(seed), names[i]]))
        count = max(round(len(positions) * share), 1) if len(positions) > 1 else 0
        chosen.update(ranked[:count])
    everyone = range(len(names))
    return [i for i in everyone if i not in chosen], [i for i in everyone if i in chosen]


def block_split(
    names: Sequence[str], *, blocks: int = 20, share: float = 0.1, seed: int = 0
) -> tuple[list[int], list[int]]:
    """Split frames into training and validation by blocks of neighbours.

    Neighbouring frames of a recording are alike: taken one by one, validation images would be
    known from training. The order of names cuts the frames into blocks; a hash of seed and first
    name orders the blocks, and the first ones are for validation.

    Args:
        names: a name for each frame that is the same on every machine.
        blocks: how many blocks there are, or one for each frame if there are fewer frames.
        share: validation's share of the blocks, at least one if there are two.
        seed: another seed gives another split.

    Returns:
        Positions of the training and of the validation frames, in the order of their names.
    """
    order = sorted(range(len(names)), key=lambda i: names[i])
    count = min(blocks, len(order))
    cuts = [len(order) * block // max(count, 1) for block in range(count + 1)]
    cut = [order[begin:end] for begin, end in itertools.pairwise(cuts)]
    ranked = sorted(cut, key=lambda block: fingerprint([str(seed), names[block[0]]]))
    chosen: set[int] = set().union(*ranked[: max(round(count * share), 1) if count > 1 else 0])
    return [i for i in order if i not in chosen], [i for i in order if i in chosen]


def fingerprint(parts: Iterable[str | bytes | memoryview]) -> str:
    """A short hash of a sequence of texts or buffers, to be stored with results."""
    digest = hashlib.sha256()
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part
        digest.update(memoryview(raw).nbytes.to_bytes(8, "little"))
        digest.update(raw)
    return digest.hexdigest()[:16]


_KNOWN_TO_BE_WRONG = frozenset({"n02103406_4068-1.png"})
"""Listed by the authors of PACS, but not among their images."""


@dataclass(frozen=True)
class PublishedList:
    """A list of lines ``domain/class/file label``, labels from 1."""

    path: Path

    def entries(self) -> Iterator[tuple[str, str, int]]:
        """Class folder, file name and label (from 0) of each image."""
        for number, line in enumerate(self.path.read_text().splitlines(), 1):
            if not line.strip():
                continue
            name, _, label = line.strip().rpartition(" ")
            folders = name.split("/")
            if len(folders) < 2 or not label.isdigit() or int(label) < 1:
                raise DataError.at(
                    self.path, f"line {number} is {line!r}", "expected domain/class/file label"
                )
            if folders[-1] not in _KNOWN_TO_BE_WRONG:
                yield folders[-2], folders[-1], int(label) - 1


def find_lists(folder: Path, names: Sequence[str]) -> tuple[PublishedList, PublishedList] | None:
    """The training and validation lists of a domain, in the benchmark's folder or one below."""
    for place in (folder, *sorted(path for path in folder.glob("[!._]*") if path.is_dir())):
        for name in names:
            train = place / f"{name}_train_kfold.txt"
            val = place / f"{name}_crossval_kfold.txt"
            if train.exists():
                if not val.exists():
                    raise DataError.at(val, "missing, though the training list is there", "add it")
                return PublishedList(train), PublishedList(val)
    return None
