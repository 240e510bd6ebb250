import json

import pytest

from prorandconv.lab.report.compare import comparisons, table_of
from prorandconv.lab.report.read import ReportedRun
from prorandconv.lab.run.stored import fingerprints, target_key
from prorandconv.lab.study.table import AVERAGE


@pytest.fixture
def runs(write_run, tmp_path):
    def make(*given):
        return [
            ReportedRun.read(write_run(tmp_path, method, **changes)) for method, changes in given
        ]

    return make


def test_runs_are_compared_over_methods_and_seeds_only(runs):
    given = runs(
        ("pro-randconv", {"seed": 1}),
        ("pro-randconv", {"options": {"max_repeats": 5}}),
        ("erm", {"target_every": 3}),
        ("erm", {"epochs": 6}),
        ("erm", {"epochs": 6, "learning_rate": 0.5}),
    )
    found = comparisons(given)
    assert [one.title for one in found] == [
        "digits-mini from mnist, lenet, 4 epochs",
        "digits-mini from mnist, lenet, 6 epochs, learning_rate 0.01",
        "digits-mini from mnist, lenet, 6 epochs, learning_rate 0.5",
    ]
    rows = ["erm", "pro-randconv", "pro-randconv (max_repeats 5)"]
    assert list(found[0].rows) == rows
    assert found[0].baseline == "erm"


def test_a_study_gives_runs_the_names_and_the_order_of_its_rows(runs):
    given = runs(("erm", {}), ("randconv", {}), ("progressive", {}), ("rotate", {}))
    names = ("Progressive (Same)", "Baseline (ERM)", "Baseline")
    (found,) = comparisons(given, names)
    assert list(found.rows) == ["Progressive (Same)", "Baseline (ERM)", "randconv", "rotate"]
    assert found.baseline == "Baseline (ERM)"


def test_of_two_runs_alike_the_one_that_is_done_counts(runs):
    done, begun = runs(("erm", {"target_every": 2}), ("erm", {"target_every": 1, "done": 4}))
    for order in ([begun, done], [done, begun]):
        (found,) = comparisons(order)
        assert found.rows["erm"][0] is done


def test_confusion_counts_are_summed_over_seeds(runs):
    (found,) = comparisons(runs(("erm", {"seed": 0}), ("erm", {"seed": 1})))
    counts = found.confusion("erm", "optdigits")
    assert counts.confusion[2] == (0, 0, 3 + 4, 7 + 6, 0, 0, 0, 0, 0, 0)
    assert found.confusion("erm", "numbers") is None


def test_the_table_of_a_comparison_has_targets_seeds_and_gains(runs):
    given = [(m, {"seed": s}) for m in ("erm", "pro-randconv") for s in (0, 1)]
    table = table_of(comparisons(runs(*given, ("rotate", {"seed": 0, "done": 2})))[0], "t")
    assert table.columns == ("optdigits", "fonts")
    assert table.values("erm", AVERAGE) == (35.0, 45.0)
    assert table.gain("pro-randconv", "fonts").mean == 30
    assert table.values("rotate", "fonts") == (None, None)
    assert table.notes == ("absent, and in no average: numbers",)


def test_the_papers_figures_stand_beside_a_run_that_it_has(runs):
    given = runs(("erm", {"benchmark": "digits"}))
    targets = given[0].result["best_validation"]["targets"]
    targets["usps"] = targets["fonts"]
    table = table_of(comparisons(given)[0], "t")
    assert table.paper("erm", "usps") == 78.21
    assert table.paper("erm", "fonts") is None
    assert table.reference == "Table 1"


class TestData:
    def test_runs_on_different_data_are_never_averaged_together(self, runs, tmp_path, write_run):
        given = runs(("erm", {"seed": 0}), ("erm", {"seed": 1, "data": "2e"}), ("rotate", {}))
        first, second = comparisons(given)
        assert {row: list(seeds) for row, seeds in first.rows.items()} == {
            "erm": [0],
            "rotate": [0],
        }
        assert {row: list(seeds) for row, seeds in second.rows.items()} == {"erm": [1]}
        assert table_of(first, "t").values("erm", "fonts") == (40.0,)
        assert table_of(second, "t").values("erm", "fonts") == (50.0,)

    def test_the_same_run_on_other_data_has_a_table_that_says_so(self, write_run, tmp_path):
        homes = [write_run(tmp_path / data, data=data) for data in ("1f", "2e", "3d")]
        found = [table_of(one, "t") for one in comparisons(map(ReportedRun.read, homes))]
        assert len({table.title for table in found}) == 3
        for table, data in zip(found, ("1f", "2e", "3d"), strict=True):
            assert table.title.startswith("digits-mini from mnist, lenet, 4 epochs, data ")
            assert f"digits-mini mnist train {data * 4}" in table.notes[-1]

    def test_only_domains_that_both_have_used_are_compared(self, runs):
        given = runs(("erm", {}), ("rotate", {"data": "2e"}))
        for run in given:
            own = {"svhn"} if run.config["method"] == "erm" else {"usps"}
            run.result["data"] = dict.fromkeys(own, run.result["data"]["train"])
        (found,) = comparisons(given)
        assert list(found.rows) == ["erm", "rotate"]
        assert found.data == ""

    def test_a_run_that_is_not_done_joins_the_runs_of_its_setting(self, runs):
        given = runs(("rotate", {"done": 2}), ("erm", {}))
        (found,) = comparisons(given)
        assert list(found.rows) == ["erm", "rotate"]

    def test_a_field_that_an_older_run_has_not_counts_as_its_default(self, runs):
        given = runs(("erm", {}), ("rotate", {}))
        del given[0].config["precision"]
        assert len(comparisons(given)) == 1


class TestFirstWeights:
    """Runs that began with other weights under the same path are not seeds of one setting."""

    @pytest.fixture
    def begun(self, write_run, tmp_path):
        """Makes a run that began with the file weights.pth while it had this content."""
        path = tmp_path / "weights.pth"

        def make(content, seed, *, known):
            path.write_text(content)
            home = write_run(tmp_path / "runs", "erm", seed, weights=path)
            stored = json.loads((home / "result.json").read_text())
            stored["data"] |= {"weights": content * 8} if known else {}
            (home / "result.json").write_text(json.dumps(stored))
            return ReportedRun.read(home)

        return make

    def test_seeds_of_other_weights_are_another_table(self, begun):
        runs = [begun("1f", 0, known=True), begun("2e", 1, known=True)]
        found = [table_of(one, "t") for one in comparisons(runs)]
        assert [table.seeds for table in found] == [(0,), (1,)]
        assert len({table.title for table in found}) == 2

    def test_of_older_results_none_is_dropped(self, begun):
        runs = [begun("1f", 0, known=False), begun("2e", 0, known=False)]
        groups = comparisons(runs)
        assert [len(group.runs) for group in groups] == [1, 1]
        assert len({group.title for group in groups}) == 2

    def test_seeds_of_the_same_weights_are_one_row(self, begun):
        (group,) = comparisons([begun("1f", seed, known=True) for seed in (0, 1)])
        assert len(group.runs) == 2


def test_a_target_called_train_is_not_the_sources_training_images():
    config = {"benchmark": "folder", "source": ["photo"], "network": "resnet18"}
    data = {"train": "1f", target_key("train"): "2e", "weights": "3d", target_key("weights"): "4c"}
    assert fingerprints({"config": config, "data": data}) == {
        "folder photo train": "1f",
        "folder target train": "2e",
        "resnet18 weights": "3d",
        "folder target weights": "4c",
    }
