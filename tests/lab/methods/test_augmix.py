"""AugMix against a naive reference: Pillow, one image at a time."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from PIL import Image, ImageOps

from prorandconv import ProRandConvError
from prorandconv.lab.data.benchmarks.digits import FORMAT
from prorandconv.lab.methods.augmenting import to_pixels
from prorandconv.lab.methods.augmix import OPERATIONS, AugMix, Draw, apply, augmix

SIDE = 32


def smooth_images(count=6):
    generator = torch.Generator().manual_seed(0)
    coarse = torch.rand(count, 3, 8, 8, generator=generator)
    smooth = F.interpolate(coarse, size=SIDE, mode="bicubic").clamp(0, 1)
    return (smooth * 255).round().to(torch.uint8)


def with_pillow(name, image, level, sign):
    """The operation as the published code has it: level is from 0 to 10."""
    picture = Image.fromarray(image.permute(1, 2, 0).numpy())
    part, size = level / 10, picture.size
    shear, shift = part * 0.3 * sign, int(part * SIDE / 3) * sign
    matrices = {
        "shear_x": (1, shear, 0, 0, 1, 0),
        "shear_y": (1, 0, 0, shear, 1, 0),
        "translate_x": (1, 0, shift, 0, 1, 0),
        "translate_y": (1, 0, 0, 0, 1, shift),
    }
    if name == "autocontrast":
        done = ImageOps.autocontrast(picture)
    elif name == "equalize":
        done = ImageOps.equalize(picture)
    elif name == "posterize":
        done = ImageOps.posterize(picture, 4 - int(part * 4))
    elif name == "solarize":
        done = ImageOps.solarize(picture, 256 - int(part * 256))
    elif name == "rotate":
        done = picture.rotate(int(part * 30) * sign, resample=Image.Resampling.BILINEAR)
    else:
        affine = Image.Transform.AFFINE
        done = picture.transform(size, affine, matrices[name], Image.Resampling.BILINEAR)
    return torch.from_numpy(np.array(done)).permute(2, 0, 1)


@pytest.mark.parametrize("name", OPERATIONS)
def test_each_operation_is_pillows_with_a_strength_for_each_image(name):
    images = smooth_images()
    levels = torch.tensor([0.1, 1.0, 2.0, 3.0, 5.0, 9.0], dtype=torch.float64)
    signs = torch.tensor([1, -1] * 3)
    done = apply(name, images, levels, signs)
    for image, level, sign, found in zip(images, levels, signs, done, strict=True):
        expected = with_pillow(name, image, float(level), int(sign))
        assert (found.int() - expected.int()).abs().max() <= 1
    assert not torch.equal(done[-1], images[-1])


def test_a_view_is_the_blend_of_the_image_and_its_weighted_chains():
    images = smooth_images()
    draw = Draw.of(len(images), AugMix(), np.random.default_rng(3))
    found = augmix(images, draw)
    for number, image in enumerate(images):
        mixture = torch.zeros(3, SIDE, SIDE)
        for chain in range(3):
            done = image
            for step in range(3):
                operation = int(draw.operation[step, number, chain])
                if operation >= 0:
                    level, sign = (
                        one[step, number, chain, None] for one in (draw.level, draw.sign)
                    )
                    (done,) = apply(OPERATIONS[operation], done[None], level, sign)
            mixture += draw.weights[number, chain] * done
        share = draw.share[number]
        expected = (1 - share) * image + share * mixture
        assert torch.allclose(found[number], expected, atol=1e-3)


def test_draws_have_the_papers_distributions():
    draw = Draw.of(20_000, AugMix(), np.random.default_rng(0))
    lengths = (draw.operation >= 0).sum(0).float()
    assert lengths.mean().item() == pytest.approx(2, abs=0.02)
    assert lengths.min() == 1
    used = draw.operation[draw.operation >= 0]
    assert torch.bincount(used).float().div(len(used)).sub(1 / 9).abs().max() < 0.01
    assert draw.level.min() >= 0.1
    assert draw.level.max() <= 3
    assert torch.allclose(draw.weights.sum(1), torch.ones(20_000))
    assert draw.weights.var(0).mean().item() == pytest.approx(
        1 / 18, rel=0.05
    )  # Dirichlet(1, 1, 1)
    assert draw.share.var().item() == pytest.approx(1 / 12, rel=0.05)  # Beta(1, 1)


def test_a_chain_does_not_go_on_after_its_end():
    draw = Draw.of(1000, AugMix(depth=4), np.random.default_rng(0))
    there = draw.operation >= 0
    assert not (there[1:] & ~there[:-1]).any()


def test_each_image_has_its_own_draw():
    x = torch.rand(1, 3, SIDE, SIDE).repeat(8, 1, 1, 1) * 2 - 1
    view = AugMix().augmentation(FORMAT)(x, torch.Generator().manual_seed(0))
    assert len({tuple(to_pixels(one[None], FORMAT).flatten().tolist()) for one in view}) == 8


def test_the_loss_is_cross_entropy_of_originals_and_twelve_times_the_divergence(loss_of):
    torch.manual_seed(0)
    x, y = torch.rand(6, 3, SIDE, SIDE) * 2 - 1, torch.arange(6)
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * SIDE * SIDE, 10))
    found = loss_of(AugMix(), network, x, y, 5, FORMAT)
    generator = torch.Generator().manual_seed(5)
    augment = AugMix().augmentation(FORMAT)
    views = [x, augment(x, generator), augment(x, generator)]
    chances = [network(view).softmax(1) for view in views]
    mean = sum(chances) / 3
    distances = [F.kl_div(mean.log(), one, reduction="batchmean") for one in chances]
    expected = F.cross_entropy(network(x), y) + 12 * sum(distances) / 3
    assert found.item() == pytest.approx(expected.item(), rel=1e-5)


@pytest.mark.parametrize("wrong", [{"width": 0}, {"depth": 0}, {"severity": 11.0}])
def test_options_out_of_range_are_named(wrong):
    with pytest.raises(ProRandConvError, match=next(iter(wrong))):
        AugMix(**wrong)
