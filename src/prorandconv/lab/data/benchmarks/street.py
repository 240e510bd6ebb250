"""Street scenes in small: CARLA's simulator, and CamVid's recordings by day and at dusk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..benchmark import Benchmark, Published
from ..folders import folder_of
from ..image_files import Options
from ..scene_folders import ROBUSTNET_RECIPE, scene_benchmark

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
