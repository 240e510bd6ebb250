"""What each study plans: its runs, its tables, and the paper's figures beside them."""

from dataclasses import replace
from pathlib import Path

import pytest

from prorandconv.errors import ProRandConvError
from prorandconv.lab.errors import DataError
from prorandconv.lab.methods import METHODS
from prorandconv.lab.paper import Row
from prorandconv.lab.run.config import RunConfig
from prorandconv.lab.study.directory import described
from prorandconv.lab.study.plan import Known, Plan, PlannedCell, Reading, TablePlan, limited
from prorandconv.lab.study.settings import Settings
from prorandconv.lab.study.studies import STUDIES, get_study

EVERYTHING = Settings(everything=True, seeds=1)


def planned(name, **changes):
    return get_study(name).plan(replace(EVERYTHING, **changes)).tables


def runs_of(tables, seeds=(0,)):
    return Plan(tuple(tables), seeds).runs


def result(targets, val=99.0):
    found = {name: {"accuracy": value} for name, value in targets.items()}
    return {"best_validation": {"val_accuracy": val, "targets": found}}


def test_a_run_of_digits_is_the_papers_run_and_nothing_else():
    runs = runs_of(planned("digits", epochs=20, data_root=Path("elsewhere")), (0, 1))
    expected = [
        RunConfig.paper("digits", "mnist", method, options=options, epochs=20, seed=seed)
        for seed in (0, 1)
        for method, options in (
            ("erm", {}),
            ("randconv", {}),
            ("progressive", {"weights": "different"}),
            ("progressive", {}),
            ("pro-randconv", {}),
            ("pro-randconv", {"smoothing": None, "offsets": None}),
            ("pro-randconv", {"contrast": False}),
        )
    ]
    assert list(runs) == [config.hash for config in expected]


@pytest.mark.parametrize(
    ("study", "table", "row", "column", "paper"),
    [
        ("digits", "digits", "Pro-RandConv", "usps", 93.67),
        ("digits", "mnist-m", "Pro-RandConv", "mnist_m_b", 87.72),
        ("digits", "mnist-m", "RandConv", "mnist_m", 84.53),
        ("pacs-single", "pacs-single-resnet18", "RandConv", "photo", 62.46),
        ("pacs-single", "pacs-single-resnet50", "RandConv", "photo", None),
        ("pacs-multi", "pacs-multi-resnet50", "Pro-RandConv", "sketch", 81.85),
        ("pacs-multi", "pacs-multi-resnet18", "Progressive (Same)", "sketch", None),
        ("comparison", "vlcs", "Pro-RandConv", "alexnet single", 60.70),
        ("comparison", "pacs", "RandConv", "resnet50 multi", 86.63),
        ("selection", "selection", "X_0 and X_L", "pacs in", 95.51),
        ("components", "components", "Single, sigma_w ~ U(eps, 2)", "digits", 75.80),
        ("components", "components", "Multi (S) + smoothing", "pacs multi", 83.79),
        ("traditional", "traditional-digits", "RandAugment", "syn", 59.60),
        ("traditional", "traditional-pacs", "RandAugment", "sketch", 56.40),
        ("bounds", "bounds", "Progressive (Diff), no bound", "svhn", 60.73),
        ("segmentation", "gtav", "Ours-C", "cityscapes", 42.36),
        ("segmentation", "gtav", "Ours-D, labels moved", "cityscapes", None),
        ("receptive-field", "receptive-field-digits-mnist", "Pro-RandConv, L times", "21", None),
    ],
)
def test_the_papers_figure_stands_beside_ours(study, table, row, column, paper):
    (found,) = (one for one in planned(study) if one.name == table)
    assert found.cells[row, column].paper == paper


CLASSIFYING = [name for name in STUDIES if name != "segmentation"]


@pytest.mark.parametrize(
    ("study", "runs", "tables"),
    [
        ("digits", 5 + 2, 2),
        ("comparison", 2 * 3 * 3 * 8, 3),
        ("selection", 9 * 5, 1),
        ("components", 16 * 9, 1),
        ("receptive-field", 21 * 5, 5),
        ("hyperparameters", 27 * 5, 6),
    ],
)
def test_the_number_of_runs_and_tables(study, runs, tables):
    plan = planned(study)
    assert (len(runs_of(plan)), len(plan)) == (runs, tables)
    assert STUDIES[study].runs == runs


def test_runs_are_shared_between_studies():
    runs = {name: set(runs_of(planned(name, benchmark="digits"))) for name in CLASSIFYING}
    assert runs["digits"] <= runs["components"]
    assert len(runs["receptive-field"] & runs["smoothing"]) == 7
    default = RunConfig.paper("digits").hash
    without = {name for name, own in runs.items() if default not in own}
    assert without == {"efficiency", "receptive-field", "smoothing", "bounds", "beyond"}


@pytest.mark.parametrize("name", [name for name in CLASSIFYING if name != "efficiency"])
def test_digits_mini_takes_the_place_of_every_benchmark(name):
    tables = get_study(name).plan(Settings(benchmark="digits-mini")).tables
    runs = runs_of(tables).values()
    assert {(c.benchmark, c.source, c.network) for c in runs} == {
        ("digits-mini", ("mnist",), "lenet")
    }
    assert all(cell.paper is None for table in tables for cell in table.cells.values())
    assert all(cell.readings for table in tables for cell in table.cells.values())


def test_settings_reach_the_runs(tmp_path):
    weights = tmp_path / "resnet18-imagenet1k-v1.pth"
    weights.touch()
    changes = {"epochs": 2, "train_images": 9, "test_images": 8, "target_every": 0}
    plan = planned("pacs-single", weights=tmp_path, **changes)
    runs = list(runs_of(plan).values())
    assert {config.network for config in runs} == {"resnet18", "resnet50"}
    for config in runs:
        assert {name: getattr(config, name) for name in changes} == changes
        own = config.network == "resnet18"
        assert (config.weights, config.pretrained) == (weights if own else None, not own)
    only = planned("pacs-single", networks=("resnet18",))
    assert [table.name for table in only] == ["pacs-single-resnet18"]


def test_an_absent_domain_is_left_out_and_named(write, tmp_path):
    write.idx(tmp_path / "digits")
    write.usps(tmp_path / "digits" / "usps.bz2")
    write.usps(tmp_path / "digits" / "usps.t.bz2")
    table, sets = get_study("digits").plan(Settings(data_root=tmp_path)).tables
    assert table.columns == table.averaged == ("usps",)
    assert "absent from digits and left out: svhn, mnist_m, syn" in table.notes[0]
    assert sets.columns == ()
    components = get_study("components").plan(Settings(data_root=tmp_path)).tables[0]
    assert components.columns == ("digits",)
    assert "pacs is absent and left out" in components.notes
    assert all(cell.paper is None for cell in components.cells.values())


def test_without_data_the_error_says_where_it_looked_and_what_needs_none(tmp_path):
    with pytest.raises(DataError) as raised:
        get_study("components").plan(Settings(data_root=tmp_path))
    for part in (str(tmp_path), "no domain of digits", "no domain of pacs", "digits-mini"):
        assert part in str(raised.value)


def test_leaving_a_domain_out_trains_on_all_others():
    plan = planned("pacs-multi", networks=("resnet18",))
    reading = plan[0].cells["Pro-RandConv", "cartoon"].readings[0]
    assert reading.config.source == ("art", "photo", "sketch")
    assert reading.targets == ("cartoon",)
    assert reading.config.epochs == 150


def test_a_cell_is_the_mean_of_its_readings_and_needs_all_of_them():
    one = RunConfig.paper("digits-mini", method="erm")
    other = RunConfig.paper("digits-mini", method="rotate")
    cell = PlannedCell((Reading(one, ("a", "b")), Reading(other, ("a",))), 50.0)
    inside = PlannedCell((Reading(one),))
    cells = {("r", "c"): cell, ("r", "in"): inside}
    table = TablePlan("t", "t", "T", (Row("r", "erm"),), ("c", "in"), cells)
    results = {
        one.hash: result({"a": 10.0, "b": 30.0}),
        other.hash: result({"a": 60.0}),
        replace(one, seed=1).hash: result({"a": 10.0}),
    }
    failed = replace(other, seed=1)
    messages = {other.hash: ["state.pt was damaged"]}
    known = Known(results, {failed.hash: "no luck"}, messages)
    table = Plan((table,), (0, 1)).table(table, known)
    assert table.values("r", "c") == (40.0, None)
    assert table.values("r", "in") == (99.0, 99.0)
    assert table.paper("r", "c") == 50.0
    assert table.notes == (
        "r, c, seed 0: state.pt was damaged",
        "r, c, seed 1: a, b absent when the run was measured",
        "failed: r, c, seed 1: no luck",
    )


def test_a_study_of_photos_of_another_size_says_so_beside_the_papers_figures():
    (table, _) = planned("pacs-single", image_size=128)
    assert any("images of 128 pixels on pacs, where the paper has 224" in n for n in table.notes)
    sizes = {config.format.image_size for config in runs_of((table,)).values()}
    assert sizes == {128}


def test_settings_without_a_size_keep_the_names_of_older_studies():
    assert Settings(seeds=1).hash == "1815f4cf6592"
    assert Settings(seeds=1, image_size=128).hash != Settings(seeds=1).hash


def test_beyond_adds_each_part_alone_then_all_then_all_but_one():
    table = planned("beyond", epochs=20)[0]
    found = {}
    for row in (row.name for row in table.rows):
        config = table.cells[row, "usps"].readings[0].config
        found[row] = (config.options.consistency, config.jitter, config.average)
    assert found == {
        "Pro-RandConv": (0.0, 0.0, "none"),
        "+ consistency": (5.0, 0.0, "none"),
        "+ jitter": (0.0, 0.25, "none"),
        "+ EMA": (0.0, 0.0, "ema"),
        "+ SWAD": (0.0, 0.0, "swad"),
        "+ all (with EMA)": (5.0, 0.25, "ema"),
        "all but consistency": (0.0, 0.25, "ema"),
        "all but jitter": (5.0, 0.0, "ema"),
        "all but EMA": (5.0, 0.25, "none"),
    }
    assert table.cells["Pro-RandConv", "usps"].paper == 93.67
    assert table.cells["+ EMA", "usps"].paper is None


def test_beyond_reads_both_rules_of_selection_from_the_same_runs():
    tables = {table.name: table for table in planned("beyond")}
    stored = {
        "selected": "best_validation",
        "best_validation": {"val_accuracy": 99.0, "targets": {"usps": {"accuracy": 70.0}}},
        "best_shifted": {"val_shifted": 60.0, "targets": {"usps": {"accuracy": 80.0}}},
    }

    def value(table, column):
        (reading,) = tables[table].cells["+ jitter", column].readings
        assert reading.config.shifted_validation
        return reading.value(stored)

    assert value("beyond-validation", "usps") == 70.0
    assert value("beyond-shifted", "usps") == 80.0
    assert (value("beyond-seen", "val"), value("beyond-seen", "val_shifted")) == (99.0, 60.0)
    assert len({frozenset(runs_of((table,))) for table in tables.values()}) == 1


def test_a_run_is_described_with_what_it_adds():
    config = RunConfig.paper("digits", jitter=0.5, average="ema", seed=2)
    assert described(config) == "pro-randconv average=ema jitter=0.5 lenet mnist, seed 2"
    assert described(RunConfig.paper("digits")) == "pro-randconv lenet mnist, seed 0"


def test_only_the_rows_that_were_asked_for_are_planned():
    tables = limited(planned("pacs-single"), ("RandConv",))
    assert [[row.name for row in table.rows] for table in tables] == [["RandConv"]] * 2
    assert {config.method for config in runs_of(tables).values()} == {"randconv"}
    assert tables[0].baseline is None
    both = planned("digits")
    assert limited(both, ()) == both
    with pytest.raises(ProRandConvError, match=r"--rows: got 'Randconv'.*did you mean 'randconv'"):
        limited(both, ("Randconv",))


def test_shifted_validation_shows_the_same_runs_under_each_rule():
    plain = planned("pacs-single", networks=("resnet18",))
    tables = planned("pacs-single", networks=("resnet18",), shifted_validation=True)
    names = [table.name.removeprefix("pacs-single-resnet18-") for table in tables]
    assert names == ["validation", "shifted", "last", "seen"]
    choices = [t.cells["Pro-RandConv", "photo"].readings[0].choice for t in tables[:3]]
    assert choices == ["best_validation", "best_shifted", "last"]
    assert len(runs_of(tables)) == len(runs_of(plain)) == 24
    assert all(config.shifted_validation for config in runs_of(tables).values())
    outputs = {
        row: (cell.readings[0].config.options.output, cell.paper is not None)
        for row in ("Pro-RandConv", "Pro-RandConv (tanh)")
        for cell in [tables[1].cells[row, "photo"]]
    }
    assert outputs == {"Pro-RandConv": ("pixels", True), "Pro-RandConv (tanh)": ("tanh", False)}


def test_another_precision_reaches_the_runs_and_is_said():
    (table, _) = planned("pacs-single", precision="bf16-mixed")
    assert {config.precision for config in runs_of((table,)).values()} == {"bf16-mixed"}
    assert "networks compute in bf16-mixed" in table.notes


def test_segmentation_is_planned_on_scenes_with_masks_only():
    (table,) = get_study("segmentation").plan(Settings(benchmark="shapes-mini")).tables
    assert table.columns == ("textured", "inverted")
    assert {config.method for config in runs_of([table]).values()} >= {"erm", "ours-shared"}
    assert all(cell.paper is None for cell in table.cells.values())
    with pytest.raises(ProRandConvError, match="scenes with masks"):
        get_study("segmentation").plan(Settings(benchmark="digits-mini"))


def test_weights_of_an_encoder_reach_segmentation_runs(tmp_path):
    weights = tmp_path / "resnet18-imagenet1k-v1.pth"
    weights.touch()
    plan = get_study("segmentation").plan(Settings(benchmark="shapes-mini", weights=tmp_path))
    assert {config.weights for config in plan.runs.values()} == {weights}


def names(tables):
    return [[row.name for row in table.rows] for table in tables]


def test_rows_are_named_by_method_too_and_all_adds_every_method_that_fits(own_modules):
    (table, _) = planned("pacs-multi", rows=("erm", "augmix"))
    assert names([table]) == [["Baseline (ERM)", "AugMix"]]
    assert table.baseline == "Baseline (ERM)"
    every = planned("digits", rows=("all",))[0]
    today = names(planned("digits"))[0]
    assert names([every])[0][: len(today)] == today
    methods = [row.method for row in every.rows]
    assert set(methods) == set(METHODS) - {"ours-move", "ours-shared"}  # which need masks
    assert len(methods) - len(set(methods)) == 1  # progressive, twice
    own = planned("digits", rows=("own_lab:weighted", "pro-randconv"))[0]
    assert names([own]) == [["Pro-RandConv", "own_lab:weighted"]]


def test_a_quoted_row_is_there_on_request_with_its_figure():
    (table, _) = planned("pacs-multi", rows=("mixstyle",))
    assert names([table]) == [["MixStyle"]]
    assert table.cells["MixStyle", "sketch"].paper == 75.9


def test_each_run_is_hashed_once_however_many_tables_need_it(monkeypatch):
    hashed = []
    real = RunConfig.hash
    own = getattr(real, "fget", None) or real.func
    monkeypatch.setattr(
        RunConfig, "hash", property(lambda self: hashed.append(self.seed) or own(self))
    )
    plan = get_study("beyond").plan(replace(EVERYTHING, seeds=2))
    known = Known()
    for _ in range(3):
        assert [len(plan.table(table, known).rows) for table in plan.tables] == [9] * 4
    assert len(plan.runs) == 2 * 9
    assert sorted(hashed) == [0] * 9 + [1] * 9
