"""The sheet of failures shows pictures that the model did not know, and no others."""

import torch

from prorandconv import stress
from prorandconv.lab.data import ImageFormat
from prorandconv.lab.data.images import Images
from prorandconv.lab.stress.figures import ROWS, _chosen, failures
from prorandconv.stress.cases import ORIGINAL

FORMAT = ImageFormat(8, (0.5, 0.5, 0.5), (0.5, 0.5, 0.5), base_augmentation=False)
CLASSES = ("dark", "bright")


def greys(*values):
    pixels = torch.tensor(values, dtype=torch.uint8).view(-1, 1, 1, 1).expand(-1, 3, 8, 8)
    labels = (torch.tensor(values) > 127).long()
    return Images.in_memory(pixels, labels, classes=CLASSES, split="test", format=FORMAT)


def is_bright(x):
    return torch.stack((-x.mean((1, 2, 3)), x.mean((1, 2, 3))), 1)


def measured(images, network=is_bright):
    return stress(network, images.batches(4), mean=FORMAT.mean, std=FORMAT.std, draws=1)


def test_images_are_chosen_whose_originals_were_known():
    images = greys(20, 230, 40, 200)
    found = measured(images)
    assert _chosen(found, ORIGINAL).tolist() == []
    assert _chosen(found, ROWS["invert, medium"]).tolist() == [0, 1, 2, 3]
    assert _chosen(found, ROWS["blur, medium"]).tolist() == []
    always_dark = measured(images, lambda x: torch.eye(2)[:1].expand(len(x), 2))
    assert _chosen(always_dark, ORIGINAL).tolist() == [1, 3]
    assert _chosen(always_dark, ROWS["invert, medium"]).tolist() == []


def test_a_row_shows_the_changed_pictures():
    found = measured(greys(20, 20, 20))
    sheet = failures(found, greys(20, 20, 20), "title", "command")
    shown = {colour for _, colour in sheet.getcolors(sheet.width * sheet.height)}
    assert (235, 235, 20) in shown  # two of three channels are inverted


def test_without_failures_there_is_no_sheet():
    images = greys(20, 20)
    assert (
        failures(measured(images, lambda x: torch.eye(2)[:1].expand(len(x), 2)), images, "", "")
        is None
    )
