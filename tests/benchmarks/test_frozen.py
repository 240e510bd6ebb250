"""All ways of the comparison have as many images in a step, with the labels of their pictures."""

import json

import frozen
import pytest
import torch

PIXELS = (torch.arange(200, dtype=torch.uint8)).view(-1, 1, 1, 1).expand(-1, 3, 8, 8).contiguous()
LABELS = torch.arange(200) % 10
COPIES = PIXELS.expand(16, -1, -1, -1, -1)
"""Stand-ins that tell which picture they are of."""


@pytest.mark.parametrize("name", frozen.ways(PIXELS, LABELS, COPIES))
def test_a_step_has_128_images_with_their_labels(name):
    way = frozen.ways(PIXELS, LABELS, COPIES)[name]
    images, labels = next(way(torch.Generator().manual_seed(0)))
    assert images.shape == (128, 3, 8, 8)
    known = 64 if "new draw" in name else 128
    pictures = images[:known, 0, 0, 0].add(1).mul(127.5).round().long()
    assert torch.equal(LABELS[pictures], labels[:known])
    assert torch.equal(labels[:64], labels[64:]) == (name.startswith(("Pro", "originals")))


def test_frozen_copies_have_a_draw_each():
    pixels = torch.randint(256, (1, 3, 8, 8), dtype=torch.uint8).expand(5, -1, -1, -1)
    copies = frozen.frozen(pixels, 2, seed=0)
    assert copies.shape == (2, 5, 3, 8, 8)
    assert copies.dtype == torch.uint8
    assert len({tuple(one.flatten().tolist()) for one in copies.flatten(0, 1)}) == 10


def test_the_table_has_means_and_deviations_over_seeds():
    found = {"accuracy": {"ERM": {"average": [40.0, 42.0], "mnist": [98.0, 99.0]}}}
    assert frozen.table(found).splitlines()[-1] == "| ERM | 41.0 ± 1.4 | 98.5 ± 0.7 |"


def test_the_page_has_the_table_of_the_stored_figures():
    stored = json.loads(frozen.OUTPUT.read_text())
    assert f"{frozen.BEGIN}\n\n{frozen.table(stored)}\n\n{frozen.END}" in frozen.PAGE.read_text()
