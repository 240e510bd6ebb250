"""Labels that move with the picture, checked against pictures of the same shapes."""

from dataclasses import replace

import pytest
import torch
from torchvision import tv_tensors

from prorandconv import Draw, Options, ProRandConv, ProRandConvError
from prorandconv.functional import apply, displacement, warp_labels

SIZE = (128, 160)
UNSIGNED = [torch.uint8, torch.uint16]


def shapes():
    """A disc and a box, as a mask."""
    row, column = torch.meshgrid(*(torch.arange(side) for side in SIZE), indexing="ij")
    disc = (row - 54).square() + (column - 58).square() < 28**2
    return disc | (((row - 87).abs() < 20) & ((column - 112).abs() < 22))


def overlap(one, other):
    return ((one & other).sum() / (one | other).sum()).item()


def overlaps(repeats, *, draws=6, signs=False, **options):
    """IoU of the picture's shape with the moved and with the unmoved mask, the least of draws.

    The picture is the mask itself, 0 and 1, in all channels. Repetitions of a kernel with signs
    turn its shape into ripples in which no border can be told. The displacement depends on the
    magnitudes of the weights only, so the picture is convolved with these: the border is blurred,
    and lies where the picture has half its height.
    """
    mask = shapes()
    x = mask.expand(3, -1, -1).float()
    augment = ProRandConv(repeats=repeats, contrast=False, offsets=(0.5, 0.5), **options)
    found = []
    for seed in range(draws):
        draw = augment.draw(x, torch.Generator().manual_seed(seed))
        if not signs:
            draw = replace(draw, weight=draw.weight.abs())
        draw = replace(draw, options=Options(contrast=()))
        picture = apply(x, draw)
        picture = picture[picture.abs().amax((1, 2)).argmax()] if signs else picture.sum(0)
        shape = picture.abs() > picture.abs().amax() / 2
        moved = warp_labels(mask, draw)
        found.append((overlap(shape, moved), overlap(shape, mask)))
    return (min(values) for values in zip(*found, strict=True))


@pytest.mark.parametrize("repeats", [1, 5, 10])
class TestShapes:
    def test_a_mask_moves_with_its_picture_under_shared_offsets(self, repeats):
        moved, _ = overlaps(repeats, shared_offsets=True)
        assert moved >= 0.97

    def test_so_it_does_with_the_signs_of_kernels_that_are_all_but_their_centre(self, repeats):
        moved, _ = overlaps(repeats, shared_offsets=True, signs=True, smoothing=(0.1, 0.2))
        assert moved >= 0.97

    def test_with_one_field_per_tap_it_fits_better_than_unmoved(self, repeats):
        moved, unmoved = overlaps(repeats)
        assert moved >= 0.95
        assert 1 - moved < 0.75 * (1 - unmoved)


def shifted(dx, **parts):
    """A draw that takes each pixel from its neighbour, dx to the right."""
    weight = torch.zeros(1, 1, 3, 3)
    weight[0, 0, 1, 1 + dx] = 1.0
    repeats = parts.pop("repeats", 1)
    return Draw(weight=weight, repeats=repeats, size=(3, 4), **parts)


LABELS = torch.arange(12).view(3, 4)


@pytest.mark.parametrize("dtype", [torch.int16, torch.int32, torch.int64, *UNSIGNED])
def test_what_comes_from_outside_is_ignored(dtype):
    moved = warp_labels(LABELS.to(dtype), shifted(1))
    assert moved.dtype == dtype
    assert moved.tolist() == [[1, 2, 3, 255], [5, 6, 7, 255], [9, 10, 11, 255]]


def test_another_ignore_index_may_be_negative():
    assert warp_labels(LABELS, shifted(-1), ignore_index=-100)[:, 0].tolist() == [-100] * 3


def test_booleans_are_false_outside():
    moved = warp_labels(torch.ones(3, 4, dtype=torch.bool), shifted(1))
    assert moved.tolist() == [[True, True, True, False]] * 3


def test_paddings_that_continue_the_picture_continue_its_labels():
    draw = shifted(1, options=Options(padding="reflect"))
    assert warp_labels(LABELS, draw)[0].tolist() == [1, 2, 3, 2]
    draw = shifted(1, options=Options(padding="replicate"))
    assert warp_labels(LABELS, draw)[0].tolist() == [1, 2, 3, 3]


def test_masks_of_one_sample_move_alike():
    draw = ProRandConv(offsets=(2.0, 2.0), repeats=5).draw(torch.randn(3, *SIZE))
    mask = shapes().long()
    moved = warp_labels(torch.stack((mask, 1 - mask)), draw)
    alone = warp_labels(mask, draw)
    assert torch.equal(moved[0], alone)
    assert torch.equal(moved[1] == 255, alone == 255)
    assert not torch.equal(alone, mask)


def test_only_labels_of_augmented_images_move():
    batch = LABELS.expand(4, 2, 3, 4)
    moved = warp_labels(batch, shifted(1, selected=torch.tensor([1, 3]), batch_size=4))
    assert torch.equal(moved[::2], batch[::2])
    assert torch.equal(moved[1::2], warp_labels(batch[1::2], shifted(1)))
    nothing = shifted(1, selected=torch.tensor([], dtype=torch.int64), batch_size=4)
    assert torch.equal(warp_labels(batch, nothing), batch)


@pytest.mark.parametrize("p", [1.0, 0.5])
def test_with_one_draw_per_image_each_moves_its_own_way(p):
    x = torch.randn(4, 3, *SIZE)
    draw = ProRandConv(mode="sample", p=p, offsets=(2.0, 2.0)).draw(x)
    masks = shapes().to(torch.uint8).expand(4, -1, -1)
    alone = [warp_labels(masks[0], one) for one in draw]
    # Single draws round differently: a pixel between two neighbours may take the other one.
    assert (warp_labels(masks, draw) != torch.stack(alone)).float().mean() < 1e-3
    assert not torch.equal(alone[0], alone[1]) or p < 1


def test_a_known_displacement_is_not_computed_again():
    still = torch.zeros(2, 3, 4)
    assert torch.equal(warp_labels(LABELS, shifted(1), displacement=still), LABELS)
    known = displacement(shifted(1))
    assert torch.equal(
        warp_labels(LABELS, shifted(1), displacement=known), warp_labels(LABELS, shifted(1))
    )


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan"), 1e9])
@pytest.mark.parametrize("repeats", [1, 3])
def test_offsets_without_end_lead_outside(value, repeats):
    offsets = torch.zeros(18, 3, 4)
    offsets[:, 1, 2] = value
    draw = replace(shifted(0), offsets=offsets, repeats=repeats)
    moved = warp_labels(LABELS, draw)
    assert moved[1, 2] == 255
    assert torch.equal(moved[:, 0], LABELS[:, 0])


def test_the_labels_given_are_left_alone():
    before = LABELS.clone()
    warp_labels(LABELS, shifted(1))
    assert torch.equal(LABELS, before)


def test_what_cannot_be_moved_raises_an_error():
    with pytest.raises(ProRandConvError, match=r"^ignore_index: got 255, expected from -128 to 1"):
        warp_labels(LABELS.to(torch.int8), shifted(0))
    with pytest.raises(ProRandConvError, match=r"^ignore_index: got -100, expected from 0 to 255"):
        warp_labels(LABELS.to(torch.uint8), shifted(0), ignore_index=-100)
    with pytest.raises(ProRandConvError, match=r"^labels: got 'torch.float32 of shape \(3, 4\)'"):
        warp_labels(LABELS.float(), shifted(1))
    with pytest.raises(ProRandConvError, match=r"^labels: .* count the 4 images of this draw"):
        warp_labels(LABELS, shifted(1, selected=torch.tensor([1]), batch_size=4))
    with pytest.raises(ProRandConvError, match=r"^displacement: got \(2, 5, 5\), expected \(2, 3"):
        warp_labels(LABELS, shifted(1), displacement=torch.zeros(2, 5, 5))


class TestVolumes:
    """Label volumes move as images' masks do."""

    def test_labels_follow_an_off_centre_tap(self):
        weight = torch.zeros(1, 1, 3, 3, 3)
        weight[0, 0, 2, 1, 0] = 1.0  # the next plane, the column before
        draw = Draw(weight=weight, repeats=2, size=(6, 5, 7))
        labels = torch.randint(0, 9, (3, 6, 5, 7))
        moved = warp_labels(labels, draw)
        assert torch.equal(moved[:, :-2, :, 2:], labels[:, 2:, :, :-2])
        assert moved[:, -2:].eq(255).all()

    def test_waves_mixed_before_they_are_made_are_the_mean_of_the_taps(self):
        x = torch.randn(2, 1, 6, 8, 7, dtype=torch.float64)
        for mode in ("batch", "sample"):
            draw = ProRandConv(spatial_dims=3, mode=mode, max_repeats=3).draw(x)
            given = replace(draw, offsets=draw.offsets.dense())
            torch.testing.assert_close(displacement(draw), displacement(given))

    def test_a_transform_moves_masks_and_takes_no_boxes(self):
        augment = ProRandConv(spatial_dims=3, labels="warp", offsets=(1.0, 1.0))
        image = tv_tensors.Image(torch.rand(1, 6, 8, 8))
        mask = tv_tensors.Mask(torch.randint(0, 4, (6, 8, 8)))
        draw = augment.draw(image)
        _, moved = augment(image, mask, draw=draw)
        assert torch.equal(moved, warp_labels(mask.as_subclass(torch.Tensor), draw))
        boxes = tv_tensors.BoundingBoxes([[0, 0, 2, 2]], format="XYXY", canvas_size=(8, 8))
        with pytest.raises(
            ProRandConvError, match=r"^BoundingBoxes: got .*volumes.* expected masks"
        ):
            augment(image, boxes)
