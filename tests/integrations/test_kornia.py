"""Kornia's containers: masks, probabilities and replays, with the real library."""

import pytest
import torch

from prorandconv import ProRandConv, ProRandConvError, functional

kornia = pytest.importorskip("kornia", reason="needs Kornia: pip install 'prorandconv[kornia]'")

from kornia.augmentation import AugmentationSequential, VideoSequential  # noqa: E402
from kornia.constants import DataKey  # noqa: E402

from prorandconv.integrations.kornia import RandomProRandConv  # noqa: E402

NUMBERS = torch.rand(6, 1, 40, 56, generator=torch.Generator().manual_seed(0))
MASKS = {
    "bool": NUMBERS < 0.5,
    "uint8": (NUMBERS * 250).byte(),
    "int64": (NUMBERS * 2**24).long(),
    "soft": NUMBERS,
}
WARPING = {"labels": "warp", "ignore_index": 0, "repeats": 8, "offsets": (0.5, 0.5)}
"""Each draw moves something by more than a pixel."""


@pytest.fixture
def images():
    return torch.rand(6, 3, 40, 56)


def pipeline(*keys, extra_args=None, same_on_batch=None, **options):
    own = RandomProRandConv(**options)
    return AugmentationSequential(
        own, data_keys=["image", *keys], extra_args=extra_args, same_on_batch=same_on_batch
    )


def drawn(container):
    return container._params[0].data["draw"].draw


def changed(before, after):
    return (before != after).flatten(1).any(1).tolist()


@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("same", [True, False])
def test_masks_warp_as_the_library_warps_labels(images, kind, same):
    mask = MASKS[kind]
    container = pipeline("mask", same_on_batch=same, **WARPING)
    _, moved = container(images, mask)
    labels = mask.view(torch.int32) if mask.is_floating_point() else mask
    expected = functional.warp_labels(labels, drawn(container), ignore_index=0).view(mask.dtype)
    assert moved.dtype == mask.dtype
    assert torch.equal(moved, expected)
    assert not torch.equal(moved, mask)


def test_masks_are_not_interpolated_even_if_the_container_says_so(images):
    bilinear = {DataKey.MASK: {"resample": "bilinear", "align_corners": True}}
    container = pipeline("mask", extra_args=bilinear, **WARPING)
    mask = torch.randint(0, 2, (6, 1, 40, 56)) * 200
    _, moved = container(images, mask)
    assert set(moved.unique().tolist()) == {0, 200}


def test_labels_stay_unless_they_shall_warp(images):
    mask, points = MASKS["uint8"], torch.rand(6, 4, 2) * 40
    boxes, classes = torch.tensor([[[3.0, 4, 20, 30]]]).repeat(6, 1, 1), torch.arange(6)
    container = pipeline("mask", "keypoints", "bbox_xyxy", "class")
    result = container(images, mask, points, boxes, classes)
    for before, after in zip((mask, points, boxes, classes), result[1:], strict=True):
        assert torch.equal(before, after)
    assert changed(images, result[0]) == [True] * 6


def test_p_chooses_images_and_their_masks_alike(images):
    container = pipeline("mask", p=0.5, same_on_batch=False, **WARPING)
    result, moved = container(images, MASKS["int64"])
    chosen = (container._params[0].data["batch_prob"] > 0.5).tolist()
    assert sorted(set(chosen)) == [False, True]
    assert changed(images, result) == chosen
    assert changed(MASKS["int64"], moved) == chosen


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("of_container", [True, False, None])
def test_same_on_batch_decides_whether_images_share_a_draw(images, own, of_container):
    container = AugmentationSequential(
        RandomProRandConv(same_on_batch=own), data_keys=["image"], same_on_batch=of_container
    )
    alike = container(images[:1].expand(4, -1, -1, -1))
    shared = own if of_container is None else of_container
    assert torch.allclose(alike[0], alike[3], atol=1e-4) == shared


@pytest.mark.parametrize("same", [True, False])
def test_params_replay_images_and_masks_bit_for_bit(images, same):
    container = pipeline("mask", p=0.7, same_on_batch=same, **WARPING)
    first = container(images, MASKS["uint8"])
    params = container._params
    container(images, MASKS["uint8"])
    again = container(images, MASKS["uint8"], params=params)
    assert torch.equal(first[0], again[0])
    assert torch.equal(first[1], again[1])
    assert torch.equal(first[1], container(MASKS["uint8"], params=params, data_keys=["mask"]))


@pytest.mark.parametrize("same", [True, False])
def test_list_of_masks_moves_as_one_tensor(images, same):
    container = pipeline("mask", same_on_batch=same, **WARPING)
    _, whole = container(images, MASKS["uint8"])
    _, listed = container(images, list(MASKS["uint8"]), params=container._params)
    assert [part.squeeze().tolist() for part in listed] == whole.squeeze(1).tolist()


def test_images_stay_between_zero_and_one(images):
    result = pipeline(repeats=5)(images)
    assert 0 <= result.min() < 0.3
    assert 0.7 < result.max() <= 1


def test_normalised_images_stay_in_their_range(images):
    result = pipeline(repeats=5, mean=0.5, std=0.25)(images * 4 - 2)
    assert -2 <= result.min() < -1
    assert 1 < result.max() <= 2


@pytest.mark.parametrize("key", ["bbox_xyxy", "keypoints"])
def test_what_cannot_warp_raises_an_error_where_labels_warp(images, key):
    label = torch.ones(6, 1, 4) if key == "bbox_xyxy" else torch.ones(6, 1, 2)
    with pytest.raises(ProRandConvError, match=r"data_keys: got '(Boxes|Keypoints)'"):
        pipeline(key, labels="warp", ignore_index=0)(images, label)


def test_label_of_the_outside_must_be_said():
    with pytest.raises(ProRandConvError, match=r"ignore_index: got None, expected 255 .* or 0"):
        RandomProRandConv(labels="warp")


def test_mode_is_called_same_on_batch_here():
    with pytest.raises(ProRandConvError, match=r"mode: got 'sample', expected same_on_batch"):
        RandomProRandConv(mode="sample")


def test_videos_raise_an_error():
    frames = VideoSequential(RandomProRandConv(), data_format="BCTHW")
    with pytest.raises(ProRandConvError, match="VideoSequential"):
        frames(torch.rand(2, 3, 4, 16, 16))


def test_by_hand_masks_stay_nothing_is_replayed_and_the_range_is_left(images):
    container = AugmentationSequential(
        ProRandConv(**WARPING | {"ignore_index": 255}), data_keys=["image", "mask"]
    )
    first, mask = container(images, MASKS["uint8"])
    again, _ = container(images, MASKS["uint8"], params=container._params)
    assert torch.equal(mask, MASKS["uint8"])
    assert not torch.isclose(first, again).all()
    assert first.min() < 0
