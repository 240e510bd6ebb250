import dataclasses
import json
import pickle
import shutil
from pathlib import Path

import pytest

from prorandconv import ProRandConvError, transforms
from prorandconv.lab.methods import method_class
from prorandconv.lab.paper import changed_options
from prorandconv.lab.run import config as config_module
from prorandconv.lab.run.config import FORMAT, RunConfig
from prorandconv.lab.run.data import learner_of, network_of

NAMES = [
    ("digits", "erm", {}, "6d9f3915c485"),
    ("digits", "pro-randconv", {"max_repeats": 5}, "bd157558a7dd"),
    ("pacs", "randconv", {}, "cd1c5c4bbb7f"),
    ("pacs", "pro-randconv", {"output": "tanh"}, "d558ac756e4f"),  # when tanh was the default
    ("pacs", "pro-randconv", {"output": "pixels"}, "887edce81886"),
]


@pytest.fixture
def own_folder(write, tmp_path):
    """Makes a user's folder of two domains, and a config of a run on it."""

    def make(name):
        write.tree(tmp_path / name, ("one", "two"), ("cat", "dog"))
        return RunConfig.paper("folder", "one", "erm", data_root=tmp_path / name)

    return make


def test_the_papers_run_on_digits_needs_no_options():
    config = RunConfig.paper("digits")
    assert config.source == ("mnist",)
    assert (config.network, config.epochs, config.batch_size) == ("lenet", 500, 64)
    assert (config.learning_rate, config.momentum, config.schedule) == (0.01, 0.9, "cosine")
    assert config.method == "pro-randconv"
    assert not config.pretrained


def test_the_papers_runs_on_pacs_differ_between_one_and_several_sources():
    single = RunConfig.paper("pacs", "photo")
    multi = RunConfig.paper("pacs", ["photo", "art", "cartoon"])
    assert (single.epochs, multi.epochs) == (50, 150)
    assert single.pretrained
    assert single.weight_decay == 5e-4


def test_sources_are_a_set():
    one = RunConfig.paper("pacs", ["photo", "art_painting"])
    other = RunConfig.paper("pacs", ["art", "photo"])
    assert one == other
    assert one.source == ("art", "photo")


def test_a_config_survives_being_stored(tmp_path):
    options = {"smoothing": None, "offsets": [0.1, 0.3], "selection": 0.25, "contrast": ["tanh"]}
    config = RunConfig.paper("digits", options=options, data_root=tmp_path, epochs=3)
    (tmp_path / "config.json").write_text(json.dumps(config.to_mapping()))
    assert RunConfig.read(tmp_path / "config.json") == config
    assert config.options.offsets == (0.1, 0.3)


def test_a_complete_config_is_read_where_none_of_its_data_is(own_folder, tmp_path):
    config = own_folder("data")
    (tmp_path / "config.json").write_text(json.dumps(config.to_mapping()))
    shutil.rmtree(tmp_path / "data")
    read = RunConfig.read(tmp_path / "config.json")
    assert read == config
    assert read.hash == config.hash
    assert read.identity.classes == ("cat", "dog")


def test_a_config_of_before_formats_had_numbers_is_completed():
    config = RunConfig.paper("digits", method="erm", epochs=3)
    stored = config.to_mapping()
    del stored["format"], stored["data"]
    assert RunConfig.from_mapping(stored) == config


def test_a_config_of_a_later_format_raises_an_error():
    stored = RunConfig.paper("digits").to_mapping() | {"format": FORMAT + 1}
    with pytest.raises(ProRandConvError, match=r"config: format: got 3, expected 2, or a newer"):
        RunConfig.from_mapping(stored)


def test_a_stored_config_that_lacks_a_field_is_not_filled_up_in_silence():
    stored = RunConfig.paper("pacs", "photo").to_mapping()
    del stored["epochs"]
    with pytest.raises(ProRandConvError, match=r"missing: got \['epochs'\], .* without the field"):
        RunConfig.from_mapping(stored)
    del stored["format"]
    assert RunConfig.from_mapping(stored).epochs == 50


@pytest.mark.parametrize("method", ["pro-randconv", "own_lab:weighted"])
def test_a_config_travels_to_another_process_as_it_is(small_run, method):
    config = small_run(method, options={"weight": 3.0} if ":" in method else {})
    arrived = pickle.loads(pickle.dumps(config))
    assert arrived.to_mapping() == config.to_mapping()
    assert arrived.hash == config.hash
    assert learner_of(arrived, network_of(arrived)).network is not None


@pytest.mark.parametrize(
    "named", [{"method": "own_lab:weighted"}, {"network": "own_lab:tiny"}, {"method": "os:getcwd"}]
)
def test_code_that_a_file_names_is_imported_only_if_it_is_trusted(mini, tmp_path, named):
    (tmp_path / "config.json").write_text(json.dumps({"benchmark": "digits-mini", **named}))
    with pytest.raises(ProRandConvError, match=r"config\.json: .*trust_code=True"):
        RunConfig.read(tmp_path / "config.json")


def test_a_file_that_is_trusted_may_name_code(mini, tmp_path):
    stored = {"benchmark": "digits-mini", "method": "own_lab:weighted", "options": {"weight": 3.0}}
    (tmp_path / "config.json").write_text(json.dumps(stored))
    assert RunConfig.read(tmp_path / "config.json", trust_code=True).options.weight == 3.0


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ({"epohcs": 3}, "got 'epohcs', .* did you mean 'epochs'"),
        ({"options": {"max_repeat": 3}}, "got 'max_repeat', .* did you mean 'max_repeats'"),
        ({"epochs": "3"}, "epochs: got '3'"),
        ({"epochs": 0}, "epochs: got 0"),
        ({"options": {"selection": "bth"}}, "selection: got 'bth'"),
        ({"method": "randcov"}, "did you mean 'randconv'"),
        ({"benchmark": "digit"}, "did you mean 'digits'"),
        ({"source": ["mnst"]}, "did you mean 'mnist'"),
        ({"batch_size": 63, "devices": 2}, "a multiple of the 2 processes"),
        ({"learning_rate": -1.0}, "learning_rate: got -1.0"),
        ({"data_root": 3}, "data_root: got 3"),
        ({"benchmark": 3}, "benchmark: got 3"),
        ({"source": "mnist"}, "source: got 'mnist', expected .*array"),
    ],
)
def test_a_wrong_field_raises_an_error_with_what_would_be_right(stored, message):
    with pytest.raises(ProRandConvError, match=f"^here: .*{message}"):
        RunConfig.from_mapping(stored, origin="here")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"epochs": "3"}, "epochs: got '3', expected .*integer"),
        ({"optimiser": "lion"}, "optimiser: got 'lion', expected .*'adamw'"),
        ({"source": ("../..",)}, "source: got '../..', expected a name"),
        ({"benchmark": "a/b"}, "benchmark, source: got 'a/b', expected a name"),
    ],
)
def test_a_wrong_value_raises_an_error_when_it_is_handed_in(wrong, message):
    with pytest.raises(ProRandConvError, match=message):
        RunConfig(**wrong)


def test_everything_that_changes_a_result_changes_the_hash(tmp_path):
    config = RunConfig.paper("digits")
    changes = {
        "seed": 1,
        "epochs": 3,
        "method": None,
        "train_images": 5,
        "devices": 2,
        "target_every": 1,
        "deterministic": False,
        "network": "alexnet",
    }
    hashes = {config.hash}
    for name, value in changes.items():
        if name == "method":
            hashes.add(RunConfig.paper("digits", options={"max_repeats": 9}).hash)
        else:
            hashes.add(dataclasses.replace(config, **{name: value}).hash)
    assert len(hashes) == len(changes) + 1


def test_equal_numbers_give_equal_names():
    assert RunConfig.paper("digits", learning_rate=1).hash == (
        RunConfig.paper("digits", learning_rate=1.0).hash
    )


@dataclasses.dataclass(frozen=True)
class LaterConfig(RunConfig):
    """A config with a field that was added."""

    warmup: int = 0


def test_a_new_field_with_a_default_does_not_rename_older_runs():
    config = RunConfig.paper("digits")
    later = LaterConfig(**vars(config))
    assert later.hash == config.hash
    assert dataclasses.replace(later, warmup=3).hash != config.hash


def test_an_older_file_lacks_a_field_that_was_added(monkeypatch):
    stored = RunConfig.paper("digits").to_mapping()
    with pytest.raises(ProRandConvError, match=r"missing: got \['warmup'\]"):
        LaterConfig.from_mapping(stored)
    monkeypatch.setattr(config_module, "OPTIONAL_FIELDS", ("warmup", "code"))
    assert LaterConfig.from_mapping(stored).warmup == 0


def test_a_new_option_with_a_default_does_not_rename_older_runs():
    erm = method_class("erm")
    new = [("smoothing", float, 0.0)]
    later = dataclasses.make_dataclass("Later", new, bases=(erm,), frozen=True)
    config = RunConfig.paper("digits", method="erm")
    assert dataclasses.replace(config, options=later()).hash == config.hash
    assert dataclasses.replace(config, options=later(smoothing=0.1)).hash != config.hash


@pytest.mark.parametrize(
    ("benchmark", "method", "options", "name"),
    NAMES,
)
def test_runs_keep_their_names(monkeypatch, benchmark, method, options, name):
    """If one fails, every user's finished runs of that kind would be trained again."""
    monkeypatch.setattr(transforms, "DRAWING_VERSION", 2)
    assert RunConfig.paper(benchmark, method=method, options=options).hash == name


@pytest.mark.parametrize(
    ("benchmark", "method", "options", "output"),
    [
        ("digits", "pro-randconv", {}, "tanh"),
        ("pacs", "pro-randconv", {}, "pixels"),
        ("pacs", "pro-randconv", {"contrast": ("standardise", "tanh")}, "pixels"),
        ("pacs", "pro-randconv", {"contrast": ("standardise", "affine")}, "tanh"),
        ("pacs", "pro-randconv", {"contrast": False}, "tanh"),
        ("shapes-mini", "ours-c", {}, "tanh"),
    ],
)
def test_a_run_says_which_output_its_images_decide(benchmark, method, options, output):
    config = RunConfig.paper(benchmark, method=method, options=options)
    assert config.options.output == config.to_mapping()["options"]["output"] == output
    given = RunConfig.paper(benchmark, method=method, options=options | {"output": output})
    assert given == config
    assert given.hash == config.hash
    assert changed_options(config).keys() == options.keys()
    config.options.augmentation(config.format)


def test_another_output_than_the_images_decide_is_a_change():
    config = RunConfig.paper("pacs", options={"output": "tanh"})
    assert changed_options(config) == {"output": "tanh"}
    assert config.hash != RunConfig.paper("pacs").hash


def test_other_draws_of_the_same_seed_are_another_run(monkeypatch):
    before = RunConfig.paper("digits").hash
    monkeypatch.setattr(transforms, "DRAWING_VERSION", transforms.DRAWING_VERSION + 1)
    assert RunConfig.paper("digits").hash != before


def test_where_the_data_lies_does_not_change_the_hash(own_folder, tmp_path):
    assert RunConfig.paper("digits").hash == RunConfig.paper("digits", data_root=tmp_path).hash
    config = own_folder("here")
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    assert config.with_changes(data_root=tmp_path / "there").hash == config.hash


def _rename_class(root):
    for domain in ("one", "two"):
        (root / domain / "cat").rename(root / domain / "tiger")


def _change_target(root):
    picture = root / "two" / "dog" / "pic_000.jpg"
    picture.write_bytes((root / "two" / "dog" / "pic_001.jpg").read_bytes())


@pytest.mark.parametrize(
    "change",
    [
        _rename_class,
        _change_target,
        lambda root: (root / "two").rename(root / "three"),
        lambda root: (root / "one" / "cat" / "pic_003.jpg").unlink(),
    ],
)
def test_a_run_on_other_data_of_a_users_has_another_name(own_folder, tmp_path, change):
    config = own_folder("data")
    change(tmp_path / "data")
    assert config.with_changes().hash != config.hash


def test_a_file_of_weights_counts_by_its_content(tmp_path):
    for name, content in (("a", b"0"), ("b", b"0"), ("c", b"1")):
        (tmp_path / name).write_bytes(content)
    a, b, c = (RunConfig.paper("digits", weights=tmp_path / name).hash for name in "abc")
    assert a == b
    assert a != c


def test_a_config_of_another_method_has_its_options():
    changed = RunConfig.paper("digits", options={"max_repeats": 3}, epochs=4).with_changes(
        method="erm"
    )
    assert changed == RunConfig.paper("digits", method="erm", epochs=4)


def test_paths_are_absolute_for_a_process_in_another_folder(tmp_path, monkeypatch):
    (tmp_path / "w.pth").write_bytes(b"0")
    monkeypatch.chdir(tmp_path)
    config = RunConfig.paper(
        "digits", weights=Path("w.pth"), data_root="data"
    ).with_absolute_paths()
    assert (config.weights, config.data_root) == (tmp_path / "w.pth", tmp_path / "data")


def test_the_directory_says_what_the_run_is(tmp_path):
    config = RunConfig.paper("pacs", ["photo", "art"], "erm")
    assert config.directory(tmp_path) == tmp_path / "pacs" / "erm" / "art+photo" / config.hash


def test_the_size_of_photos_is_part_of_the_run(own_folder):
    usual = own_folder("data")
    small = usual.with_changes(image_size=112)
    assert (usual.format.image_size, small.format.image_size) == (224, 112)
    assert small.hash != usual.hash
    assert RunConfig.from_mapping(small.to_mapping()) == small


def test_the_benchmarks_own_size_is_the_same_run_as_none(own_folder):
    usual = own_folder("data")
    assert usual.with_changes(image_size=224) == usual


def test_digits_have_one_size():
    with pytest.raises(ProRandConvError, match="image_size: got 64, expected 32, the size of all"):
        RunConfig.paper("digits", image_size=64)
    assert RunConfig.paper("digits", image_size=32) == RunConfig.paper("digits")
