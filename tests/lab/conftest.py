"""Small files in the true formats of the data sets, and the real ones where they are."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.io import savemat

TARGETS = ("optdigits", "fonts")

REAL_DATA = os.environ.get("PRORANDCONV_DATA")


@pytest.fixture(autouse=True)
def own_folders(tmp_path_factory, monkeypatch):
    """No test reads or writes the user's cache or data, or depends on the terminal's width."""
    monkeypatch.setenv("PRORANDCONV_CACHE", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.delenv("PRORANDCONV_DATA", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def run(capsys):
    """Run the command line; returns exit code, output and errors."""

    from prorandconv.lab.cli.main import main

    def call(*arguments):
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return ended.value.code, printed.out, printed.err

    return call


@pytest.fixture
def real_root():
    root = Path(REAL_DATA) if REAL_DATA else None
    if root is None or not (root / "digits").is_dir():
        pytest.skip("the real data sets are absent: set PRORANDCONV_DATA to a folder with them")
    return root


@pytest.fixture(scope="session")
def mini_cache(tmp_path_factory):
    """A cache in which digits-mini has been made, once for all tests of a process."""
    from prorandconv.lab.data.benchmarks import digits_mini

    folder = tmp_path_factory.mktemp("mini")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PRORANDCONV_CACHE", str(folder))
        digits_mini.prepare()
    return folder


def _digits(count, shape=(28, 28), seed=0):
    random = np.random.default_rng(seed)
    return random.integers(0, 256, (count, *shape), dtype=np.uint8), np.arange(count) % 10


class Writer:
    """Writes small data sets as they are published; returns what a reader should find."""

    digits = staticmethod(_digits)

    def idx(self, folder, train=24, test=12):
        raw = folder / "MNIST" / "raw"
        raw.mkdir(parents=True)
        written = {}
        for part, prefix, count in (("train", "train", train), ("test", "t10k", test)):
            images, labels = _digits(count, seed=count)
            head = (0x0803).to_bytes(4, "big")
            head += b"".join(n.to_bytes(4, "big") for n in images.shape)
            (raw / f"{prefix}-images-idx3-ubyte").write_bytes(head + images.tobytes())
            head = (0x0801).to_bytes(4, "big") + count.to_bytes(4, "big")
            (raw / f"{prefix}-labels-idx1-ubyte").write_bytes(
                head + labels.astype(np.uint8).tobytes()
            )
            written[part] = images, labels
        return written

    def mat(self, path, count=12, zero=10):
        path.parent.mkdir(parents=True, exist_ok=True)
        images, labels = _digits(count, (32, 32, 3))
        stored = np.where(labels == 0, zero, labels).astype(np.uint8)[:, None]
        savemat(path, {"X": images.transpose(1, 2, 3, 0), "y": stored})
        return images, labels

    def usps_28(self, path, train=12, test=8, scale=1 / 255):
        """Two pairs of images and labels; returns them as (images, labels) by part."""
        path.parent.mkdir(parents=True, exist_ok=True)
        parts = {"train": _digits(train, (28, 28)), "test": _digits(test, (28, 28))}
        pairs = [(x[:, None] * scale, y) for x, y in parts.values()]
        if path.suffix == ".mat":
            dataset = np.empty((2, 2), object)
            for row, (images, labels) in enumerate(pairs):
                dataset[row, 0], dataset[row, 1] = images, labels[:, None]
            savemat(path, {"dataset": dataset})
        else:  # compressed, though its name does not say so
            path.write_bytes(gzip.compress(pickle.dumps(pairs, protocol=2)))
        return parts

    def usps(self, path, count=12):
        path.parent.mkdir(parents=True, exist_ok=True)
        images, labels = _digits(count, (16, 16))
        with bz2.open(path, "wt") as file:
            for image, label in zip(images, labels, strict=True):
                values = image.reshape(-1) / 255 * 2 - 1
                pixels = " ".join(f"{i}:{value:.6f}" for i, value in enumerate(values, 1))
                file.write(f"{label + 1} {pixels}\n")
        return images, labels

    def png_list(self, folder, part="test", count=12):
        home = folder / "mnist_m" / f"mnist_m_{part}"
        home.mkdir(parents=True)
        images, labels = _digits(count, (32, 32, 3))
        lines = []
        for number, (image, label) in enumerate(zip(images, labels, strict=True)):
            Image.fromarray(image).save(home / f"{number:08}.png")
            lines.append(f"{number:08}.png {label}")
        # The published list is not in order of names.
        (home.parent / f"mnist_m_{part}_labels.txt").write_text("\n".join(lines[::-1]) + "\n")
        return images[::-1], labels[::-1]

    def pickle(self, path, content, protocol=2):
        path.parent.mkdir(parents=True, exist_ok=True)
        raw = pickle.dumps(content, protocol=protocol)
        path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)

    def npz(self, path, **arrays):
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, **arrays)

    def tree(self, root, domains, classes, count=4, size=40, suffix=".jpg"):
        """``root/domain/class/image``; each class has a colour of its own."""
        random = np.random.default_rng(0)
        for domain in domains:
            for label, name in enumerate(classes):
                folder = root / domain / name
                folder.mkdir(parents=True)
                for number in range(count):
                    pixels = np.full((size, size, 3), 20 + 20 * label % 220, np.uint8)
                    pixels[..., 0] = random.integers(0, 256)
                    Image.fromarray(pixels).save(folder / f"pic_{number:03}{suffix}")


@pytest.fixture(scope="session")
def write():
    return Writer()


@pytest.fixture
def own_modules(monkeypatch):
    """The tests' own networks and losses to import, and one thread to run them."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "own"))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def loss_of():
    """Computes the first loss of a method's learner on one mini-batch."""
    from prorandconv.lab.data.benchmarks.digits import FORMAT
    from prorandconv.lab.data.samples import Batch
    from prorandconv.lab.methods.learner import RunInfo

    def compute(method, network, images, labels, generator=0, format=FORMAT):
        if isinstance(generator, int):
            generator = torch.Generator().manual_seed(generator)
        info = RunInfo(format, 10, 1, 1, 1, None, lambda tensor: tensor)
        batch = Batch(images, labels, torch.zeros(len(images), dtype=torch.int64))
        losses = next(method.learner(network, info).step(batch, generator))
        return next(iter(losses.values()))

    return compute


@pytest.fixture
def mini(mini_cache, own_modules, monkeypatch):
    """digits-mini in a cache of the tests, and the tests' own networks and losses to import."""
    monkeypatch.setenv("PRORANDCONV_CACHE", str(mini_cache))
    return mini_cache


@pytest.fixture(scope="session")
def shared_runs(tmp_path_factory):
    """A folder of runs that each are trained once a session."""
    return tmp_path_factory.mktemp("shared")


@pytest.fixture
def trained(shared_runs, tmp_path):
    """Trains a config once a session; returns a copy of its directory for this test."""
    from prorandconv.lab.run.config import Execution
    from prorandconv.lab.run.directory import RunDirectory
    from prorandconv.lab.run.training import train

    def copy_of(config, runs=None):
        home = config.directory(shared_runs)
        if not (home / "result.json").exists():
            execution = Execution(shared_runs, "cpu", quiet=True, keep_checkpoint=True)
            train(config, execution)
        folder = config.directory(tmp_path / "runs" if runs is None else runs)
        shutil.copytree(home, folder)
        RunDirectory(folder).write_config(config)  # whose data may be elsewhere in this test
        return folder

    return copy_of


@pytest.fixture
def small_segmentation(own_modules):
    """Makes the config of a run on drawn shapes that takes a second."""
    from prorandconv.lab.run.config import RunConfig

    def make(method="ours-move", **changes):
        small = {
            "network": "own_lab:segmenting",
            "epochs": 3,
            "image_size": 32,
            "train_images": 60,
            "test_images": 6,
            "target_every": 2,
        }
        return RunConfig.paper("shapes-mini", "plain", method, **(small | changes))

    return make


@pytest.fixture
def small_run(mini):
    """Makes the config of a run that takes a second."""
    from prorandconv.lab.run.config import RunConfig

    def make(method="pro-randconv", **changes):
        small = {
            "network": "own_lab:tiny",
            "epochs": 3,
            "batch_size": 32,
            "learning_rate": 0.05,
            "train_images": 320,
            "test_images": 100,
            "target_every": 2,
        }
        return RunConfig.paper("digits-mini", "mnist", method, **(small | changes))

    return make


def confusion(right):
    """Ten images of each class, of which so many are right; the others are taken for the next."""
    from prorandconv.lab.tasks import Accuracy

    rows = [[0] * 10 for _ in range(10)]
    for label in range(10):
        rows[label][label] = right
        rows[label][(label + 1) % 10] = 10 - right
    return Accuracy(tuple(map(tuple, rows)))


@pytest.fixture(scope="session")
def write_run():
    """Writes a run's directory; targets are right in (3 + seed, 4 + seed) of ten images."""

    from prorandconv.lab.run.config import RunConfig

    def write(
        runs, method="erm", seed=0, *, done=None, benchmark="digits-mini", data="1f", **changes
    ):
        config = RunConfig.paper(benchmark, "mnist", method, **({"epochs": 4} | changes), seed=seed)
        home = config.directory(runs)
        home.mkdir(parents=True)
        (home / "config.json").write_text(json.dumps(config.to_mapping()))
        gain = 3 if method == "pro-randconv" else 0
        found = {
            name: confusion(3 + place + gain + seed).to_mapping()
            for place, name in enumerate(TARGETS)
        }
        lines = []
        for epoch in range(1, (done or config.epochs) + 1):
            line = {"epoch": epoch, "train_loss": 1.0, "val_accuracy": 80.0 + epoch + seed}
            if epoch % 2 == 0:
                line["targets"] = {name: found[name]["accuracy"] - 4 + epoch for name in found}
            lines.append(json.dumps(line) + "\n")
        (home / "metrics.jsonl").write_text("".join(lines))
        time = {"epoch": 1, "training_s": 50.0, "evaluation_s": 10.0}
        (home / "timing.jsonl").write_text(json.dumps(time) + "\n")
        environment = {
            "command": ["prorandconv", "train", "--method", method],
            "versions": {"torch": "2.9.9"},
            "processor": "an old one",
        }
        (home / "environment.json").write_text(json.dumps(environment))
        if done is None:
            figures = {"epoch": 4, "val_accuracy": 84.0 + seed, "targets": found}
            result = {
                "config": config.to_mapping(),
                "hash": home.name,
                "data": dict.fromkeys(("train", "val", *TARGETS), data * 8),
                "classes": list("0123456789"),
                "averaged": list(TARGETS),
                "absent": ["numbers"],
                "best_validation": figures,
                "last": figures,
            }
            (home / "result.json").write_text(json.dumps(result))
        return home

    return write
