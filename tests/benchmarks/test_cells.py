import itertools
import statistics
from collections import defaultdict

import cells
import pytest
import torch
from cells import ORDER, Cell, Plan, Store, measure, rates

NO_LIMIT = {
    "rounds": 4,
    "seconds": defaultdict(lambda: 10.0),
    "limit": 60.0,
    "rates": {},
    "copies": {},
}


def counting():
    asked = []

    def call(x, repeats):
        asked.append(repeats)
        return x

    return call, asked


@pytest.mark.parametrize(("reason", "there"), [(None, True), ("there is no CUDA device", False)])
def test_plan_compares_tritons_engine_where_it_is(reason, there, monkeypatch):
    monkeypatch.setattr(cells, "engines", lambda: {"triton": reason or "available"})
    assert ("triton" in Plan().candidates) == there
    assert {"eager", "native"} < set(Plan.quick().candidates)


def test_plan_covers_each_axis_through_each_centre_once():
    plan = Plan()
    planned = plan.cells()
    assert len(set(planned)) == len(planned)
    for size in (32, 224):
        for batch in (1, 16, 64, 256):
            assert Cell(size, batch) in planned
        for repeats in (1, 5, 10):
            assert Cell(size, 64, repeats) in planned
        assert Cell(size, 64, dtype="bfloat16") in planned
    assert {cell.size for cell in planned if cell.batch == 64} == {32, 64, 128, 224, 512}


@pytest.mark.parametrize("rounds", [2, 4, 6, 8, 10])
def test_random_repetitions_have_the_mean_and_median_of_the_distribution(rounds):
    assert statistics.mean(ORDER[:rounds]) == statistics.median(ORDER[:rounds]) == 5.5
    assert sorted(ORDER) == list(range(1, 11))


def test_all_candidates_take_turns_with_the_same_repetitions():
    turns = []
    calls = {
        name: lambda x, repeats, name=name: turns.append((name, repeats)) for name in ("a", "b")
    }
    found = measure(Cell(16, 2), calls, **NO_LIMIT)
    assert found["a"]["repeats"] == found["b"]["repeats"] == [5, 6, 3, 8]
    order = [next(group)[0] for _, group in itertools.groupby(turns, key=lambda turn: turn[0])]
    assert order == ["a", "b"] * 5  # the first time is the warm-up


def test_a_slow_candidate_has_one_round_and_the_others_all(monkeypatch):
    monkeypatch.setattr(cells, "timed", lambda call, **_: call())
    calls = {"slow": lambda x, repeats: 3.0 * repeats, "fast": lambda x, repeats: 1e-3 * repeats}
    found = measure(Cell(16, 2), calls, **NO_LIMIT | {"seconds": defaultdict(lambda: 2.0)})
    assert found["slow"]["seconds"] == [15.0]
    assert found["slow"]["median"] == 15.0
    assert len(found["fast"]["seconds"]) == 4


def test_a_candidate_that_dropped_out_does_not_come_back_for_a_shorter_round(monkeypatch):
    monkeypatch.setattr(cells, "timed", lambda call, **_: call())
    budget = {"slow": 45.0, "fast": 45.0}  # rounds of 15, 18 and 9 seconds, then one of 24
    calls = {"slow": lambda x, repeats: 3.0 * repeats, "fast": lambda x, repeats: 1e-3 * repeats}
    found = measure(Cell(16, 2), calls, **NO_LIMIT | {"seconds": budget, "rounds": 5})
    assert found["slow"]["repeats"] == [5, 6, 3]
    assert found["fast"]["repeats"] == [5, 6, 3, 8, 1]


def test_a_candidate_beyond_the_limit_is_left_out_with_its_reason_and_not_called():
    call, asked = counting()
    cell = Cell(16, 2)
    rate = {"slow": 100 / cell.work(5)}
    found = measure(cell, {"slow": call}, **NO_LIMIT | {"rates": rate})
    assert "about 100 s" in found["slow"]["left_out"]
    assert "median" not in found["slow"]
    assert asked == []


def test_a_candidate_that_would_not_fit_into_memory_is_left_out():
    call, asked = counting()
    found = measure(Cell(16, 2), {"big": call}, **NO_LIMIT | {"copies": {"big": 1e12}})
    assert "GB" in found["big"]["left_out"]
    assert asked == []


def test_a_failing_candidate_is_marked_with_its_reason():
    def broken(x, repeats):
        raise RuntimeError("no compiler\nlong trace")

    call, _ = counting()
    found = measure(Cell(16, 2), {"broken": broken, "good": call}, **NO_LIMIT)
    assert found["broken"] == {"failed": "RuntimeError: no compiler"}
    assert len(found["good"]["seconds"]) == 4


def test_rates_come_from_the_largest_cell():
    small, large = Cell(16, 2, 1), Cell(32, 2, 1)
    measured = [
        (large, {"a": {"repeats": [1, 1], "seconds": [3.0, 5.0]}}),
        (small, {"a": {"repeats": [1], "seconds": [9.0]}}),
    ]
    assert rates(measured) == {"a": pytest.approx(8.0 / (2 * 2 * 32**2))}


def test_images_have_the_dtype_of_their_cell():
    assert Cell(8, 2, dtype="bfloat16").images().dtype == torch.bfloat16


def test_an_interrupted_run_goes_on_after_what_was_measured(tmp_path):
    output, settings = tmp_path / "speed.json", {"plan": {"sizes": (32, 64)}, "machine": {}}
    store = Store(output, settings)
    store.get("first", lambda: 1)
    with pytest.raises(KeyboardInterrupt):
        store.get("second", lambda: (_ for _ in ()).throw(KeyboardInterrupt))
    again = Store(output, settings)
    assert again.resumed == 1
    assert again.get("first", lambda: pytest.fail("measured again")) == 1
    assert again.get("second", lambda: 2) == 2
    again.finish({"done": True})
    assert output.read_text() == '{\n "done": true\n}\n'
    assert list(tmp_path.iterdir()) == [output]


def test_another_setting_starts_anew(tmp_path):
    Store(tmp_path / "speed.json", {"machine": {"threads": 1}}).get("first", lambda: 1)
    other = Store(tmp_path / "speed.json", {"machine": {"threads": 2}})
    assert other.resumed == 0
    assert other.get("first", lambda: 2) == 2
