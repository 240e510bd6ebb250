"""PACS: seven classes as art, cartoons, photos and sketches."""

from __future__ import annotations

from pathlib import Path

from ..benchmark import Benchmark, Published
from ..folders import folder_benchmark, folder_of
from ..image_files import Options

PACS_CLASSES = ("dog", "elephant", "giraffe", "guitar", "horse", "house", "person")

PACS_SPELLINGS: dict[str, tuple[str, ...]] = {
    "art": ("art_painting",),
    "cartoon": (),
    "photo": (),
    "sketch": (),
}

PACS_PUBLISHED: Published = {
    "art": {"all": (379, 255, 285, 184, 201, 295, 449)},
    "cartoon": {"all": (389, 457, 346, 135, 324, 288, 405)},
    "photo": {"all": (189, 202, 182, 186, 199, 280, 432)},
    "sketch": {"all": (772, 740, 753, 608, 816, 80, 160)},
}

PACS_SOURCES = """\
PACS   https://domaingeneralization.github.io: the images, unpacked as
       pacs/{art_painting,cartoon,photo,sketch}/<class>/*.jpg, and, for the published split, the
       lists <domain>_train_kfold.txt and <domain>_crossval_kfold.txt in pacs/ or a folder of it"""


def pacs(root: Path, options: Options) -> Benchmark:
    """PACS, 9,991 images."""
    return folder_benchmark(
        "pacs",
        folder_of(root, "pacs", "pacs_data"),
        domains=PACS_SPELLINGS,
        classes=PACS_CLASSES,
        options=options,
        published_lists=True,
        published=PACS_PUBLISHED,
        sources=PACS_SOURCES,
    )
