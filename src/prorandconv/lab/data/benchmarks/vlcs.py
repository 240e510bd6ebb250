"""VLCS: five classes in photos from four collections."""

from __future__ import annotations

from pathlib import Path

from ..benchmark import Benchmark, Published
from ..folders import folder_benchmark, folder_of
from ..image_files import Options

VLCS_CLASSES = ("bird", "car", "chair", "dog", "person")

VLCS_SPELLINGS: dict[str, tuple[str, ...]] = {
    "voc2007": ("VOC2007", "PASCAL", "VOC", "Pascal VOC 2007"),
    "labelme": ("LabelMe",),
    "caltech101": ("Caltech101", "Caltech"),
    "sun09": ("SUN09", "SUN"),
}

VLCS_PUBLISHED: Published = {
    "voc2007": {"all": 3376},
    "labelme": {"all": 2656},
    "caltech101": {"all": 1415},
    "sun09": {"all": 3282},
}

VLCS_SOURCES = """\
VLCS   https://github.com/belaalb/G2DM#download-vlcs, unpacked as
       vlcs/{VOC2007,LabelMe,Caltech101,SUN09}/<class>/*.jpg; classes may be numbered 0 to 4"""


def vlcs(root: Path, options: Options) -> Benchmark:
    """VLCS, 10,729 images."""
    return folder_benchmark(
        "vlcs",
        folder_of(root, "vlcs"),
        domains=VLCS_SPELLINGS,
        classes=VLCS_CLASSES,
        options=options,
        class_spellings={str(number): name for number, name in enumerate(VLCS_CLASSES)},
        published=VLCS_PUBLISHED,
        sources=VLCS_SOURCES,
    )
