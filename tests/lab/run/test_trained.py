"""A trained network needs none of its data, and is what it was when it was trained."""

import json
import shutil

import numpy as np
import pytest
import safetensors
import safetensors.torch
import torch
from PIL import Image

from prorandconv import ProRandConvError
from prorandconv.lab import load_trained
from prorandconv.lab.errors import DataError, RunError
from prorandconv.lab.run.directory import BEST, CONFIG, METADATA, PREVIOUS, RESULT, STATE


@pytest.fixture
def done(own_data, trained):
    """The directory of a finished run on a user's folder."""
    return trained(own_data.config())


@pytest.fixture
def picture(tmp_path):
    pixels = np.random.default_rng(3).integers(0, 256, (40, 40, 3), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "picture.png")
    return tmp_path / "picture.png"


def load(folder, which="best", **options):
    return load_trained(folder, which, trust_code=True, **options)


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_predicting_needs_no_training_data(done, own_data, picture):
    (before,) = load(done).predict([picture])
    shutil.rmtree(own_data.root)
    (after,) = load(done).predict([picture])
    assert after == before
    assert before.label in ("cat", "dog")


def test_a_renamed_class_folder_does_not_rename_classes(done, own_data, picture):
    (before,) = load(done).predict([picture])
    own_data.rename_class("cat", "tiger")
    (after,) = load(done).predict([picture])
    assert before.label in ("cat", "dog")
    assert after == before


def test_evaluating_on_other_classes_raises_an_error(done, own_data):
    own_data.rename_class("cat", "tiger")
    with pytest.raises(DataError, match=r"the classes dog, tiger; .* trained with cat, dog"):
        load(done).evaluate()


def test_evaluating_on_a_folder_elsewhere(done, own_data, tmp_path):
    own_data.root.rename(tmp_path / "moved")
    found = load(done, data_root=tmp_path / "moved").evaluate()
    stored = json.loads((done / RESULT).read_text())["best_validation"]["targets"]
    assert {name: one.to_mapping() for name, one in found.items()} == stored


def test_classes_and_image_format_are_stored_with_result_and_weights(done):
    with safetensors.safe_open(done / BEST, "pt") as weights:
        about = json.loads(weights.metadata()[METADATA])
    assert about["classes"] == ["cat", "dog"]
    assert about["image_size"] == 224
    assert about["mean"] == [0.485, 0.456, 0.406]
    result = json.loads((done / RESULT).read_text())
    assert result["classes"] == about["classes"]
    assert {name: result["config"]["data"][name] for name in ("image_size", "mean", "std")} == {
        name: about[name] for name in ("image_size", "mean", "std")
    }


def test_code_that_a_run_names_is_imported_only_if_it_is_trusted(done):
    with pytest.raises(ProRandConvError, match=r"network: got 'own_lab:plain', .*trust_code=True"):
        load_trained(done)


@pytest.mark.parametrize("finished", [True, False])
def test_a_config_that_was_edited_by_hand_is_not_believed(done, finished):
    config = json.loads((done / CONFIG).read_text())
    (done / CONFIG).write_text(json.dumps(config | {"seed": 77}))
    if not finished:
        (done / RESULT).unlink()
    message = "with seed 0, not 77" if finished else "describes another run"
    with pytest.raises(RunError, match=message):
        load(done)


def test_a_directory_may_be_moved_and_renamed(done, tmp_path, picture):
    (before,) = load(done).predict([picture])
    done.rename(tmp_path / "my-model")
    (after,) = load(tmp_path / "my-model").predict([picture])
    assert after == before


def test_loading_moves_no_file(done):
    for name in (STATE, PREVIOUS):
        (done / name).write_bytes(b"damaged")
    before = files(done)
    with pytest.raises(RunError, match=r"state\.pt is damaged .*no checkpoint with these weights"):
        load(done, "last")
    assert files(done) == before


def test_selected_weights_that_are_missing_are_taken_from_the_checkpoint(done):
    expected = load(done).network.state_dict()
    (done / BEST).unlink()
    found = load(done).network.state_dict()
    assert all(torch.equal(found[name], value) for name, value in expected.items())


def test_weights_that_are_nowhere_are_told_with_what_helps(done):
    for name in (BEST, STATE, PREVIOUS):
        (done / name).unlink(missing_ok=True)
    with pytest.raises(RunError, match=r"best\.safetensors is missing, .*remove result\.json"):
        load(done)


def test_damaged_weights_are_named(done):
    (done / BEST).write_bytes((done / BEST).read_bytes()[:100])
    with pytest.raises(RunError, match=r"best\.safetensors: is damaged .*remove it"):
        load(done)


def test_weights_that_do_not_fit_the_network_are_named(done):
    safetensors.torch.save_file({"2.weight": torch.zeros(2, 3)}, done / BEST)
    with pytest.raises(ProRandConvError, match=r"2\.bias is missing; 2\.weight has shape \(2, 3\)"):
        load(done)


def test_a_folder_that_is_no_run_is_named(tmp_path):
    with pytest.raises(ProRandConvError, match=r"a run.s directory, with config\.json in it"):
        load_trained(tmp_path)
