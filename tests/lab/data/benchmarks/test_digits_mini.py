"""The benchmark that comes with the packages."""

import multiprocessing
import os
import platform
from importlib.metadata import version

import numpy as np
import pytest
import torch

from prorandconv.lab.data import get_benchmark
from prorandconv.lab.data.benchmarks import digits_mini
from prorandconv.lab.data.readers import Arrays, read_npz
from prorandconv.lab.data.splits import fingerprint

KNOWN = {
    (
        "x86_64",
        "numpy 2.4.6",
        "pillow 13.0.0",
        "mlxtend 0.25.0",
        "scikit-learn 1.9.1",
        "scikit-image 0.26.0",
        "matplotlib 3.11.2",
    ): "69bfaf9ecddf3c4d",
}
"""Hashes of all images and labels, by what they were made with."""

MADE_WITH = (platform.machine(), *(f"{name} {version(name)}" for name in digits_mini.MADE_FROM))


@pytest.fixture
def mini(mini_cache, monkeypatch):
    monkeypatch.setenv("PRORANDCONV_CACHE", str(mini_cache))
    return get_benchmark("digits-mini")


def content_hash(made):
    """A hash of all images and labels."""
    return fingerprint(
        part
        for name in sorted(made)
        for part in (name, made[name].images.tobytes(), made[name].labels.tobytes())
    )


def cached(folder):
    parts = {}
    for name in digits_mini.DOMAINS:
        for part in ("train", "test"):
            if part == "test" or name == "mnist":
                parts[f"{name}_{part}"] = read_npz(folder / f"{name}.npz", part)
    return parts


def test_its_domains_and_sizes(mini):
    assert mini.domains == ("mnist", "optdigits", "mnist_m_like", "fonts", "numbers")
    sizes = [len(mini.load("mnist", split)) for split in ("train", "val", "test")]
    assert sizes == [3000, 500, 1500]
    assert [len(mini.load(name, "test")) for name in mini.domains[1:]] == [1797, 1500, 2000, 2000]


def test_every_split_has_all_digits_evenly(mini):
    for split, count in (("train", 300), ("val", 50), ("test", 150)):
        assert torch.bincount(mini.load("mnist", split).labels).tolist() == [count] * 10


def test_no_training_image_is_tested_on(mini):
    training = mini.load("mnist", "train").store.pixels.flatten(1)
    test = mini.load("mnist", "test").store.pixels.flatten(1)
    seen = {bytes(image) for image in training.numpy()}
    assert not any(bytes(image) in seen for image in test.numpy())


def test_digits_are_blended_into_photos_of_the_test_split_only(mini):
    digits, blended = (mini.load(name, "test") for name in ("mnist", "mnist_m_like"))
    assert torch.equal(digits.labels, blended.labels)
    # a digit inverts its background: under ink, bright turns dark, and the rest stays a photo
    ink = digits.store.pixels[:, 0] > 250
    paper = digits.store.pixels[:, 0] == 0
    pixels = blended.store.pixels.float().mean(1)
    contrast = [
        abs(pixels[i][ink[i]].mean() - (255 - pixels[i][paper[i]].mean())) for i in range(300)
    ]
    assert torch.stack(contrast).nanmedian() < 20


@pytest.mark.skipif(MADE_WITH not in KNOWN, reason=f"no hash is known for {MADE_WITH}")
def test_known_versions_of_the_packages_give_the_known_images(mini):
    assert content_hash(cached(digits_mini.home())) == KNOWN[MADE_WITH]


def test_it_is_made_the_same_each_time(write, monkeypatch):
    monkeypatch.setattr(digits_mini, "_mnist", lambda: Arrays(*write.digits(60)))
    monkeypatch.setattr(digits_mini, "TRAINING_PART", 40)
    monkeypatch.setattr(digits_mini, "RENDERED", 20)
    first, second = (content_hash(digits_mini.make()) for _ in range(2))
    assert first == second
    monkeypatch.setattr(digits_mini, "SEED", 1)
    assert content_hash(digits_mini.make()) != first


def _load(folder, barrier, results):
    os.environ["PRORANDCONV_CACHE"] = folder
    barrier.wait()
    results.put(get_benchmark("digits-mini").load("numbers", "test").fingerprint)


def test_two_processes_may_make_it_at_once(tmp_path, write, monkeypatch):
    digits = Arrays(*write.digits(5000))
    monkeypatch.setattr(digits_mini, "_mnist", lambda: digits)
    monkeypatch.setattr(digits_mini, "RENDERED", 50)
    # forked, so that both have the smaller sizes
    context = multiprocessing.get_context("fork")
    barrier, results = context.Barrier(2), context.Queue()
    arguments = (str(tmp_path), barrier, results)
    processes = [context.Process(target=_load, args=arguments) for _ in range(2)]
    for process in processes:
        process.start()
    prints = [results.get(timeout=60) for _ in processes]
    for process in processes:
        process.join()
    assert prints[0] == prints[1]
    (home,) = tmp_path.iterdir()
    assert sorted(p.name for p in home.iterdir()) == sorted(
        f"{name}.npz" for name in digits_mini.DOMAINS
    )


def test_a_damaged_cache_is_made_anew(monkeypatch):
    images = np.zeros((3500, 32, 32), np.uint8)
    labels = np.arange(3500) % 10
    made = {
        f"{name}_{part}": Arrays(images, labels)
        for name in digits_mini.DOMAINS
        for part in ("train", "test")
    }
    monkeypatch.setattr(digits_mini, "make", lambda: made)
    benchmark = get_benchmark("digits-mini")
    benchmark.load("mnist", "train")
    path = digits_mini.home() / "mnist.npz"
    path.write_bytes(path.read_bytes()[:1000])
    assert len(benchmark.load("mnist", "train")) == 3000


def test_other_versions_of_the_packages_have_a_cache_of_their_own(monkeypatch):
    before = digits_mini.home()
    monkeypatch.setattr(digits_mini, "version", lambda name: "0")
    assert digits_mini.home() != before
