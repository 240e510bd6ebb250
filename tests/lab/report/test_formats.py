"""A table as a grid of texts, and its forms."""

import csv
import io
import re
import shutil
import subprocess
from dataclasses import replace

import pytest
from rich.console import Console

from prorandconv.lab.report.formats import (
    FIELDS,
    comma_separated,
    latex,
    markdown,
    print_tables,
    terminal,
)
from prorandconv.lab.report.grid import (
    BOLD,
    BOLD_OF_FEW,
    Digits,
    Grid,
    best,
    footnotes,
    grid_of,
    heading,
)
from prorandconv.lab.study.table import AVERAGE, Cell, Table

KINDS = {"paper (difference)": "paper", "95 % interval": "interval", "single values": "interval"}


@pytest.fixture
def table(make_table):
    return make_table()


def shown(table, row):
    """The texts of a row by kind of line and column, as far as there are any."""
    group = next(one for one in grid_of(table).groups if one[0].label == row)
    found = {}
    for line in group:
        kind = KINDS.get(line.label, "gain" if line.minor else "mean")
        kind = "gain interval" if kind in found or line.label.startswith("its ") else kind
        texts = zip(table.shown_columns, line.cells, strict=True)
        found[kind] = {column: text for column, text in texts if text}
    return found


def test_a_row_tells_mean_interval_paper_and_gain(table):
    text = shown(table, "Pro-RandConv")
    assert text["mean"] == {
        "svhn": "62.00 ± 2.00",
        "usps": "81.00 ± 1.41 (2 of 3)",
        AVERAGE: "71.50 ± 2.12 (2 of 3)",
    }
    assert text["interval"]["svhn"] == "[57.03, 66.97]"
    assert text["paper"]["svhn"] == "69.70 (−7.70)"
    assert text["gain"] == {"svhn": "+30.00", "usps": "+9.00", AVERAGE: "+19.50"}
    assert text["gain interval"]["svhn"] == "[30.00, 30.00]"
    assert text["interval"]["usps"] == "80.00; 82.00"  # two values are no interval
    assert text["gain interval"]["usps"] == "10.00; 8.00"


def test_the_baseline_has_no_gain_over_itself(table):
    assert set(shown(table, "ERM")) == {"mean", "interval", "paper"}


def test_one_seed_has_neither_spread_nor_interval(table, make_table):
    cells = {key: Cell(cell.values[:1], cell.paper) for key, cell in table.cells.items()}
    text = shown(make_table(seeds=(0,), cells=cells), "Pro-RandConv")
    assert text["mean"]["svhn"] == "60.00"
    assert text["gain"]["svhn"] == "+30.00"
    assert "interval" not in text


def test_two_seeds_show_their_values_instead_of_an_interval(table, make_table):
    cells = {key: Cell(cell.values[:2], cell.paper) for key, cell in table.cells.items()}
    two = make_table(seeds=(0, 1), cells=cells)
    assert shown(two, "ERM")["interval"]["svhn"] == "30.00; 32.00"
    labels = [line.label for line in grid_of(two).groups[0]]
    assert labels == ["ERM", "single values", "paper (difference)"]


def test_an_interval_of_accuracies_ends_at_0_and_100(make_table):
    cells = {("ERM", "svhn"): Cell((0.5, 1.0, 9.0)), ("ERM", "usps"): Cell((99.0, 92.0, 99.9))}
    text = shown(make_table(cells=cells, averaged=()), "ERM")["interval"]
    assert text["svhn"].startswith("[0.00, ")
    assert text["usps"].endswith(", 100.00]")
    other = shown(make_table(cells=cells, averaged=(), unit="ms"), "ERM")["interval"]
    assert other["svhn"].startswith("[−")


def test_a_missing_figure_is_a_dash(make_table):
    text = shown(make_table(cells={}), "ERM")
    assert text == {"mean": {"svhn": "–", "usps": "–", AVERAGE: "–"}}


def test_best_is_the_highest_per_cent_of_a_column(table, make_table):
    assert best(table, "svhn") == ("Pro-RandConv",)
    assert best(make_table(unit="ms"), "svhn") == ()


def test_what_is_not_separable_from_the_best_is_as_bold(make_table):
    cells = {
        ("best", "svhn"): Cell((60.0, 62.0, 64.0)),
        ("always one less", "svhn"): Cell((59.0, 61.0, 63.0)),
        ("now more, now less", "svhn"): Cell((62.0, 58.0, 65.0)),
    }
    rows = tuple(row for row, _ in cells)
    table = make_table(rows=rows, cells=cells, baseline=None, columns=("svhn",), averaged=())
    assert best(table, "svhn") == ("best", "now more, now less")
    assert footnotes(table)[1] == BOLD


def test_of_two_seeds_the_highest_mean_alone_is_bold(make_table):
    cells = {("a", "svhn"): Cell((60.0, 64.0)), ("b", "svhn"): Cell((62.0, 61.0))}
    own = {"columns": ("svhn",), "averaged": (), "baseline": None}
    table = make_table(rows=("a", "b"), seeds=(0, 1), cells=cells, **own)
    assert best(table, "svhn") == ("a",)
    assert footnotes(table)[1] == BOLD_OF_FEW


def test_digits_follow_the_figures_where_the_unit_is_not_per_cent():
    cells = {
        ("a", "memory"): Cell((1234.0,)),
        ("b", "memory"): Cell((987.0,)),
        ("a", "seconds"): Cell((0.01234,)),
        ("b", "seconds"): Cell((0.0456,)),
    }
    table = Table("t", "T", "", ("a", "b"), ("memory", "seconds"), (0,), cells, unit="")
    assert shown(table, "a")["mean"] == {"memory": "1234", "seconds": "0.0123"}
    assert Digits.of(table, "nothing") == Digits(0)


def test_signs_are_shown_where_a_difference_is():
    assert Digits(1).signed(2.0) == "+2.0"
    assert Digits(1).signed(-2.0) == "−2.0"
    assert Digits(1).signed(-0.01) == "0.0"


def test_the_papers_table_is_named_over_its_own_figures_only(table, make_table):
    cells = {key: Cell(cell.values) for key, cell in table.cells.items()}
    other = make_table(cells=cells, notes=())
    assert heading(other) == "Digits, %"
    assert footnotes(other)[-1] == (
        "set up like the paper's Table 1, without figures to compare with"
    )
    assert not any("set up like" in note for note in footnotes(table))


def test_heading_and_notes_say_unit_reference_seeds_and_what_is_missing(table):
    assert heading(table) == "Digits, % (Table 1)"
    assert footnotes(table) == (
        "mean ± standard deviation over seeds 0, 1, 2",
        "1 of 12 figures are missing",
        BOLD,
        "two values stand for an interval where no more are known",
        "absent: syn",
    )


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


def markdown_of(table):
    return markdown(grid_of(table))


def latex_of(table):
    return latex(grid_of(table), table.name)


def test_domains_with_the_names_of_our_keys_keep_their_columns(make_table):
    """A domain called average is not the average of all."""
    names = ("average", "train", "val", "best")
    cells = {
        (row, name): Cell((10.0 * place, 10.0 * place, 10.0 * place))
        for row in ("ERM", "Pro-RandConv")
        for place, name in enumerate(names, 1)
    }
    table = make_table(columns=names, averaged=names, cells=cells)
    assert table.shown_columns == (AVERAGE, *names)
    grid = grid_of(table)
    assert grid.head == ("", "average of all", *names)
    means = ["25.00 ± 0.00", "10.00 ± 0.00", "20.00 ± 0.00", "30.00 ± 0.00", "40.00 ± 0.00"]
    assert list(grid.lines[0].cells) == means
    read = list(csv.DictReader(io.StringIO(comma_separated(table))))
    own = {line["column"]: line["mean"] for line in read if line["row"] == "ERM"}
    assert own == dict(zip(grid.head[1:], ["25.0", "10.0", "20.0", "30.0", "40.0"], strict=True))
    text = latex(grid, "t")
    assert r" & average of all & average & train & val & best \\" in text


def test_what_looks_like_markup_is_printed_as_it_is():
    grid = Grid.of(("a", "b [red]"), [("[bold]ph", "[/]"), (":smile:", "\\[x]")], words=1)
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(terminal(grid))
    text = console.export_text()
    for part in ("b [red]", "[bold]ph", "[/]", ":smile:", "\\[x]"):
        assert part in text


class TestMarkdown:
    def test_every_line_has_every_column(self, make_table):
        text = markdown_of(make_table()).splitlines()
        rows = [line for line in text if line.startswith("|")]
        assert len(rows) == 2 + 3 + 5
        assert {line.count("|") for line in rows} == {5}
        assert "| ERM | 52.00 ± 2.00 | 32.00 ± 2.00 | 72.00 ± 2.00 |" in text
        assert "- absent: syn" in text

    def test_the_best_is_bold(self, make_table):
        text = markdown_of(make_table())
        assert "| Pro-RandConv | **71.50 ± 2.12 (2 of 3)** | **62.00 ± 2.00** |" in text
        assert text.count("**") == 2 * 3

    def test_signs_of_markdown_are_escaped(self, make_table):
        text = markdown_of(make_table(columns=("a|b_c",), cells={}, averaged=()))
        assert "| a\\|b\\_c |" in text


class TestCommaSeparated:
    @pytest.fixture
    def read(self, make_table):
        return list(csv.DictReader(io.StringIO(comma_separated(make_table()))))

    def test_a_line_for_each_row_column_and_seed(self, read):
        assert tuple(read[0]) == FIELDS
        keys = [(line["row"], line["column"], line["seed"]) for line in read]
        assert len(set(keys)) == len(keys) == 2 * 3 * 3
        values = [line["value"] for line in read if line["row"] == "Pro-RandConv"]
        assert values == ["70.0", "", "73.0", "60.0", "62.0", "64.0", "80.0", "", "82.0"]

    def test_the_summary_stands_beside_each_value(self, read):
        line = next(x for x in read if (x["row"], x["column"]) == ("Pro-RandConv", "usps"))
        assert line["seeds"] == "2"
        assert float(line["mean"]) == 81
        assert float(line["deviation"]) == pytest.approx(2**0.5)
        assert (line["low"], line["gain_high"]) == ("", "")  # of two values
        assert float(line["to_paper"]) == pytest.approx(-12.7)
        assert (line["baseline"], float(line["gain"])) == ("ERM", 9)
        other = next(x for x in read if (x["row"], x["column"]) == ("Pro-RandConv", "svhn"))
        assert float(other["low"]) == pytest.approx(62 - 4.9683, abs=1e-3)


class TestLatex:
    def test_it_has_the_rules_of_booktabs_and_as_many_cells_as_columns(self, make_table):
        text = latex_of(make_table())
        assert [text.count(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule")] == [1] * 3
        assert r"\begin{tabular}{lrrr}" in text
        cells = [line.count(" & ") for line in text.splitlines() if line.endswith(r"\\")]
        assert cells == [3] * (1 + 3 + 5)
        assert r"(2 of 3)} & \textbf{62.00 $\pm$ 2.00}" in text

    def test_no_sign_of_ours_is_taken_for_a_command(self, make_table):
        row = "50 % & σ_w ~ U {x} #1 $ ^ \\"
        text = latex_of(make_table(rows=(row,), cells={}, baseline=None))
        assert (
            r"50 \% \& $\sigma$\_w \textasciitilde{} U \{x\} \#1 \$ "
            r"\textasciicircum{} \textbackslash{} & -- & -- & --" in text
        )

    def test_a_label_is_made_of_safe_letters(self, make_table):
        name = r"runs-σ_w}\input{/etc/passwd}%~#"
        assert r"\label{tab:runs-w-input-etc-passwd}" in latex_of(make_table(name=name))
        assert r"\label{tab:table}" in latex_of(make_table(name="σ"))

    def test_a_caption_is_one_paragraph(self, make_table):
        text = latex_of(make_table(title="one\n\ntwo"))
        assert r"\caption{one two, \%" in text

    @pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
    def test_it_compiles(self, make_table, tmp_path):
        row = "50 % & σ_w ~ U × {x} #1 $ ^ \\ < | α²"
        tables = [make_table(), make_table(rows=(row,), cells={}, baseline=None)]
        body = "\n".join(map(latex_of, tables))
        (tmp_path / "t.tex").write_text(
            "\\documentclass{article}\\usepackage{booktabs}\n"
            f"\\begin{{document}}\n{body}\\end{{document}}\n"
        )
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-2000:]
        assert "Missing character" not in (tmp_path / "t.log").read_text()
        assert (tmp_path / "t.pdf").stat().st_size > 0
