"""Photos, paintings and sketches in folders of classes: PACS, OfficeHome and VLCS."""

from __future__ import annotations

from pathlib import Path

from ..benchmark import Benchmark, Published
from ..folders import folder_benchmark, folder_of
from ..stores import Options

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


_CLASSES = """
    alarm_clock backpack batteries bed bike bottle bucket calculator calendar candles chair
    clipboards computer couch curtains desk_lamp drill eraser exit_sign fan file_cabinet flipflops
    flowers folder fork glasses hammer helmet kettle keyboard knives lamp_shade laptop marker
    monitor mop mouse mug notebook oven pan paper_clip pen pencil postit_notes printer push_pin
    radio refrigerator ruler scissors screwdriver shelf sink sneakers soda speaker spoon tv table
    telephone toothbrush toys trash_can webcam
"""
OFFICEHOME_CLASSES = tuple(_CLASSES.split())

OFFICEHOME_SPELLINGS: dict[str, tuple[str, ...]] = {
    "art": ("Art",),
    "clipart": ("Clipart",),
    "product": ("Product",),
    "real_world": ("Real World", "RealWorld", "Real"),
}

OFFICEHOME_PUBLISHED: Published = {
    "art": {"all": 2427},
    "clipart": {"all": 4365},
    "product": {"all": 4439},
    "real_world": {"all": 4357},
}

OFFICEHOME_SOURCES = """\
OfficeHome   https://www.hemanthdv.org/officeHomeDataset.html, unpacked as
             officehome/{Art,Clipart,Product,Real World}/<class>/*.jpg"""


def officehome(root: Path, options: Options) -> Benchmark:
    """OfficeHome, about 15,500 images."""
    return folder_benchmark(
        "officehome",
        folder_of(root, "officehome", "OfficeHomeDataset_10072016"),
        domains=OFFICEHOME_SPELLINGS,
        classes=OFFICEHOME_CLASSES,
        options=options,
        published=OFFICEHOME_PUBLISHED,
        sources=OFFICEHOME_SOURCES,
    )


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
