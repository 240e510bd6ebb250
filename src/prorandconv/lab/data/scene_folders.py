"""Domains of scenes in folders, and benchmarks of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import DataError
from .benchmark import Benchmark, Counts, Domain, Published, Recipe
from .decoding import SUFFIXES, Decoded
from .folders import FileDomain, images_in, photo_format
from .masks import LabelIds, MaskEncoding
from .scenes import Scenes, absent_classes, shares, total
from .splits import Split, block_split
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
class SceneDomain(FileDomain[SceneFile]):
    """A domain whose scenes are pairs of files, an image and a mask, in a folder of its name.

    Attributes:
        encoding: how masks are written.
    """

    encoding: MaskEncoding
    size = None
    needs = "a source needs two scenes or more; published targets are only measured on"

    @property
    def home(self) -> Path:
        """The folder that the files are in."""
        return self.folder

    @property
    def checked(self) -> str:
        """How masks are read."""
        return repr(self.encoding) + " upright" * self.upright

    def where(self) -> Path | None:
        """The domain's folder; None if it is missing."""
        return self.folder if self.folder.is_dir() else None

    @abstractmethod
    def pairs(self) -> dict[str, tuple[Path, Path]]:
        """Image and mask of each scene by its name, in order.

        Raises:
            DataError: a partner is missing.
        """

    def splits(self, files: Mapping[str, SceneFile]) -> tuple[dict[Split, Sequence[str]], str]:
        """By blocks of neighbours; see :meth:`FileDomain.splits`."""
        names = list(files)
        one, other = block_split(names)
        chosen: dict[Split, Sequence[str]] = {
            "train": [names[i] for i in one],
            "val": [names[i] for i in other],
        }
        return chosen, "blocks of neighbours by hash, seed 0"

    def files(self) -> dict[str, SceneFile]:
        """All scenes by name, in order."""
        if self.where() is None:
            raise self.not_found()
        return {
            name: SceneFile(f"{self.name}/{name}", image, mask, self.encoding, self.upright)
            for name, (image, mask) in self.pairs().items()
        }

    def samples(self, files: Sequence[SceneFile], split: Split) -> Scenes:
        """Scenes with their masks."""
        return Scenes.in_files(
            files, self.options, classes=self.classes, split=split, format=self.format
        )

    def counts(self) -> Counts:
        """Count the scenes; which classes are in them is not looked at."""
        return {part: (len(self.files()),) for part in self.parts()}

    def remarks(self, states: Sequence[Decoded]) -> tuple[list[str], list[str]]:
        """The pixels of each class, and of a user's own scenes a class that never occurs."""
        labels = total(state.labels for state in states)
        absent = absent_classes(labels, self.classes) if self.upright else ""
        problems = [f"{self.folder}: {absent}"] if absent else []
        return problems, [f"pixels: {shares(labels, self.classes)}"]


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
    """A benchmark of folders ``<domain>/{images,masks}``, whose masks hold numbers of classes."""
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
