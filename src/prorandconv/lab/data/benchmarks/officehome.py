"""OfficeHome: 65 everyday objects as art, clip art, product pictures and photos."""

from __future__ import annotations

from pathlib import Path

from ..benchmark import Benchmark, Published
from ..folders import folder_benchmark, folder_of
from ..image_files import Options

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
