import pytest

from prorandconv.lab.report.compare import comparisons, table_of
from prorandconv.lab.report.read import ReportedRun
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
    given[0].result["best_validation"]["targets"]["usps"] = given[0].result["best_validation"][
        "targets"
    ]["fonts"]
    given[0].__dict__.pop("targets")
    table = table_of(comparisons(given)[0], "t")
    assert table.paper("erm", "usps") == 78.21
    assert table.paper("erm", "fonts") is None
    assert table.reference == "Table 1"
