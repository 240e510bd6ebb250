"""Masks, boxes and key points beside the images of a sample."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torchvision import tv_tensors
from torchvision.transforms import v2

from prorandconv import Options, ProRandConv, ProRandConvError
from prorandconv.functional import displacement, warp_labels

SIZE = (96, 128)
BOX = [30.0, 20.0, 90.0, 70.0]
UPRIGHT = ("XYXY", "XYWH", "CXCYWH")
ROTATED = [name for name in tv_tensors.BoundingBoxFormat.__members__ if name not in UPRIGHT]
has_points = pytest.mark.skipif(
    not hasattr(tv_tensors, "KeyPoints"), reason="this torchvision has no key points"
)


def boxes(data=(BOX,), kind="XYXY", **options):
    return tv_tensors.BoundingBoxes(list(data), format=kind, canvas_size=SIZE, **options)


def rectangle(box, dtype=torch.uint8):
    left, top, right, bottom = (round(side) for side in box)
    mask = torch.zeros(SIZE, dtype=dtype)
    mask[top:bottom, left:right] = 1
    return tv_tensors.Mask(mask)


def image(*leading):
    return tv_tensors.Image(torch.randn(*leading, 3, *SIZE))


@pytest.fixture
def augment():
    return ProRandConv(labels="warp", offsets=(1.0, 1.0), repeats=6)


def test_masks_move_as_the_draw_says_and_stay_masks(augment):
    sample = {"image": image(), "mask": rectangle(BOX), "instances": rectangle(BOX, torch.bool)}
    draw = augment.draw(sample["image"])
    moved = augment(sample, draw=draw)
    for name in ("mask", "instances"):
        mask = sample[name].as_subclass(torch.Tensor)
        assert type(moved[name]) is type(sample[name])
        assert torch.equal(moved[name].as_subclass(torch.Tensor), warp_labels(mask, draw))
    assert not torch.equal(moved["mask"], sample["mask"])
    assert not torch.equal(moved["image"], sample["image"])


def test_labels_stay_by_default():
    sample = (image(), rectangle(BOX), boxes())
    _, mask, box = ProRandConv(offsets=(1.0, 1.0))(*sample)
    assert mask is sample[1]
    assert box is sample[2]


def test_a_replayed_draw_moves_labels_that_come_without_images(augment):
    sample = (image(), rectangle(BOX))
    draw = augment.draw(sample[0])
    assert torch.equal(augment(sample[1], draw=draw), augment(*sample, draw=draw)[1])
    with pytest.raises(ProRandConvError, match=r"^x: got \['Mask'\], expected images beside them"):
        augment(sample[1])


def test_the_transforms_padding_and_ignore_index_count():
    x, mask = image(), tv_tensors.Mask(torch.zeros(SIZE, dtype=torch.int64))
    draw = ProRandConv(offsets=(2.0, 2.0), repeats=9).draw(x)
    outside = ProRandConv(labels="warp", ignore_index=-1)(x, mask, draw=draw)[1]
    assert outside.unique().tolist() == [-1, 0]
    draw = replace(draw, options=Options(padding="reflect"))
    reflected = ProRandConv(labels="warp")(x, mask, draw=draw)[1]
    assert reflected.unique().tolist() == [0]


def test_the_frames_of_a_video_move_alike_and_videos_their_own_way():
    videos = tv_tensors.Video(torch.randn(2, 4, 3, *SIZE))
    masks = tv_tensors.Mask(rectangle(BOX).expand(2, 4, *SIZE).contiguous())
    augment = ProRandConv(labels="warp", mode="sample", offsets=(1.0, 1.0), repeats=6)
    moved = augment(videos, masks)[1]
    assert torch.equal(moved, moved[:, :1].expand_as(moved))
    assert not torch.equal(moved[0], moved[1])


def test_half_of_single_samples_keep_their_labels():
    augment = ProRandConv(labels="warp", p=0.5, offsets=(1.0, 1.0), repeats=6)
    torch.manual_seed(0)
    kinds = set()
    for _ in range(12):
        sample = (image(), rectangle(BOX), boxes())
        x, mask, box = augment(*sample)
        kept = torch.equal(x, sample[0])
        assert torch.equal(mask, sample[1]) is kept
        assert torch.equal(box, sample[2]) is kept
        kinds.add(kept)
    assert kinds == {True, False}


class TestBoxes:
    @pytest.mark.parametrize("kind", UPRIGHT)
    @pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
    def test_a_box_is_that_of_its_moved_rectangle(self, augment, kind, dtype):
        box = v2.functional.convert_bounding_box_format(boxes(dtype=dtype), new_format=kind)
        for seed in range(4):
            torch.manual_seed(seed)
            _, mask, moved = augment(image(), rectangle(BOX), box)
            assert (moved.format.value, moved.dtype) == (kind, dtype)
            corners = v2.functional.convert_bounding_box_format(moved, new_format="XYXY")
            corners = corners[0].as_subclass(torch.Tensor).double()
            rows, columns = (mask == 1).nonzero(as_tuple=True)
            expected = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
            # The mask knows whole pixels only; whole centres and sides round once more.
            accuracy = 1.0 if dtype.is_floating_point else 2.0
            assert torch.allclose(corners, torch.tensor(expected).double(), atol=accuracy)
            assert not torch.allclose(corners, torch.tensor(BOX).double(), atol=0.5)

    @pytest.mark.parametrize("kind", ROTATED)
    def test_a_rotated_box_at_angle_zero_is_the_upright_one_and_keeps_any_angle(
        self, augment, kind
    ):
        x = image()
        draw = augment.draw(x)
        upright = augment(x, boxes(kind="XYXY"), draw=draw)[1]
        for angle in (0.0, 30.0):
            given = boxes([[60.0, 45.0, 60.0, 50.0, angle]], "CXCYWHR", clamping_mode=None)
            given = v2.functional.convert_bounding_box_format(given, new_format=kind)
            moved = augment(x, given, draw=draw)[1]
            assert moved.format.value == kind
            centred = v2.functional.convert_bounding_box_format(moved, new_format="CXCYWHR")[0]
            assert centred[4].item() == pytest.approx(angle, abs=1e-2)
            if angle == 0:
                low, high = centred[:2] - centred[2:4] / 2, centred[:2] + centred[2:4] / 2
                assert torch.allclose(torch.cat((low, high)), upright[0], atol=1e-3)

    def test_a_box_ends_at_the_border_and_no_boxes_stay_none(self, augment):
        whole = boxes([[0.0, 0.0, SIZE[1], SIZE[0]]])
        none = tv_tensors.BoundingBoxes(torch.empty(0, 4), format="XYXY", canvas_size=SIZE)
        _, moved, none = augment(image(), whole, none)
        assert torch.equal(moved, moved.clamp(min=0).minimum(whole[:, 2:].repeat(1, 2)))
        assert none.shape == (0, 4)

    @pytest.mark.parametrize("options", [{"mode": "sample"}, {"p": 0.5}])
    def test_boxes_of_images_that_move_differently_raise_an_error(self, options):
        with pytest.raises(ProRandConvError, match=r"^BoundingBoxes: .*one image and its boxes"):
            ProRandConv(labels="warp", **options)(image(4), boxes())


@has_points
class TestKeyPoints:
    def points(self, data, **options):
        return tv_tensors.KeyPoints(data, canvas_size=SIZE, **options)

    def test_a_point_goes_where_the_displacement_leads_back_to_it(self, augment):
        x = image()
        draw = augment.draw(x)
        given = torch.rand(50, 2) * torch.tensor([80.0, 60.0]) + 20
        moved = augment(x, self.points(given), draw=draw)[1]
        assert isinstance(moved, tv_tensors.KeyPoints)
        field, (column, row) = displacement(draw), moved.as_subclass(torch.Tensor).T
        grid = torch.stack(((2 * column + 1) / SIZE[1] - 1, (2 * row + 1) / SIZE[0] - 1), -1)
        back = torch.nn.functional.grid_sample(
            field[None], grid[None, None], align_corners=False
        )[0, :, 0].flip(0)  # fmt: skip
        assert torch.allclose(moved.T + back, given.T, atol=1e-3)
        assert (moved - given).abs().max() > 1

    def test_a_point_stays_on_its_pixel_of_the_mask(self, augment):
        x, (row, column) = image(), (50, 70)
        mask = torch.zeros(SIZE, dtype=torch.uint8)
        mask[row - 2 : row + 3, column - 2 : column + 3] = 1
        x, mask, point = augment(x, tv_tensors.Mask(mask), self.points([[column, row]]))
        centre = (mask == 1).nonzero().double().mean(0).flip(0)
        assert point.dtype == torch.int64
        assert torch.allclose(point[0].double(), centre, atol=1.0)

    @pytest.mark.parametrize("options", [{"mode": "sample"}, {"p": 0.5}])
    def test_points_of_a_batch_move_with_their_own_image(self, options):
        x, given = image(4), torch.rand(4, 7, 2) * 60 + 20
        augment = ProRandConv(labels="warp", offsets=(1.0, 1.0), repeats=6, **options)
        draw = augment.draw(x)
        moved = augment(x, self.points(given), draw=draw)[1]
        for n in range(4):
            alone = augment(x[n], self.points(given[n]), draw=draw[n])[1]
            assert torch.allclose(moved[n], alone, atol=1e-3)
        with pytest.raises(ProRandConvError, match=r"^labels: .*count the 4 images"):
            augment(x, self.points(given[0]), draw=draw)


def test_labels_that_do_not_fit_raise_an_error(augment):
    with pytest.raises(ProRandConvError, match=r"^Mask: got 'a size of \(8, 8\)', expected the im"):
        augment(image(), tv_tensors.Mask(torch.zeros(8, 8, dtype=torch.uint8)))
    plain = torch.randn(3, *SIZE)
    unmarked = (torch.zeros(SIZE, dtype=torch.int64), torch.zeros(SIZE), np.zeros(SIZE, np.uint8))
    for mask in unmarked:
        for beside in (image(), plain):
            with pytest.raises(ProRandConvError, match=r"^x: got .a plain .*tv_tensors.Mask"):
                augment(beside, mask)
    with pytest.raises(ProRandConvError, match=r"^labels: got 'torch.float32"):
        augment(image(), tv_tensors.Mask(torch.zeros(SIZE)))


@pytest.mark.parametrize("mode", ["batch", "sample"])
@pytest.mark.parametrize("shape", [(0, 3, *SIZE), (2, 3, 0, 8)], ids=str)
def test_an_empty_batch_has_no_labels_to_move(mode, shape):
    masks = tv_tensors.Mask(torch.zeros(shape[0], *shape[-2:], dtype=torch.uint8))
    _, moved = ProRandConv(labels="warp", mode=mode)(torch.randn(shape), masks)
    assert moved.shape == masks.shape


def test_other_targets_pass_through(augment):
    targets = {"label": torch.tensor([1, 2]), "area": torch.rand(7), "weight": torch.tensor(0.5)}
    result = augment({"image": image(2), **targets})
    assert all(result[name] is target for name, target in targets.items())
