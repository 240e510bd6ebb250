"""Street scenes: GTAV and real streets in full, CARLA and CamVid in small."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ...errors import DataError
from ...files import reading
from ..benchmark import Benchmark, Domain, Published
from ..decoding import Decoded, list_images
from ..folders import folder_of, photo_format
from ..masks import (
    CITYSCAPES_CLASSES,
    CITYSCAPES_COLOURS,
    CITYSCAPES_LABEL_IDS,
    MAPILLARY,
    SYNTHIA,
    Colours,
    FirstChannel,
    LabelIds,
    MaskEncoding,
)
from ..scene_folders import ROBUSTNET_RECIPE, SceneDomain, scene_benchmark
from ..splits import Split
from ..stores import Options, SceneFile

UNFIT = frozenset((15188, 17705, *range(20801, 20861)))
"""Scenes of GTAV to leave out: two are blank, sixty have masks of other sizes."""

GTAV_PUBLISHED: Published = {
    "gtav": {"all": 24_966 - len(UNFIT)},
    "cityscapes": {"test": 500},
    "bdd100k": {"test": 1_000},
    "mapillary": {"test": 2_000},
}
"""SYNTHIA's depends on which of its 9,400 scenes are taken for validation."""

GTAV_SOURCES = """\
GTAV        https://download.visinf.tu-darmstadt.de/data/from_games: gtav/images/<number>.png and
            gtav/labels/<number>.png; for the published split, gtav/split.mat or the folders
            gtav/{images,labels}/{train,valid,test}
Cityscapes  https://www.cityscapes-dataset.com: cityscapes/leftImg8bit/val/<city>/*_leftImg8bit.png
            and cityscapes/gtFine/val/<city>/*_gtFine_labelIds.png
BDD-100K    https://www.vis.xyz/bdd100k: bdd100k/seg/images/val/*.jpg and
            bdd100k/seg/labels/val/*_train_id.png, or bdd100k/images/10k/val/*.jpg and
            bdd100k/labels/sem_seg/masks/val/*.png
SYNTHIA     https://synthia-dataset.net, SYNTHIA-RAND-CITYSCAPES: synthia/RGB/val/*.png and
            synthia/GT/LABELS/val/*.png, or without val: all scenes are measured then
Mapillary   https://www.mapillary.com/dataset/vistas: mapillary/validation/images/*.jpg and
            mapillary/validation/labels/*.png, or the labels of version 1.2 in v1.2/labels"""


@dataclass(frozen=True)
class Folders:
    """Where images and masks are in a domain's folder, and how their names end."""

    images: str
    masks: str
    image_end: str
    mask_end: str

    def __str__(self) -> str:
        return f"{self.images}/*{self.image_end} with {self.masks}/*{self.mask_end}"


@dataclass(frozen=True)
class Streets(SceneDomain):
    """A published set; of targets there are only the validation images, to be measured on.

    Attributes:
        accepted: layouts, the first that is there is read.
    """

    accepted: tuple[Folders, ...] = field(kw_only=True)

    def _layout(self) -> Folders | None:
        there = (
            one
            for one in self.accepted
            if (self.folder / one.images).is_dir() and (self.folder / one.masks).is_dir()
        )
        return next(there, None)

    def where(self) -> Path | None:
        """The folder of the images; None if it is missing."""
        layout = self._layout()
        return None if layout is None else self.folder / layout.images

    def layouts(self) -> tuple[str, ...]:
        """What is looked for."""
        return tuple(f"{self.folder}/{layout}" for layout in self.accepted)

    def parts(self) -> tuple[str, ...]:
        """What is there is for testing."""
        return ("test",) if self.where() else ()

    def pairs(self) -> dict[str, tuple[Path, Path]]:
        """Image and mask of each scene by its name, folders within included."""
        layout = self._layout()
        if layout is None:
            raise self.not_found()
        images = self.folder / layout.images
        found: dict[str, tuple[Path, Path]] = {}
        for image in list_images(images):
            if not image.name.endswith(layout.image_end):
                continue
            name = image.relative_to(images).as_posix().removesuffix(layout.image_end)
            mask = self.folder / layout.masks / f"{name}{layout.mask_end}"
            if not mask.is_file():
                raise DataError.at(image, f"has no mask {mask}", "add it, or remove the image")
            found[name] = (image, mask)
        if not found:
            raise DataError.at(images, f"has no images *{layout.image_end}", "fetch them again")
        return found

    def splits(self, files: Mapping[str, SceneFile]) -> tuple[dict[Split, Sequence[str]], str]:
        """None: all scenes are for testing."""
        return {}, "all are for testing"


@dataclass(frozen=True)
class Source(Streets):
    """GTAV, which has a published split."""

    parts = SceneDomain.parts

    def pairs(self) -> dict[str, tuple[Path, Path]]:
        """Image and mask of each scene that is fit, by its name."""
        everything = Streets.pairs(self)
        return {name: pair for name, pair in everything.items() if _number(name) not in UNFIT}

    def remarks(self, states: Sequence[Decoded]) -> tuple[list[str], list[str]]:
        """What is left out; see :meth:`SceneDomain.remarks`."""
        problems, notes = Streets.remarks(self, states)
        note = f"{len(UNFIT)} scenes are left out, blank or with masks of other sizes"
        return problems, [*notes, note]

    def splits(self, files: Mapping[str, SceneFile]) -> tuple[dict[Split, Sequence[str]], str]:
        """By folders or split.mat if there are some, else by blocks of neighbours."""
        listed = self.folder / "split.mat"
        if any(name.startswith("train/") for name in files):
            training = [name for name in files if name.startswith("train/")]
            validation = [name for name in files if name.startswith(("valid/", "val/"))]
            return {"train": training, "val": validation}, "folders"
        if listed.is_file():
            numbers = _split_of(listed)
            training, validation = (
                [name for name in files if _number(name) in numbers[split]]
                for split in ("train", "val")
            )
            return {"train": training, "val": validation}, listed.name
        return SceneDomain.splits(self, files)


def _number(name: str) -> int | None:
    """A scene's number, which is the name of its files."""
    last = name.rpartition("/")[2]
    return int(last) if last.isdigit() else None


def _split_of(path: Path) -> dict[str, set[int]]:
    from scipy.io import loadmat

    with reading(path, "is no list of the split", "it needs trainIds and valIds"):
        stored = loadmat(path)
        return {
            split: set(np.asarray(stored[f"{split}Ids"]).ravel().astype(int).tolist())
            for split in ("train", "val")
        }


def gtav(root: Path, options: Options) -> Benchmark:
    """From a game to real streets and another simulator, with the 19 classes of Cityscapes."""
    form = photo_format(ROBUSTNET_RECIPE, options)
    count = len(CITYSCAPES_CLASSES)

    def streets(name: str, encoding: MaskEncoding, *accepted: Folders) -> Domain:
        kind = Source if name == "gtav" else Streets
        folder = folder_of(root, name)
        return kind(name, folder, CITYSCAPES_CLASSES, form, options, encoding, accepted=accepted)

    png, jpg = ".png", ".jpg"
    cityscapes = Folders(
        "leftImg8bit/val", "gtFine/val", "_leftImg8bit.png", "_gtFine_labelIds.png"
    )
    members: Mapping[str, Domain] = {
        "gtav": streets("gtav", Colours(CITYSCAPES_COLOURS), Folders("images", "labels", png, png)),
        "cityscapes": streets("cityscapes", LabelIds(count, CITYSCAPES_LABEL_IDS), cityscapes),
        "bdd100k": streets(
            "bdd100k",
            LabelIds(count),
            Folders("seg/images/val", "seg/labels/val", jpg, "_train_id.png"),
            Folders("images/10k/val", "labels/sem_seg/masks/val", jpg, png),
        ),
        "synthia": streets(
            "synthia",
            FirstChannel(LabelIds(count, SYNTHIA)),
            Folders("RGB/val", "GT/LABELS/val", png, png),
            Folders("RGB", "GT/LABELS", png, png),
        ),
        "mapillary": streets(
            "mapillary",
            LabelIds(count, MAPILLARY),
            Folders("validation/images", "validation/labels", jpg, png),
            Folders("validation/images", "validation/v1.2/labels", jpg, png),
        ),
    }
    return Benchmark(
        name="gtav",
        classes=CITYSCAPES_CLASSES,
        format=form,
        network="deeplabv3plus-resnet50",
        recipe=ROBUSTNET_RECIPE,
        members=members,
        published=GTAV_PUBLISHED,
        sources=GTAV_SOURCES,
        task="segmentation",
    )


STREET_CLASSES = (
    *("sky", "building", "pole", "road", "sidewalk"),
    *("vegetation", "sign", "fence", "vehicle", "person"),
)

STREET_PUBLISHED: Published = {
    "carla": {"all": 340},
    "camvid_day": {"all": 193},
    "camvid_dusk": {"all": 124},
}

STREET_RECIPE = replace(ROBUSTNET_RECIPE, image_size=320, epochs=60, epochs_multi_source=60)

STREET_SOURCES = """\
street   street/{carla,camvid_day,camvid_dusk}/{images,masks}: scenes of 480 × 360 pixels, masks
         with the numbers 0 sky, 1 building, 2 pole, 3 road, 4 sidewalk, 5 vegetation, 6 sign,
         7 fence, 8 vehicle, 9 person and 255 for none, made from the CARLA simulator and CamVid"""


def street(root: Path, options: Options) -> Benchmark:
    """From synthetic scenes to real ones, with DeepLabV3+ and ResNet-18."""
    return scene_benchmark(
        "street",
        folder_of(root, "street"),
        domains=tuple(STREET_PUBLISHED),
        classes=STREET_CLASSES,
        recipe=STREET_RECIPE,
        network="deeplabv3plus-resnet18",
        options=options,
        published=STREET_PUBLISHED,
        sources=STREET_SOURCES,
    )
