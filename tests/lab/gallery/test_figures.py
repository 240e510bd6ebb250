"""What the sheets of the gallery show: rows of draws whose columns differ in one parameter."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from prorandconv import ProRandConv, RandConv
from prorandconv.functional import warp_labels
from prorandconv.lab.gallery import FIGURES
from prorandconv.lab.gallery.blocks import GROWTH as REPEATS
from prorandconv.lab.gallery.blocks import STEPS_REPEATS as MORE
from prorandconv.lab.gallery.blocks import by_stage, converged, overview, trimmed
from prorandconv.lab.gallery.deformation import OUTLINE, arrows, deformed, labels, outlined, shades
from prorandconv.lab.gallery.receptive import extent, mean_influence, single, stacked
from prorandconv.lab.sheets import read_picture, shown

ORIGINALS = Path(__file__).parents[3] / "docs" / "gallery" / "originals"


@pytest.fixture(scope="module")
def image():
    return read_picture(ORIGINALS / "cat.webp", 48)


def pixels(picture):
    return np.asarray(picture, dtype=int)


@pytest.mark.parametrize("figure", [name for name in FIGURES if name != "receptive"])
def test_a_seed_makes_the_same_pictures_and_another_seed_others(figure, image):
    first, again, other = (FIGURES[figure](image, seed).rows[-1].pictures[-1] for seed in (0, 0, 1))
    assert np.array_equal(pixels(first), pixels(again))
    assert not np.array_equal(pixels(first), pixels(other))


def test_a_row_of_the_overview_repeats_the_seeds_first_draw(image):
    row = next(row for row in overview(image, 3).rows if row.name == "Pro-RandConv\ndraw 0")
    draw = ProRandConv().draw(image, torch.Generator().manual_seed(3))
    assert row.captions == ["original", *(f"L = {repeats}" for repeats in REPEATS)]
    for repeats, picture in zip((0, *REPEATS), row.pictures, strict=True):
        expected = ProRandConv()(image, draw=replace(draw, repeats=repeats))
        assert np.array_equal(pixels(picture), pixels(shown(expected)))


def test_steps_lead_to_what_the_transform_makes_in_one_repetition_and_in_more(image):
    augment = ProRandConv()
    params = augment.draw(image, torch.Generator().manual_seed(0))
    stages = by_stage(image, params)
    assert not torch.equal(stages["convolve"], stages["deform"])
    assert stages["standardise"].std((-2, -1), correction=0).allclose(torch.ones(3), atol=1e-3)
    for name, repeats in {"tanh: L = 1": 1, **{f"L = {n}": n for n in MORE}}.items():
        expected = augment(image, draw=replace(params, repeats=repeats))
        assert torch.allclose(stages[name], expected, atol=1e-4)


def test_a_trimmed_kernel_is_the_middle_of_the_large_one_with_its_own_deviation(image):
    draw = RandConv((21,), identity=0.0).draw(image, torch.Generator().manual_seed(0))
    small = trimmed(draw, 3).weight
    assert torch.equal(small, draw.weight[..., 9:12, 9:12] * 7)
    assert trimmed(draw, 21).weight.std() == pytest.approx((21**2 * 3) ** -0.5, rel=0.1)


def test_offsets_of_a_column_differ_in_the_scale_alone(image):
    transform = ProRandConv(offsets=(1.0, 1.0), alpha=0.0)
    draw = transform.draw(image, torch.Generator().manual_seed(0))
    one, two = deformed(draw, 1.0, 10.0), deformed(draw, 2.0, 10.0)
    assert torch.equal(one.offsets.dense() * 2, two.offsets.dense())
    assert torch.equal(one.weight, two.weight)
    assert one.offsets.dense().std((-2, -1), correction=0).allclose(torch.ones(18), atol=1e-4)


def test_a_low_exponent_is_rougher_than_a_high_one_with_the_same_numbers(image):
    draw = ProRandConv(offsets=(1.0, 1.0), alpha=0.0).draw(image)
    rough, smooth = (
        deformed(draw, 1.0, alpha).offsets.dense().diff().abs().mean() for alpha in (2, 10)
    )
    assert rough > 2 * smooth


def test_arrows_point_where_the_offsets_do():
    draw = ProRandConv(offsets=(1.0, 1.0), alpha=0.0).draw(torch.zeros(3, 96, 96))
    still = deformed(draw, 0.0, 10.0)
    coefficients = still.offsets.coefficients.clone()
    coefficients[9, 0, 0] = 1.0  # dx of the middle tap
    to_the_right = replace(still.offsets, coefficients=coefficients)
    before, after = (
        inked(arrows(replace(still, offsets=offsets), 4))
        for offsets in (still.offsets, to_the_right)
    )
    assert after[1].mean() > before[1].mean() + 0.5
    assert abs(after[0].mean() - before[0].mean()) < 0.1


def inked(picture):
    """Rows and columns of the pixels that are not the ground's."""
    return (pixels(picture) != 244).any(-1).nonzero()


def test_a_single_kernel_sees_its_square_evenly_and_small_ones_see_the_middle_best():
    window = torch.zeros(1, 3, 48, 48)
    even = mean_influence(window, single(window, 0))[2]  # k = 7
    peaked = mean_influence(window, stacked(window, 0))[2]  # L = 3
    assert extent(even) == 7
    for share in (even, peaked):
        assert float(share[21:28, 21:28].sum()) == pytest.approx(1, abs=1e-5)
    assert float(even.max() / even[21:28, 21:28].min()) < 3
    assert float(peaked[24, 24] / peaked[21:28, 21:28].min()) > 10


def test_a_draw_has_converged_when_a_repetition_changes_nothing(image):
    augment = ProRandConv()
    params = augment.draw(image, torch.Generator().manual_seed(0))
    params.gamma.zero_()  # tanh(β), whatever comes in
    assert converged(augment, image, params)
    params.gamma.fill_(1.0)
    params.weight.zero_()
    params.weight[:, :, 1, 1] = -torch.eye(3)  # each repetition inverts the picture
    assert not converged(augment, image, params)


def test_moved_labels_are_outlined_where_the_draw_moves_them(image):
    draw = ProRandConv(repeats=10, offsets=(1.0, 1.0)).draw(image, torch.Generator().manual_seed(2))
    augmented, classes = ProRandConv()(image, draw=draw), shades(image)
    assert classes.float().mean() == pytest.approx(0.5, abs=0.01)
    moved = warp_labels(classes, draw)
    assert not torch.equal(moved, classes)
    original, fixed, along, *_ = labels(image, 2).rows[0].pictures
    assert np.array_equal(pixels(original), pixels(outlined(image, classes)))
    assert np.array_equal(pixels(fixed), pixels(outlined(augmented, classes)))
    assert np.array_equal(pixels(along), pixels(outlined(augmented, moved)))


def test_an_outline_is_where_the_class_changes_and_nowhere_else():
    classes = torch.zeros(4, 4, dtype=torch.uint8)
    classes[:, 2:] = 1
    drawn = pixels(outlined(torch.zeros(3, 4, 4), classes))
    assert (drawn[:, 1] == OUTLINE).all()
    assert (np.delete(drawn, 1, axis=1) == 128).all()
