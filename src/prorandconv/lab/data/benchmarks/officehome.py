"""OfficeHome: 65 everyday objects as art, clip art, product pictures and photos."""

from __future__ import annotations

from pathlib import Path

from ..benchmark import IMAGENET_MEAN, IMAGENET_STD, PHOTO_RECIPE, Benchmark
from ..folders import FolderDomain, folder_of
from ..image_files import Options
from ..images import ImageFormat

CLASSES = (
    "alarm_clock",
    "backpack",
    "batteries",
    "bed",
    "bike",
    "bottle",
    "bucket",
    "calculator",
    "calendar",
    "candles",
    "chair",
    "clipboards",
    "computer",
    "couch",
    "curtains",
    "desk_lamp",
    "drill",
    "eraser",
    "exit_sign",
    "fan",
    "file_cabinet",
    "flipflops",
    "flowers",
    "folder",
    "fork",
    "glasses",
    "hammer",
    "helmet",
    "kettle",
    "keyboard",
    "knives",
    "lamp_shade",
    "laptop",
    "marker",
    "monitor",
    "mop",
    "mouse",
    "mug",
    "notebook",
    "oven",
    "pan",
    "paper_clip",
    "pen",
    "pencil",
    "postit_notes",
    "printer",
    "push_pin",
    "radio",
    "refrigerator",
    "ruler",
    "scissors",
    "screwdriver",
    "shelf",
    "sink",
    "sneakers",
    "soda",
    "speaker",
    "spoon",
    "tv",
    "table",
    "telephone",
    "toothbrush",
    "toys",
    "trash_can",
    "webcam",
)

SPELLINGS: dict[str, tuple[str, ...]] = {
    "art": ("Art",),
    "clipart": ("Clipart",),
    "product": ("Product",),
    "real_world": ("Real World", "RealWorld", "Real"),
}

PUBLISHED: dict[str, dict[str, int | tuple[int, ...]]] = {
    "art": {"all": 2427},
    "clipart": {"all": 4365},
    "product": {"all": 4439},
    "real_world": {"all": 4357},
}

SOURCES = """\
OfficeHome   https://www.hemanthdv.org/officeHomeDataset.html, unpacked as
             officehome/{Art,Clipart,Product,Real World}/<class>/*.jpg"""


def benchmark(root: Path, options: Options) -> Benchmark:
    """OfficeHome, about 15,500 images."""
    form = ImageFormat(224, IMAGENET_MEAN, IMAGENET_STD, base_augmentation=True)
    folder = folder_of(root, "officehome", "OfficeHomeDataset_10072016")
    return Benchmark(
        name="officehome",
        classes=CLASSES,
        format=form,
        network="resnet18",
        recipe=PHOTO_RECIPE,
        members={
            name: FolderDomain(name, folder, spellings, CLASSES, form, options)
            for name, spellings in SPELLINGS.items()
        },
        aliases={other: name for name, others in SPELLINGS.items() for other in others},
        published=PUBLISHED,
        sources=SOURCES,
    )
