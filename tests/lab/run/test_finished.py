"""A run that is done is returned only if it fits the data that is there."""

import json
import shutil

import pytest

from prorandconv.lab.errors import DataError, RunError
from prorandconv.lab.run.config import Execution
from prorandconv.lab.run.directory import BEST, CONFIG, PREVIOUS, RESULT, STATE
from prorandconv.lab.run.finished import finished
from prorandconv.lab.run.training import train


@pytest.fixture
def runs(tmp_path):
    return tmp_path / "runs"


@pytest.fixture
def done(own_data, runs):
    """A finished run: config, directory and result."""
    config = own_data.config()
    result = train(config, Execution(runs=runs, quiet=True))
    return config, config.directory(runs), result


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
    other = own_data.config().renewed(data_root=tmp_path / "B")
    result = train(other, Execution(runs=runs, quiet=True))
    assert result["classes"] == ["yak", "zebra"]
    assert other.directory(runs) != done[1]


@pytest.mark.parametrize(
    ("domain", "message"), [("one", "training images of one"), ("two", "test images of two")]
)
def test_the_result_of_other_images_is_refused_and_the_domain_named(
    done, own_data, runs, domain, message
):
    config, _, _ = done
    own_data.repaint(domain)
    with pytest.raises(RunError, match=rf"other {message} than .*--runs"):
        train(config, Execution(runs=runs, quiet=True))


def test_published_data_is_compared_too(small_run, runs):
    config = small_run("erm", epochs=1)
    train(config, Execution(runs=runs, quiet=True))
    result = config.directory(runs) / RESULT
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
def test_files_of_another_run_are_refused(done, runs, file):
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
