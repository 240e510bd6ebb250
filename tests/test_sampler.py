import math

import pytest
import torch

from prorandconv import ProRandConv, RandConv
from prorandconv.transforms import Sampler

DRAWS = 4000


@pytest.fixture(scope="module")
def draws():
    """One draw per image is the same law as that many draws."""
    generator = torch.Generator().manual_seed(1)
    augment = ProRandConv(mode="sample", smoothing=None)
    return augment.draw(torch.zeros(DRAWS, 3, 8, 8), generator=generator)


def test_weights_have_he_deviation_and_no_mean(draws):
    weight = draws.weight
    assert weight.shape == (DRAWS, 3, 3, 3, 3)
    numbers = weight.numel()
    sigma = 1 / math.sqrt(27)
    assert weight.std().item() == pytest.approx(sigma, rel=5 / math.sqrt(2 * numbers))
    assert abs(weight.mean().item()) < 5 * sigma / math.sqrt(numbers)


@pytest.mark.parametrize("name", ["gamma", "beta"])
def test_affine_has_the_papers_deviation_and_either_sign(draws, name):
    values = getattr(draws, name)
    assert values.shape == (DRAWS, 3)
    assert values.std().item() == pytest.approx(0.5, rel=5 / math.sqrt(2 * values.numel()))
    assert (values < 0).float().mean().item() == pytest.approx(0.5, abs=0.025)


def test_repeats_are_uniform(draws):
    counts = torch.bincount(torch.tensor(draws.repeats), minlength=11)
    assert counts[0] == 0
    assert len(counts) == 11
    expected = DRAWS / 10
    chi_square = ((counts[1:] - expected) ** 2 / expected).sum().item()
    assert chi_square < 27.9  # 99.9 % quantile for 9 degrees of freedom


def test_offset_scale_is_uniform_over_its_range(draws):
    sigma = draws.offsets.dense().flatten(1).std(1, correction=0)
    low, high = 0.01, 0.2
    assert sigma.min() >= low - 1e-5
    assert sigma.max() <= high + 1e-5
    assert sigma.mean().item() == pytest.approx((low + high) / 2, rel=0.02)
    assert sigma.std().item() == pytest.approx((high - low) / math.sqrt(12), rel=0.04)


def test_smoothing_width_is_uniform_over_its_range():
    generator = torch.Generator().manual_seed(2)
    augment = ProRandConv(mode="sample", smoothing=(0.5, 1.0))
    x = torch.zeros(DRAWS, 3, 1, 1)
    smooth = augment.draw(x, generator).weight.square().sum((1, 2))
    # the ratio of a side tap's power to the middle's is exp(-1 / σ_g²); its mean over U(0.5, 1)
    ratio = (smooth[:, 0, 1].mean() / smooth[:, 1, 1].mean()).item()
    sigma = torch.linspace(0.5, 1, 10_001, dtype=torch.float64)
    assert ratio == pytest.approx((-1 / sigma**2).exp().mean().item(), rel=0.05)


def test_one_smoothing_width_serves_the_whole_draw():
    weight = ProRandConv(weights="different", weight_std=1.0).draw(torch.zeros(1, 3, 8, 8)).weight
    torch.manual_seed(0)
    plain = ProRandConv(weights="different", weight_std=1.0, smoothing=None)
    torch.manual_seed(0)
    window = weight / plain.draw(torch.zeros(1, 3, 8, 8)).weight
    window = window.flatten(0, 2)
    torch.testing.assert_close(window, window[:1].expand_as(window), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("std", "expected"), [(0.3, 0.3), ((0.5, 1.5), math.sqrt(1 + 1 / 12))])
def test_weight_deviation_can_be_given_or_drawn(std, expected):
    augment = ProRandConv(mode="sample", smoothing=None, weight_std=std)
    weight = augment.draw(torch.zeros(DRAWS, 3, 1, 1)).weight
    assert weight.std().item() == pytest.approx(expected, rel=0.02)


def test_offsets_of_different_taps_are_uncorrelated(draws):
    fields = (
        draws.offsets.dense()
        / draws.offsets.dense().flatten(1).std(1, correction=0)[:, None, None, None]
    )
    correlation = torch.einsum("nahw,nbhw->ab", fields, fields) / (DRAWS * 64)
    off_diagonal = correlation - torch.diag(correlation.diag())
    # one product of two smooth unit fields has a deviation of about 0.5
    assert off_diagonal.abs().max() < 5.5 * 0.5 / math.sqrt(DRAWS)


def test_subset_has_its_share_and_is_fair():
    sampler = Sampler(None, torch.Generator().manual_seed(3))
    chosen = [sampler.subset(10, 0.33) for _ in range(3000)]
    assert {len(c) for c in chosen} == {3, 4}
    often = torch.bincount(torch.cat(chosen), minlength=10) / 3000
    torch.testing.assert_close(often, torch.full((10,), 0.33), atol=0.04, rtol=0)
    assert len(sampler.subset(10, 0.5)) == 5
    assert len(sampler.subset(7, 0.0)) == 0
    assert sampler.subset(7, 1.0).tolist() == list(range(7))


def test_rand_conv_draws_each_kernel_size_equally_and_identity_half_the_time():
    x = torch.zeros(1, 3, 8, 8)
    augment = RandConv()
    many = [augment.draw(x) for _ in range(1000)]
    sizes = torch.tensor([draw.weight.shape[-1] for draw in many])
    for kernel_size in (1, 3, 5, 7):
        assert (sizes == kernel_size).float().mean().item() == pytest.approx(0.25, abs=0.07)
    identity = torch.tensor([draw.repeats == 0 for draw in many])
    assert identity.float().mean().item() == pytest.approx(0.5, abs=0.08)
    wide = torch.cat([draw.weight.flatten() for draw in many if draw.weight.shape[-1] == 7])
    assert wide.std().item() == pytest.approx(1 / math.sqrt(49 * 3), rel=0.05)


def test_rand_conv_per_image_keeps_each_kernels_own_size_and_deviation():
    weight = RandConv((1, 5), mode="sample").draw(torch.zeros(2000, 3, 4, 4)).weight
    assert weight.shape[-1] == 5
    outside = weight.clone()
    outside[..., 2, 2] = 0
    small = outside.flatten(1).eq(0).all(1)
    assert small.float().mean().item() == pytest.approx(0.5, abs=0.06)
    assert weight[small][..., 2, 2].std().item() == pytest.approx(1 / math.sqrt(3), rel=0.05)
    assert weight[~small].std().item() == pytest.approx(1 / math.sqrt(75), rel=0.05)


@pytest.mark.parametrize(
    "augment", [ProRandConv(p=0.5), RandConv(mix=True)], ids=lambda a: type(a).__name__
)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_generator_decides_alone_and_leaves_the_global_state(augment, dtype):
    x = torch.zeros(2, 3, 8, 8, dtype=dtype)
    before = torch.random.get_rng_state()
    one = augment.draw(x, generator=torch.Generator().manual_seed(7))
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.manual_seed(123)
    two = augment.draw(x, generator=torch.Generator().manual_seed(7))
    assert one.repeats == two.repeats
    for name, part in one.parts().items():
        mine, other = (getattr(p, "coefficients", p) for p in (part, two.parts()[name]))
        assert torch.equal(mine, other)
    assert one.weight.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)


@pytest.mark.parametrize("options", [{}, {"mode": "sample"}, {"alpha": 2.0}])
def test_shared_offsets_are_one_smooth_field_for_all_taps(options):
    augment = ProRandConv(shared_offsets=True, offsets=(0.3, 0.3), **options)
    offsets = augment.draw(torch.randn(4, 3, 16, 24)).offsets.dense()
    taps = offsets.unflatten(-3, (9, 2))
    assert torch.equal(taps, taps[..., :1, :, :, :].expand_as(taps))
    assert torch.allclose(taps.std((-2, -1), correction=0), torch.tensor(0.3), atol=1e-5)
    dy, dx = taps[..., 0, :, :, :].flatten(-2).unbind(-2)
    assert not torch.allclose(dy, dx)
