import json

import goals
import pytest


@pytest.mark.parametrize(
    ("value", "at_least", "shown"),
    [
        (12.34, True, "12.3× (≥ 10×)"),
        (9.5, True, "9.5× (missed: ≥ 10×)"),
        (9.5, False, "9.5× (≤ 10×)"),
        (123.4, False, "123× (missed: ≤ 10×)"),
    ],
)
def test_a_figure_stands_beside_what_was_wanted(value, at_least, shown):
    goal = goals.Goal("speed", "ratio", "×", {32: 10}, at_least)
    assert goal.cell({"32 px": {"ratio": value}}, 32) == shown


def test_what_was_not_measured_is_left_open():
    goal = goals.Goal("speed", "ratio", "×", {32: 10})
    assert goal.cell({"32 px": {}}, 32) == "–"
    assert goal.cell({"64 px": {"ratio": 2.0}}, 64) == "2.0×"


def test_the_table_of_the_page_is_replaced_and_nothing_else():
    page = f"before\n{goals.BEGIN}\nold\n{goals.END}\nafter\n"
    assert goals.into_page(page, "new") == f"before\n{goals.BEGIN}\nnew\n{goals.END}\nafter\n"


def test_the_table_tells_of_a_disturbance():
    machine = {"processor": "Z80", "engines": {"native": "available"}}
    found = {"machine": machine, "disturbance": 0.25}
    assert "other processes took 25%" in goals.table(found)
    assert "other processes" not in goals.table(found | {"disturbance": 0.01})


def test_the_page_has_the_table_of_the_stored_figures():
    stored = json.loads(goals.OUTPUT.read_text())
    page = (goals.SPEED / "README.md").read_text()
    assert goals.into_page(page, goals.table(stored)) == page
