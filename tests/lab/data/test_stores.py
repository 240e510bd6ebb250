"""Images in files: decoded when needed, and kept up to a limit."""

import os

import pytest
import torch
from PIL import Image

from prorandconv.lab.data import DataError, Options, get_benchmark, stores
from prorandconv.lab.data.augmentation import resize
from prorandconv.lab.data.decoding import decode


def test_what_was_decoded_to_check_it_is_not_decoded_again(open_benchmark, own, monkeypatch):
    images = open_benchmark("folder", own).load("day", "test")
    monkeypatch.setattr(stores, "decode", None)
    kept = list(images.batches(8))
    monkeypatch.undo()
    open_benchmark("folder", own).load("day", "test")
    fresh = list(open_benchmark("folder", own, cache_bytes=0).load("day", "test").batches(8))
    assert all(torch.equal(a[0], b[0]) for a, b in zip(kept, fresh, strict=True))


def test_a_second_epoch_reads_no_file(open_benchmark, own, monkeypatch):
    open_benchmark("folder", own).load("day", "test")
    images = open_benchmark("folder", own).load("day", "test")
    first = list(images.batches(8))
    monkeypatch.setattr(stores, "decode", None)
    second = list(images.batches(8))
    assert all(torch.equal(a[0], b[0]) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("workers", [0, 2])
def test_the_cache_keeps_to_its_limit_and_changes_no_pixel(open_benchmark, own, workers):
    image = 3 * 224 * 224
    unlimited = open_benchmark("folder", own).load("day", "test")
    limited = get_benchmark(
        "folder", own, Options(cache_bytes=5 * image + 1, workers=workers)
    ).load("day", "test")
    for _ in range(2):
        pairs = zip(limited.batches(8), unlimited.batches(8), strict=True)
        assert all(torch.equal(a[0], b[0]) for a, b in pairs)
    assert limited.store.options.cache.used == 5 * image
    assert len(limited.store.options.cache.images) == 5
    kept = sum(i.untyped_storage().nbytes() for i in limited.store.options.cache.images.values())
    assert kept == limited.store.options.cache.used


def test_splits_of_a_domain_share_the_cache(open_benchmark, own):
    found = open_benchmark("folder", own)
    list(found.load("day", "test").batches(8))
    used = found.load("day", "train").store.options.cache.used
    list(found.load("day", "train").batches(8))
    assert found.load("day", "train").store.options.cache.used == used


def test_grey_files_take_a_third_and_arrive_as_three_channels(open_benchmark, tmp_path, write):
    write.tree(tmp_path, ("day", "night"), ("cat", "dog"))
    for path in (tmp_path / "day").rglob("*.jpg"):
        Image.open(path).convert("L").save(path)
    images = open_benchmark("folder", tmp_path).load("day", "test")
    ((x, _),) = images.batches(8)
    assert x.shape == (8, 3, 224, 224)
    assert images.store.options.cache.used == 8 * 224 * 224


@pytest.mark.parametrize("workers", [0, 2])
def test_grey_and_colour_files_share_a_batch(own, workers):
    first = own / "day" / "cat" / "pic_000.jpg"
    Image.open(first).convert("L").save(first)
    images = get_benchmark("folder", own, Options(workers=workers)).load("day", "test")
    pixels = images.stacked(torch.arange(20))
    assert pixels.shape == (20, 3, 224, 224)
    assert torch.equal(pixels[0, 0], pixels[0, 2])
    alone = decode(own / "day" / "dog" / "pic_003.jpg").pixels
    assert torch.equal(pixels[13], resize(alone[None], 224)[0])


def test_a_file_that_vanishes_meanwhile_is_named(open_benchmark, own):
    images = open_benchmark("folder", own, cache_bytes=0).load("day", "test")
    os.unlink(own / "day" / "cat" / "pic_004.jpg")
    with pytest.raises(DataError, match="pic_004"):
        list(images.batches(8))


@pytest.mark.parametrize("options", [{"cache_bytes": -1}, {"workers": -1}])
def test_wrong_options_are_named(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))}: got -1"):
        Options(**options)
