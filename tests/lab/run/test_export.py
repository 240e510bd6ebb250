"""Exported networks, loaded by nothing but the library that their format belongs to."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

from prorandconv import ProRandConvError
from prorandconv.lab.errors import RunError
from prorandconv.lab.run.config import Execution
from prorandconv.lab.run.export import export
from prorandconv.lab.run.trained import load_trained
from prorandconv.lab.run.training import train


@pytest.fixture
def trained(small_run, tmp_path):
    config = small_run("erm", epochs=1, train_images=64, test_images=40)
    train(config, Execution(runs=tmp_path, quiet=True))
    return load_trained(config.directory(tmp_path), accelerator="cpu", trust_code=True)


@pytest.fixture
def images(tmp_path):
    """Five images of digits-mini's size in [0, 1], as a file too."""
    pixels = torch.rand(5, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    np.save(tmp_path / "images.npy", pixels.numpy())
    return pixels


def elsewhere(script, *words):
    """Run a script in a process that must not load this package; returns what it prints."""
    check = "\nassert not [name for name in sys.modules if name.startswith('prorandconv')]"
    process = subprocess.run(
        [sys.executable, "-c", f"import sys, json\n{script}{check}", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def check(notes, trained):
    form, stored = trained.config.format, json.loads(notes["prorandconv"])
    assert stored["classes"] == list(trained.classes)
    assert (stored["image_size"], stored["network"]) == (32, "own_lab:tiny")
    assert (stored["mean"], stored["std"]) == (list(form.mean), list(form.std))
    return stored


def logits(trained, pixels):
    form = trained.config.format
    mean, std = (torch.tensor(value).view(1, 3, 1, 1) for value in (form.mean, form.std))
    with torch.inference_mode():
        return trained.network((pixels - mean) / std).numpy()


def test_weights_by_safetensors_alone(trained, tmp_path):
    export(trained, tmp_path / "model.safetensors", "safetensors")
    script = """
from safetensors import safe_open
with safe_open(sys.argv[1], framework="numpy") as stored:
    weights = {name: stored.get_tensor(name).tolist() for name in stored.keys()}
    print(json.dumps({"notes": stored.metadata(), "weights": weights}))
assert "torch" not in sys.modules"""
    found = elsewhere(script, tmp_path / "model.safetensors")
    check(found["notes"], trained)
    own = trained.network.state_dict()
    assert {name: own[name].tolist() for name in own} == found["weights"]


def test_a_graph_by_torch_alone(trained, images, tmp_path):
    export(trained, tmp_path / "model.pt", "torchscript", with_normalisation=True)
    script = """
import numpy, torch
extra = {"prorandconv": ""}
network = torch.jit.load(sys.argv[1], _extra_files=extra)
found = network(torch.from_numpy(numpy.load(sys.argv[2])))
notes = {name: text.decode() for name, text in extra.items()}
print(json.dumps({"notes": notes, "logits": found.tolist()}))"""
    found = elsewhere(script, tmp_path / "model.pt", tmp_path / "images.npy")
    check(found["notes"], trained)
    np.testing.assert_allclose(found["logits"], logits(trained, images), rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_a_graph_by_onnxruntime_alone(trained, images, tmp_path):
    pytest.importorskip("onnxscript")
    export(trained, tmp_path / "model.onnx", "onnx")
    script = """
import numpy, onnxruntime
session = onnxruntime.InferenceSession(sys.argv[1])
notes = session.get_modelmeta().custom_metadata_map
stored = json.loads(notes["prorandconv"])
images = numpy.load(sys.argv[2])
mean, std = (numpy.float32(stored[name]).reshape(1, 3, 1, 1) for name in ("mean", "std"))
(found,) = session.run(["logits"], {"images": (images - mean) / std})
print(json.dumps({"notes": notes, "logits": found.tolist()}))
assert "torch" not in sys.modules"""
    found = elsewhere(script, tmp_path / "model.onnx", tmp_path / "images.npy")
    assert "then (pixels - mean) / std" in check(found["notes"], trained)["input"]
    np.testing.assert_allclose(found["logits"], logits(trained, images), rtol=1e-4, atol=1e-5)
    assert [path.name for path in tmp_path.glob("*onnx*")] == ["model.onnx"]


@pytest.mark.filterwarnings("ignore:.*is deprecated:FutureWarning")
def test_without_normalisation_a_graph_takes_normalised_images(trained, images, tmp_path):
    export(trained, tmp_path / "model.pt", "torchscript")
    with torch.inference_mode():
        found = torch.jit.load(tmp_path / "model.pt")(images)
        own = trained.network(images)
    torch.testing.assert_close(found, own)


def test_weights_cannot_normalise(trained, tmp_path):
    with pytest.raises(ProRandConvError, match="with_normalisation: got True, expected False"):
        export(trained, tmp_path / "x", "safetensors", with_normalisation=True)


class ByBatch(nn.Module):
    """Depends on the size of the batch in Python, which a trace cannot see."""

    def forward(self, x):
        return x.mean((2, 3)) * x.shape[0] if x.shape[0] > 2 else x.mean((2, 3))


def test_a_graph_that_differs_from_the_network_raises_an_error_and_not_written(trained, tmp_path):
    object.__setattr__(trained, "network", ByBatch())
    with pytest.raises(RunError, match="differs from the network"):
        export(trained, tmp_path / "model.pt", "torchscript")
    assert not (tmp_path / "model.pt").exists()


class Untraceable(nn.Module):
    def forward(self, x):
        raise RuntimeError("no way\nat all")


def test_a_network_that_cannot_be_traced_is_named(trained, tmp_path):
    object.__setattr__(trained, "network", Untraceable())
    with pytest.raises(RunError, match=r"Untraceable cannot .* \(RuntimeError: no way\)"):
        export(trained, tmp_path / "model.pt", "torchscript")
