"""A run that is done is returned only if it fits the data that is there."""

import importlib
import json
import shutil
import sys

import pytest

from prorandconv.lab.errors import DataError, RunError
from prorandconv.lab.run.config import Execution, RunConfig
from prorandconv.lab.run.data import finished
from prorandconv.lab.run.directory import BEST, CONFIG, PREVIOUS, RESULT, STATE
from prorandconv.lab.run.trained import load_trained
from prorandconv.lab.run.training import train


@pytest.fixture
def runs(tmp_path):
    return tmp_path / "runs"


@pytest.fixture
def done(own_data, trained):
    """A finished run: config, directory and result."""
    config = own_data.config()
    folder = trained(config)
    return config, folder, json.loads((folder / RESULT).read_text())


def edit(path, **changes):
    stored = json.loads(path.read_text())
    path.write_text(json.dumps(stored | changes))


def test_a_run_that_is_not_done_has_no_result(own_data, runs):
    assert finished(own_data.config(), runs) is None


def test_a_run_that_is_done_is_returned_without_a_word(done, runs):
    config, _, result = done
    found = finished(config, runs)
    assert found.result == result
    assert found.messages == ()


def test_two_folders_of_data_are_two_runs(done, own_data, runs, write, tmp_path):
    write.tree(tmp_path / "B", ("one", "two"), ("yak", "zebra"), count=6, size=32, suffix=".png")
    other = own_data.config().with_changes(data_root=tmp_path / "B")
    result = train(other, Execution(runs=runs, quiet=True))
    assert result["classes"] == ["yak", "zebra"]
    assert other.directory(runs) != done[1]


@pytest.mark.parametrize(
    ("domain", "message"), [("one", "training images of one"), ("two", "test images of two")]
)
def test_the_result_of_other_images_raises_an_error_and_the_domain_named(
    done, own_data, runs, domain, message
):
    config, _, _ = done
    own_data.repaint(domain)
    with pytest.raises(RunError, match=rf"other {message} than .*--runs"):
        train(config, Execution(runs=runs, quiet=True))


def test_published_data_is_compared_too(small_run, trained, runs):
    config = small_run()
    result = trained(config) / RESULT
    edit(result, data=json.loads(result.read_text())["data"] | {"fonts": "other"})
    with pytest.raises(RunError, match="other test images of fonts"):
        train(config, Execution(runs=runs, quiet=True))


def test_without_its_data_the_stored_result_is_returned_and_told(done, own_data, runs, capsys):
    config, folder, result = done
    shutil.rmtree(own_data.root)
    assert train(config, Execution(runs=runs)) == result
    message = capsys.readouterr().err
    assert f"{folder}: the stored result could not be compared" in message
    assert "missing or unreadable: all of it" in message


def test_what_is_missing_of_the_data_is_named(done, own_data, runs):
    config, _, result = done
    (own_data.root / "two" / "cat" / "pic_000.png").write_bytes(b"broken")
    found = finished(config, runs)
    assert found.result == result
    assert found.messages[0].endswith("missing or unreadable: two")


def test_a_config_that_was_made_for_other_data_is_not_trained(own_data, runs):
    config = own_data.config()
    own_data.repaint("two")
    with pytest.raises(DataError, match="holds other images than this config was made for"):
        train(config, Execution(runs=runs, quiet=True))
    own_data.rename_class("cat", "tiger")
    with pytest.raises(DataError, match="holds other classes and images"):
        train(config, Execution(runs=runs, quiet=True))


@pytest.mark.parametrize("file", [RESULT, CONFIG])
def test_files_of_another_run_raise_an_error(done, runs, file):
    """As a default of a field that was changed would give: the hash leaves defaults out."""
    config, folder, result = done
    other = result["config"] | {"seed": 77}
    if file == RESULT:
        edit(folder / RESULT, config=other)
    else:
        (folder / RESULT).unlink()
        edit(folder / CONFIG, **other)
    with pytest.raises(RunError, match=f"{file} is that of a run with seed 77, not 0"):
        train(config, Execution(runs=runs, quiet=True))


@pytest.mark.parametrize("content", ["{}", "[]", "3", '{"config": {}', "", "\xff"])
def test_a_file_that_is_no_result_is_named(done, runs, content):
    config, folder, _ = done
    (folder / RESULT).write_bytes(content.encode("latin-1"))
    with pytest.raises(RunError, match=r"result\.json: is damaged .*; remove it"):
        finished(config, runs)


def test_selected_weights_that_are_missing_are_restored_from_the_checkpoint(done, runs):
    config, folder, _ = done
    before = (folder / BEST).read_bytes()
    (folder / BEST).unlink()
    assert "restored from the checkpoint" in finished(config, runs).messages[0]
    assert (folder / BEST).read_bytes() == before


def test_without_a_checkpoint_the_message_says_what_helps(done, runs):
    config, folder, result = done
    for name in (BEST, STATE, PREVIOUS):
        (folder / name).unlink(missing_ok=True)
    found = finished(config, runs)
    assert found.result == result
    assert "remove result.json" in found.messages[0]


@pytest.fixture
def written(own_data, tmp_path, monkeypatch):
    """Writes a module of the user's, imports it anew, and makes the config of a run with it."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def make(loss="weight", network="Linear", **changes):
        source = SOURCE.format(loss=loss, network=network)
        (tmp_path / "users_module.py").write_text(source)
        sys.modules.pop("users_module", None)
        importlib.invalidate_caches()
        return own_data.config(image_size=16, **({"network": "users_module:net"} | changes))

    yield make
    sys.modules.pop("users_module", None)


SOURCE = """
import torch.nn.functional as F
from torch import nn

def loss(network, images, labels, generator, *, weight: float = 1.0):
    return {loss} * F.cross_entropy(network(images), labels)

def net(classes, image_size):
    return nn.Sequential(nn.Flatten(), nn.{network}(3 * image_size**2, classes))
"""


def test_the_source_of_a_users_network_is_part_of_the_runs_name(written, own_data):
    first = written()
    assert first.hash == written().hash
    assert written(loss="2 * weight").hash != first.hash
    assert own_data.config(network="lenet", image_size=16).code is None


def test_an_edited_network_is_neither_resumed_nor_loaded_nor_its_old_result_returned(written, runs):
    config = written()
    train(config, Execution(runs=runs, quiet=True))
    folder = config.directory(runs)
    other = written(loss="3.0 * weight")
    assert finished(other, runs) is None
    with pytest.raises(RunError, match="users_module:net: the source has changed"):
        load_trained(folder, trust_code=True)
    (folder / RESULT).unlink()
    with pytest.raises(RunError, match="the source has changed since this config was made"):
        train(RunConfig.read(folder / CONFIG, trust_code=True), Execution(runs=runs, quiet=True))


def test_code_that_was_edited_after_its_import_is_the_code_that_runs(written, tmp_path):
    config = written()
    (tmp_path / "users_module.py").write_text("changed = True")
    config.check_same_code()
    assert config.with_changes().hash == config.hash


def test_a_finished_run_drops_its_checkpoint_unless_it_is_to_be_kept(small_run, tmp_path):
    config = small_run("erm", epochs=1)
    for keep in (False, True):
        runs = tmp_path / str(keep)
        train(config, Execution(runs=runs, quiet=True, keep_checkpoint=keep))
        folder = config.directory(runs)
        assert [(folder / name).exists() for name in (STATE, RESULT, BEST)] == [keep, True, True]
