"""Tables in Markdown, CSV and LaTeX."""

import csv
import io
import shutil
import subprocess

import pytest

from prorandconv.lab.report.formats.comma_separated import FIELDS, comma_separated
from prorandconv.lab.report.formats.latex import latex_table
from prorandconv.lab.report.formats.markdown import markdown_table


class TestMarkdown:
    def test_every_line_has_every_column(self, make_table):
        text = markdown_table(make_table()).splitlines()
        rows = [line for line in text if line.startswith("|")]
        assert len(rows) == 2 + 3 + 5
        assert {line.count("|") for line in rows} == {5}
        assert "| ERM | 52.00 ± 2.00 | 32.00 ± 2.00 | 72.00 ± 2.00 |" in text
        assert "- absent: syn" in text

    def test_the_best_is_bold(self, make_table):
        text = markdown_table(make_table())
        assert "| Pro-RandConv | **71.50 ± 2.12 (2 of 3)** | **62.00 ± 2.00** |" in text
        assert text.count("**") == 2 * 3

    def test_signs_of_markdown_are_escaped(self, make_table):
        text = markdown_table(make_table(columns=("a|b_c",), cells={}, averaged=()))
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
        text = latex_table(make_table())
        assert [text.count(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule")] == [1] * 3
        assert r"\begin{tabular}{lrrr}" in text
        cells = [line.count(" & ") for line in text.splitlines() if line.endswith(r"\\")]
        assert cells == [3] * (1 + 3 + 5)
        assert r"(2 of 3)} & \textbf{62.00 $\pm$ 2.00}" in text

    def test_no_sign_of_ours_is_taken_for_a_command(self, make_table):
        row = "50 % & σ_w ~ U {x} #1 $ ^ \\"
        text = latex_table(make_table(rows=(row,), cells={}, baseline=None))
        assert (
            r"50 \% \& $\sigma$\_w \textasciitilde{} U \{x\} \#1 \$ "
            r"\textasciicircum{} \textbackslash{} & -- & -- & --" in text
        )

    def test_a_label_is_made_of_safe_letters(self, make_table):
        name = r"runs-σ_w}\input{/etc/passwd}%~#"
        assert r"\label{tab:runs-w-input-etc-passwd}" in latex_table(make_table(name=name))
        assert r"\label{tab:table}" in latex_table(make_table(name="σ"))

    def test_a_caption_is_one_paragraph(self, make_table):
        text = latex_table(make_table(title="one\n\ntwo"))
        assert r"\caption{one two, \%" in text

    @pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
    def test_it_compiles(self, make_table, tmp_path):
        row = "50 % & σ_w ~ U × {x} #1 $ ^ \\ < | α²"
        tables = [make_table(), make_table(rows=(row,), cells={}, baseline=None)]
        body = "\n".join(map(latex_table, tables))
        (tmp_path / "t.tex").write_text(
            "\\documentclass{article}\\usepackage{booktabs}\n"
            f"\\begin{{document}}\n{body}\\end{{document}}\n"
        )
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-2000:]
        assert "Missing character" not in (tmp_path / "t.log").read_text()
        assert (tmp_path / "t.pdf").stat().st_size > 0
