import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from prorandconv.lab.report.formats.terminal import print_tables


@pytest.fixture
def printed(make_table):
    def _printed(width, full):
        console = Console(width=width, record=True, file=io.StringIO())
        print_tables(console, [make_table()], full=full)
        return console.export_text(styles=True)

    return _printed


def plain(text):
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def test_the_terminal_shows_a_line_of_means_for_each_row_and_the_best_in_bold(printed):
    text = printed(80, full=False)
    assert "Digits, % (Table 1)" in text
    assert "absent: syn" in text
    assert "gain over ERM" not in text
    assert "its 95 % interval" not in text
    assert re.search(r"\x1b\[1m *62\.00 ± 2\.00", text)
    assert not re.search(r"\x1b\[1m *32\.00", text)


def test_full_adds_intervals_the_papers_figures_and_gains(printed):
    lines = plain(printed(80, full=True)).splitlines()
    (gain,) = (number for number, line in enumerate(lines) if "gain over ERM" in line)
    assert "+30.00" in lines[gain]
    assert "[30.00, 30.00]" in lines[gain + 1]
    assert sum("paper (difference)" in line for line in lines) == 2


def test_eight_targets_cut_no_name_at_eighty_columns(make_table):
    table = make_table()
    cells = {
        (row, f"target_{number}"): table.cells[row, "svhn"]
        for row in table.rows
        for number in range(8)
    }
    wide = replace(table, columns=tuple(f"target_{n}" for n in range(8)), cells=cells)
    console = Console(width=80, record=True, file=io.StringIO())
    print_tables(console, [wide], full=True)
    text = console.export_text()
    for name in ("ERM", "Pro-RandConv", "paper (difference)", "its 95 % interval"):
        assert f"{name} " in text
    assert "…" not in text
