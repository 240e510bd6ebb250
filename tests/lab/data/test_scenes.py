"""Scenes with masks, in batches."""

import pytest
import torch

from prorandconv.errors import ProRandConvError
from prorandconv.lab.data import get_benchmark
from prorandconv.lab.data.scenes import IGNORED
from prorandconv.lab.data.stores import Options


@pytest.fixture
def training():
    return get_benchmark("shapes-mini", options=Options(image_size=48)).load("plain", "train")


def epoch(scenes, seed=0, **changes):
    generator = torch.Generator().manual_seed(seed)
    return list(scenes.batches(8, generator=generator, augment=True, **changes))


def test_training_crops_have_the_asked_for_size_and_a_class_for_each_pixel(training):
    images, labels = epoch(training)[0]
    assert images.shape == (8, 3, 48, 48)
    assert images.dtype == torch.float32
    assert labels.shape == (8, 48, 48)
    assert set(labels.unique().tolist()) <= {0, 1, 2, 3, IGNORED}


def test_an_epoch_entered_in_its_middle_is_the_same(training):
    whole, rest = epoch(training), epoch(training, start=20)
    assert len(rest) == len(whole) - 20
    for one, other in zip(whole[20:], rest, strict=True):
        assert torch.equal(one[0], other[0])
        assert torch.equal(one[1], other[1])


def test_another_seed_gives_other_crops(training):
    assert not torch.equal(epoch(training)[0][0], epoch(training, seed=1)[0][0])


def test_without_a_generator_whole_scenes_come_in_order(training):
    images, labels = next(iter(training.batches(2)))
    assert images.shape == (2, 3, 64, 64)
    assert torch.equal(labels, training.store.pixels[:2, 3].long())


def test_jitter_is_refused(training):
    with pytest.raises(ProRandConvError, match="jitter"):
        training.batches(8, generator=torch.Generator(), jitter=0.5)


def test_a_limited_set_is_always_the_same_and_has_a_fingerprint_of_its_own(training):
    one, other = training.subset(5), training.subset(5)
    assert len(one) == 5
    assert one.fingerprint == other.fingerprint != training.fingerprint
    assert torch.equal(*(next(iter(each.batches(5)))[0] for each in (one, other)))
