"""Batches of other libraries: images are augmented, and all that belongs to them goes along."""

from collections import UserDict, namedtuple

import pytest
import torch

import prorandconv as prc
from prorandconv.integrations.batches import BatchAugmentation

Sample = namedtuple("Sample", "images labels")
LABELS = torch.tensor([4, 2, 7])
TWICE = [4, 2, 7, 4, 2, 7]


@pytest.fixture
def images():
    return torch.rand(3, 3, 8, 8)


def test_both_has_originals_and_then_augmented_images(images):
    result, labels = BatchAugmentation()((images, LABELS))
    assert torch.equal(result[:3], images)
    assert not torch.isclose(result[3:], images).all()
    assert labels.tolist() == TWICE


@pytest.mark.parametrize("strategy", ["original", "augmented", "either", "uniform", 0.5])
def test_other_strategies_keep_the_size_of_the_batch(images, strategy):
    result, labels = BatchAugmentation(strategy=strategy)((images, LABELS))
    assert result.shape == images.shape
    assert labels is LABELS
    if strategy in ("original", "augmented"):
        assert torch.equal(result, images) == (strategy == "original")


def test_batch_stays_what_it_was(images):
    augmented = BatchAugmentation()
    assert type(augmented((images, LABELS))) is tuple
    assert type(augmented([images, LABELS])) is list
    assert augmented(Sample(images, LABELS)).labels.tolist() == TWICE
    assert augmented(images).shape[0] == 6


def test_images_of_a_dictionary_have_a_key(images):
    batch = UserDict(pixel_values=images, labels=LABELS)
    result = BatchAugmentation(images="pixel_values")(batch)
    assert type(result) is UserDict
    assert (len(result["pixel_values"]), result["labels"].tolist()) == (6, TWICE)
    assert len(batch["labels"]) == 3


def test_everything_that_counts_images_goes_along(images):
    boxes, soft = [{"n": 0}, {"n": 1}, {"n": 2}], torch.eye(3)
    batch = (images, boxes, {"soft": soft, "pair": (LABELS, LABELS)}, "a name", 5, torch.tensor(1))
    _, boxes, more, *rest = BatchAugmentation()(batch)
    assert [box["n"] for box in boxes] == [0, 1, 2, 0, 1, 2]
    assert torch.equal(more["soft"], torch.eye(3).repeat(2, 1))
    assert [part.tolist() for part in more["pair"]] == [TWICE, TWICE]
    assert rest == ["a name", 5, torch.tensor(1)]


def test_what_does_not_count_images_raises_an_error_where_they_become_more(images):
    batch = {"image": images, "target": torch.zeros(2)}
    with pytest.raises(prc.ProRandConvError, match=r"Tensor at 'target'.* the 3 images"):
        BatchAugmentation(images="image")(batch)
    result = BatchAugmentation(images="image", strategy="augmented")(batch)
    assert result["target"] is batch["target"]


@pytest.mark.parametrize("place", ["image", 5])
def test_place_without_images_is_named(images, place):
    with pytest.raises(prc.ProRandConvError, match=rf"images: got {place!r}, .* \['x', 'y'\]"):
        BatchAugmentation(images=place)({"x": images, "y": LABELS})


def test_wrong_strategy_raises_an_error():
    with pytest.raises(prc.ProRandConvError, match="strategy: got 'all'"):
        BatchAugmentation(strategy="all")


def test_labels_that_shall_warp_raise_an_error_at_once():
    with pytest.raises(prc.ProRandConvError, match=r'augment: got .*labels="warp"'):
        BatchAugmentation(prc.ProRandConv(labels="warp"))
