"""The 19 classes of Cityscapes that street scenes are compared by, and other sets' labels for them.

Labels that are none of the 19 are left out. The choices for SYNTHIA and Mapillary are RobustNet's.
"""

from __future__ import annotations

from .masks import UNLABELLED

CITYSCAPES_CLASSES = (
    *("road", "sidewalk", "building", "wall", "fence", "pole", "traffic light", "traffic sign"),
    *("vegetation", "terrain", "sky", "person", "rider", "car", "truck", "bus", "train"),
    *("motorcycle", "bicycle"),
)
"""In the order of the train ids."""

CITYSCAPES_COLOURS = (
    *((128, 64, 128), (244, 35, 232), (70, 70, 70), (102, 102, 156), (190, 153, 153)),
    *((153, 153, 153), (250, 170, 30), (220, 220, 0), (107, 142, 35), (152, 251, 152)),
    *((70, 130, 180), (220, 20, 60), (255, 0, 0), (0, 0, 142), (0, 0, 70)),
    *((0, 60, 100), (0, 80, 100), (0, 0, 230), (119, 11, 32)),
)
"""In the order of the train ids."""

_LABEL_IDS = (7, 8, 11, 12, 13, 17, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 31, 32, 33)

CITYSCAPES_LABEL_IDS = dict.fromkeys(range(35), UNLABELLED) | {
    number: train_id for train_id, number in enumerate(_LABEL_IDS)
}
"""Cityscapes' label ids."""

SYNTHIA = dict.fromkeys(range(23), UNLABELLED) | {
    1: 10,
    2: 2,
    3: 0,
    4: 1,
    5: 4,
    6: 8,
    7: 5,
    8: 13,
    9: 7,
    10: 11,
    11: 18,
    12: 17,
    15: 6,
    16: 9,
    17: 12,
    18: 14,
    19: 15,
    20: 16,
    21: 3,
}
"""The numbers of SYNTHIA-RAND-CITYSCAPES."""

MAPILLARY = dict.fromkeys(range(66), UNLABELLED) | {
    13: 0,
    24: 0,
    41: 0,
    2: 1,
    15: 1,
    17: 2,
    6: 3,
    3: 4,
    45: 5,
    47: 5,
    48: 6,
    50: 7,
    30: 8,
    29: 9,
    27: 10,
    19: 11,
    20: 12,
    21: 12,
    22: 12,
    55: 13,
    61: 14,
    54: 15,
    58: 16,
    57: 17,
    52: 18,
}
"""The numbers of Mapillary Vistas 1.2; lane markings and manholes are road, curbs sidewalk."""
