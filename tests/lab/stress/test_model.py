"""Models of every kind are loaded, and bring what they know about their images."""

import pytest
import torch
from torch import nn

from prorandconv import ProRandConvError
from prorandconv.lab.run.config import Execution
from prorandconv.lab.run.export import export
from prorandconv.lab.run.trained import load_trained
from prorandconv.lab.run.training import train
from prorandconv.lab.stress.model import InputSpec, load_model

GIVEN = InputSpec(16, (0.4, 0.5, 0.6), (0.25,), ("a", "b", "c"))
X = torch.rand(5, 3, 16, 16)


@pytest.fixture
def network(own_modules):
    from own_lab import trained

    return trained().eval()


@pytest.fixture
def run_directory(small_run, tmp_path):
    config = small_run("erm", network="lenet", epochs=1, train_images=32, test_images=10)
    train(config, Execution(runs=tmp_path, quiet=True))
    return config.directory(tmp_path)


def test_a_run_brings_everything(run_directory):
    model = load_model(str(run_directory), InputSpec(), accelerator="cpu")
    trained = load_trained(run_directory, accelerator="cpu")
    assert (model.format, model.classes) == (trained.config.format, trained.classes)
    x = torch.rand(2, 3, 32, 32)
    assert torch.equal(model.network(x), trained.network(x))
    assert model.outputs() == 10
    with pytest.raises(ProRandConvError, match="--image-size: got 16, expected nothing: a run"):
        load_model(str(run_directory), GIVEN)


def test_a_run_that_segments_is_refused(small_segmentation, tmp_path):
    config = small_segmentation(epochs=1, train_images=8)
    train(config, Execution(runs=tmp_path, quiet=True))
    with pytest.raises(ProRandConvError, match="a classifier; this run is one of segmentation"):
        load_model(str(config.directory(tmp_path)), InputSpec(), trust_code=True)


@pytest.mark.parametrize("normalises", [False, True])
def test_an_exported_run_brings_what_was_noted(run_directory, tmp_path, normalises):
    trained = load_trained(run_directory, accelerator="cpu")
    path = tmp_path / "model.pt"
    export(trained, path, "torchscript", with_normalisation=normalises)
    model = load_model(str(path), InputSpec(), accelerator="cpu")
    form = trained.config.format
    mean, std = ((0.0,) * 3, (1.0,) * 3) if normalises else (form.mean, form.std)
    assert model.classes == trained.classes
    assert (model.format.image_size, model.format.mean, model.format.std) == (32, mean, std)


def test_torchscript_of_others(network, tmp_path):
    path = tmp_path / "model.pt"
    torch.jit.save(torch.jit.script(network), path)
    model = load_model(str(path), GIVEN, accelerator="cpu")
    assert torch.equal(model.network(X), network(X))
    assert model.classes == ("a", "b", "c")
    assert (model.format.mean, model.format.std) == ((0.4, 0.5, 0.6), (0.25, 0.25, 0.25))


@pytest.mark.parametrize("size", [2, None])
def test_a_program_of_torch_export_takes_batches_of_any_size(network, tmp_path, size):
    path = tmp_path / "model.pt2"
    shapes = None if size else ({0: torch.export.Dim("batch")},)
    torch.export.save(torch.export.export(network, (X[:2],), dynamic_shapes=shapes), path)
    model = load_model(str(path), InputSpec(mean=(0.5,), std=(0.5,)))
    assert model.format.image_size == 16
    torch.testing.assert_close(model.network(X), network(X))
    assert model.outputs() == 3


def test_a_function_is_imported_and_called(network):
    model = load_model("own_lab:trained", GIVEN, accelerator="cpu")
    assert torch.equal(model.network(X), network(X))


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("nowhere", GIVEN, "MODEL: got 'nowhere', expected a run's directory, a TorchScript file"),
        ("own_lab:nothing", GIVEN, "MODEL: got 'own_lab:nothing', expected package.module"),
        ("own_lab:tiny", GIVEN, "a function without arguments that returns a network"),
        ("builtins:dict", GIVEN, "a function that returns a module, not dict"),
        ("own_lab:trained", InputSpec(), "--image-size: got 'nothing'"),
        (
            "own_lab:trained",
            InputSpec(16),
            "--mean: got 'nothing', expected a value, as in the model's",
        ),
        ("own_lab:trained", InputSpec(16, (0.5,)), "--std: got 'nothing'"),
        ("own_lab:trained", InputSpec(16, (0.5,), (0.0,)), "--std: got"),
        (
            "own_lab:trained",
            InputSpec(16, (0.5, 0.5), (0.5,)),
            r"--mean: got \(0.5, 0.5\), expected one",
        ),
        ("own_lab:trained", InputSpec(0, (0.5,), (0.5,)), "--image-size: got 0"),
    ],
)
def test_bad_models_are_refused_by_name(own_modules, name, given, message):
    with pytest.raises(ProRandConvError, match=message):
        load_model(name, given, accelerator="cpu")


@pytest.mark.parametrize("name", ["weights.pt", "torn.pt2"])
def test_a_file_that_is_no_model_is_refused_by_name(tmp_path, name):
    torch.save({"weight": torch.zeros(1)}, tmp_path / name)
    kind = "TorchScript" if name == "weights.pt" else "torch.export"
    with pytest.raises(
        ProRandConvError, match=rf"MODEL: got '.*{name}', expected an intact.*{kind}"
    ):
        load_model(str(tmp_path / name), GIVEN)


def test_what_torch_says_of_a_file_is_cut_to_a_sentence(tmp_path):
    (tmp_path / "text.pt").write_text("no archive")
    with pytest.raises(ProRandConvError, match=r"function \([^.]+\)$"):
        load_model(str(tmp_path / "text.pt"), GIVEN)


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(ProRandConvError, match=r"a run's directory, with config\.json in it"):
        load_model(str(tmp_path), InputSpec())


def test_a_network_for_other_images_is_refused_when_it_is_first_asked(own_modules):
    model = load_model("own_lab:trained", InputSpec(20, (0.5,), (0.5,)), accelerator="cpu")
    with pytest.raises(ProRandConvError, match=r"MODEL: got 'own_lab:trained', expected a network"):
        model.outputs()


def test_an_output_that_is_no_logits_is_refused(tmp_path):
    path = tmp_path / "model.pt"
    torch.jit.save(torch.jit.script(nn.Identity()), path)
    model = load_model(str(path), GIVEN, accelerator="cpu")
    with pytest.raises(ProRandConvError, match=r"returns logits \(N, classes\), not \(1, 3, 16"):
        model.outputs()
