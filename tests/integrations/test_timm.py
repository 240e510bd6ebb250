"""timm's prefetching loaders: batches stay in the range of their normalisation."""

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import prorandconv as prc

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
PIXELS = torch.randint(256, (6, 3, 8, 8), generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def augmented():
    pytest.importorskip("timm", reason="pip install 'prorandconv[timm]'")
    from prorandconv.integrations.timm import augmented

    return augmented


@pytest.fixture(scope="module")
def loader(augmented):
    from timm.data.loader import PrefetchLoader

    def made(labels=None, **options):
        data = TensorDataset(PIXELS.byte(), torch.arange(6) if labels is None else labels)
        batches = DataLoader(data, batch_size=3)
        return PrefetchLoader(batches, mean=MEAN, std=STD, device=torch.device("cpu"), **options)

    return made


def test_augmented_images_fill_the_range_of_normalised_pixels(augmented, loader):
    batches = [x for x, _ in augmented(loader(), "augmented", repeats=5)]
    low, high = torch.cat(batches).amin((0, 2, 3)), torch.cat(batches).amax((0, 2, 3))
    mean, std = torch.tensor(MEAN), torch.tensor(STD)
    assert ((low * std + mean >= -1e-6) & (high * std + mean <= 1 + 1e-6)).all()
    assert (high - low > 2.5).all()  # tanh's own range is 2


def test_both_has_the_loaders_images_first_and_repeats_targets(augmented, loader):
    for (images, target), (x, y) in zip(augmented(loader()), loader(), strict=True):
        assert torch.equal(images[:3], x)
        assert not torch.isclose(images[3:], x).all()
        assert torch.equal(target, y.repeat(2))


def test_soft_targets_go_with_their_images(augmented, loader):
    targets = [t for _, t in augmented(loader(torch.eye(6)))]
    assert torch.equal(targets[0], torch.eye(6)[:3].repeat(2, 1))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_images_stay_in_half_precision(augmented, loader, dtype):
    images, _ = next(augmented(loader(img_dtype=dtype)))
    assert images.dtype == dtype
    assert images.isfinite().all()


def test_loader_without_a_prefetcher_raises_an_error(augmented, loader):
    with pytest.raises(prc.ProRandConvError, match=r"loader: got 'DataLoader', .*PrefetchLoader"):
        augmented(loader().loader)


def test_wrong_option_raises_an_error(augmented, loader):
    with pytest.raises(prc.ProRandConvError, match="max_repeats"):
        augmented(loader(), max_repeats=0)


def test_by_hand_augmented_images_have_another_range_than_the_originals(loader):
    images, _ = next(iter(loader()))
    assert images.abs().max() > 2
    assert prc.ProRandConv()(images).abs().max() <= 1
