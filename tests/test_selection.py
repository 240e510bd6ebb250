import numpy as np
import pytest
import torch

from prorandconv import ProRandConvError, select

X0 = torch.zeros(8, 3, 4, 4)
XL = torch.ones(8, 3, 4, 4)


def originals(strategy, generator=None):
    images, index = select(X0, XL, strategy, generator)
    assert torch.equal(index, torch.arange(8))
    kind = images.flatten(1)
    assert torch.equal(kind.amin(1), kind.amax(1)), "an image is of one kind throughout"
    return int((kind[:, 0] == 0).sum())


def test_original_and_augmented_take_one_kind():
    assert originals("original") == 8
    assert originals("augmented") == 0


def test_either_takes_the_whole_batch_of_one_kind_by_even_chance():
    counts = [originals("either") for _ in range(400)]
    assert set(counts) == {0, 8}
    assert sum(counts) / 8 / 400 == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75, 0.0, 1.0, np.float32(0.5)])
def test_a_number_is_the_share_of_originals(share):
    assert [originals(share) for _ in range(20)] == [share * 8] * 20


def test_uniform_draws_the_share_anew_each_time():
    counts = torch.tensor([originals("uniform") for _ in range(2000)]).float()
    assert set(counts.tolist()) == set(map(float, range(9)))
    assert counts.mean().item() == pytest.approx(4, abs=0.25)


def test_both_stacks_originals_and_augmented_with_their_labels():
    images, index = select(X0, XL, "both")
    assert torch.equal(images, torch.cat((X0, XL)))
    assert torch.equal(index, torch.arange(8).repeat(2))


def test_images_keep_their_place():
    x0 = torch.arange(8.0).view(8, 1, 1, 1)
    images, _ = select(x0, x0 + 100, 0.5)
    assert torch.equal(images % 100, x0)


def test_generator_decides_alone():
    seeded = [originals("uniform", torch.Generator().manual_seed(s)) for s in range(20)]
    torch.manual_seed(5)
    assert seeded == [originals("uniform", torch.Generator().manual_seed(s)) for s in range(20)]


@pytest.mark.parametrize("strategy", ["all", 1.5, -0.1, True, None, float("nan")])
def test_unknown_strategy_is_named(strategy):
    with pytest.raises(ProRandConvError, match=r"^strategy: got .*, expected one of .*'both'"):
        select(X0, XL, strategy)


def test_shapes_must_agree():
    with pytest.raises(ProRandConvError, match=r"^xL: got \(7, 3, 4, 4\), expected x0's shape"):
        select(X0, XL[:7], "both")
