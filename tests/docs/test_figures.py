"""Figures in the documents are those of the result files.

A comment after a number, which no reader sees, has the expression that gives it:

    Pro-RandConv reaches 79.1 %<!--= run("digits/150-epochs/pro-randconv-0", "average") -->

A comment on a line of its own gives each figure of the table below it, from ``row`` (the first
cell of the line) and ``column`` (the head), or None for a number that stands in no file; a cell
with a comment of its own is left to that:

    <!--= study("digits/20-epochs", row, column) -->

What a number shows is compared with the value, rounded to as many digits; ``60.2 ± 1.9`` with mean
and standard deviation over the seeds. A decimal number with a unit of a measurement must have its
expression. Names of files are those below ``docs/results``, without
``runs`` and ending: ``speed/goals`` is ``docs/results/speed/runs/goals.json``.
"""

import json
import re
import statistics
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pytest
from scipy.special import stdtrit

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
PAPER = ROOT / "src" / "prorandconv" / "lab" / "paper.json"
DOCS = [page for page in sorted((ROOT / "docs").rglob("*.md")) if "runs" not in page.parts]
PAGES = [ROOT / "README.md", *DOCS]
MARK = re.compile(r"<!--= (.+?) -->", re.DOTALL)
TABLE = re.compile(rf"^{MARK.pattern}\n\n((?:\|.*\n)+)", re.MULTILINE)
NUMBER = re.compile(r"[+−-]?\d[\d,]*(?:\.\d+)?")
SPREAD = re.compile(rf"({NUMBER.pattern})(?: ± ({NUMBER.pattern}))?")
THEIRS = "the paper's "
MEASURED = re.compile(
    r"\d+\.\d+(?: ± [\d.]+)?\s(?:%|×|points|times|ms|s|copies|ahead|behind)(?!\w)"
)
"""A number that looks as if it were in a file of results."""
UNCHECKED = re.compile(
    r"^```.*?^```|`[^`\n]+`|<!-- (?:made by|table of).*?<!-- end.*?-->", re.MULTILINE | re.DOTALL
)
"""Code, and the tables that commands write, which have tests of their own."""
ALIASES = {
    "baselineerm": "erm",
    "baseline": "erm",
    "mnistma": "mnistm",
    "optdigitsscans8px": "optdigits",
    "mnistoverphotos": "mnistmlike",
    "typefaces": "fonts",
    "housenumbersrendered": "numbers",
    "byday": "camvidday",
    "atdusk": "camviddusk",
    "warped": "moved",
    "warpedbyanotherdraw": "movedbyanotherdraw",
    "oursdlabelswarped": "oursdlabelsmoved",
    "sharedoffsets": "shared",
}
"""What pages call rows and columns otherwise than files; both without blanks and punctuation."""


@dataclass(frozen=True)
class Figure:
    """A figure for each seed; arithmetic is paired by seed."""

    values: tuple[float, ...]
    paper: float | None = None

    @property
    def mean(self):
        return statistics.fmean(self.values)

    @property
    def deviation(self):
        return statistics.stdev(self.values) if len(self.values) > 1 else None

    def __sub__(self, other):
        if not isinstance(other, Figure):
            return Figure(tuple(value - other for value in self.values))
        assert len(self.values) == len(other.values), "differences are paired by seed"
        return Figure(tuple(a - b for a, b in zip(self.values, other.values, strict=True)))

    def __rsub__(self, other):
        return Figure(tuple(other - value for value in self.values))

    def __rmul__(self, factor):
        return Figure(tuple(factor * value for value in self.values))


@lru_cache
def content(path):
    return json.loads(path.read_text())


def stored(name):
    study, _, rest = name.partition("/")
    return content(RESULTS / study / "runs" / f"{rest}.json")


def key(label):
    plain = re.sub(r"[^a-z0-9+*]", "", label.lower())
    return ALIASES.get(plain, plain)


def chosen(label, labels):
    """The one of the labels that names the same; KeyError if there is none."""
    return {key(one): one for one in labels}[key(label)]


def study(name, row, column, table=None):
    """A cell of a study's first table, or of the one that ``table`` ends the name of.

    "the paper's ROW" or "the paper's COLUMN" is the paper's figure; "epochs" and "seeds" are the
    study's.
    """
    if row.startswith(THEIRS) or column.startswith(THEIRS):
        ours = study(name, row.removeprefix(THEIRS), column.removeprefix(THEIRS), table)
        assert ours.paper is not None, f"{name} has no figure of the paper for {row}, {column}"
        return ours.paper
    if column == "epochs":
        return stored(f"{name}/study")["settings"]["epochs"]
    tables = stored(f"{name}/study")["tables"]
    one = next(t for t in tables if table is None or t["name"].endswith(table))
    if column == "seeds":
        return len(one["seeds"])
    row = chosen(row, one["rows"])
    column = chosen(column, [*one["columns"], *(["average"] if one["averaged"] else [])])
    cells = {(cell["row"], cell["column"]): cell for cell in one["cells"]}
    parts = [cells[row, part] for part in (one["averaged"] if column == "average" else [column])]
    papers = [part["paper"] for part in parts]
    return Figure(
        tuple(map(statistics.fmean, zip(*(part["values"] for part in parts), strict=True))),
        None if None in papers else statistics.fmean(papers),
    )


def run(name, column, weights=None):
    """Of a run, or with ``*`` of its seeds: a target's figure, "average" or another field."""
    folder, _, last = name.rpartition("/")
    folder = RESULTS / folder.split("/")[0] / "runs" / "/".join(folder.split("/")[1:])
    paths = sorted(folder.glob(f"{last}.json"))
    assert paths, f"no result {name}"
    if column == "seeds":
        return len(paths)
    if column == "epochs":
        (epochs,) = {content(path)["config"]["epochs"] for path in paths}
        return epochs
    found = []
    for path in paths:
        result = content(path)
        measured = result[weights or result["selected"]]
        targets = {key(label): target for label, target in measured["targets"].items()}
        score = "miou" if "val_miou" in measured else "accuracy"
        found.append(targets[key(column)][score] if key(column) in targets else measured[column])
    return Figure(tuple(found))


def metrics(name, epoch, column):
    """A figure of a run after an epoch: of a target, "average", or a field of its metrics."""
    path, _, last = name.partition("/")
    lines = (RESULTS / path / "runs" / f"{last}-metrics.jsonl").read_text().splitlines()
    line = next(one for one in map(json.loads, lines) if one["epoch"] == epoch)
    if column == "average":
        return statistics.fmean(line["targets"][one] for one in stored(name)["averaged"])
    targets = {key(label): value for label, value in line.get("targets", {}).items()}
    return targets[key(column)] if key(column) in targets else line[column]


def value(name, *keys):
    """Any value of a file; a mapping as a key takes the entry of a list that has its items."""
    found = stored(name)
    for one in keys:
        if isinstance(one, dict):
            (found,) = (entry for entry in found if one.items() <= entry.items())
        elif isinstance(found, dict) and one not in found:
            found = found[chosen(one, found)]
        else:
            found = found[one]
    return found


def seeds(values):
    """A figure of the values of its seeds."""
    return Figure(tuple(values))


def interval(figure):
    """The 95 % interval of the mean, by Student's t."""
    count = len(figure.values)
    half = stdtrit(count - 1, 0.975) * figure.deviation / count**0.5
    return figure.mean - half, figure.mean + half


def paper(table, row, column):
    """A figure of the paper, by the table's number or label."""
    found = {
        one["values"][chosen(column, one["values"])]
        for listed in content(PAPER)["tables"]
        if table in (listed["table"], listed["label"])
        for one in listed["rows"]
        if key(one["row"]) == key(row) and key(column) in map(key, one["values"])
    }
    assert len(found) == 1, f"{table}, {row}, {column}: {len(found)} figures"
    return found.pop()


WORDS = {
    f.__name__: f
    for f in (study, run, metrics, value, paper, seeds, interval, min, max, abs, int, len, sum)
}


def evaluated(expression, **names):
    return eval(expression, {"__builtins__": {}} | WORDS | names)


def agrees(shown, value):
    """Whether a number as it is shown is the value, rounded."""
    digits = shown.replace(",", "").replace("−", "-")
    return abs(float(digits) - value) <= 0.5 * 10 ** -len(digits.partition(".")[2]) + 1e-9


def shows(text, value):
    """Whether the last number of a text, or the last ones, are the value, or the values."""
    if isinstance(value, list | tuple):
        shown = NUMBER.findall(text)[-len(value) :]
        return len(shown) == len(value) and all(map(agrees, shown, value))
    shown, spread = (SPREAD.findall(text) or [("", "")])[-1]
    if not isinstance(value, Figure):
        return shown != "" and spread == "" and agrees(shown, value)
    fits = spread == "" or (value.deviation is not None and agrees(spread, value.deviation))
    return shown != "" and agrees(shown, value.mean) and fits


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def plain(text):
    """Without addresses of links, emphasis, comments and breaks of lines."""
    text = re.sub(r"\]\([^)]*\)|[*`\[]|<!--.*?-->", "", text, flags=re.DOTALL)
    return " ".join(text.split())


def faults(text):
    """Each figure of a page that its comment does not give."""
    for table in TABLE.finditer(text):
        yield from table_faults(table[1], table[2].splitlines())
    rest, before = TABLE.sub(r"\2", text), 0
    for mark in MARK.finditer(rest):
        shown, before = rest[before : mark.start()], mark.end()
        shown = plain(re.split(r"\||\n\n", shown)[-1])
        if not shows(shown, value := evaluated(mark[1])):
            yield f"{shown[-60:]!r}: {mark[1]} is {value}"


def table_faults(expression, lines):
    head = [plain(cell) for cell in cells(lines[0])]
    for line in lines[2:]:
        row, *rest = cells(line)
        for column, cell in zip(head[1:], rest, strict=True):
            if MARK.search(cell) or not NUMBER.search(cell):
                continue
            value = evaluated(expression, row=plain(row), column=column)
            if value is not None and not shows(plain(cell), value):
                yield f"{plain(row)}, {column}: {cell}: {expression} is {value}"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_figures_are_those_of_the_result_files(page):
    assert list(faults(page.read_text())) == []


def unproven(text):
    """Each figure that looks measured and has no expression."""
    text = UNCHECKED.sub("", TABLE.sub("", text))
    text = re.sub(rf"{SPREAD.pattern}[^\d|]*?{MARK.pattern}", "", text, flags=re.DOTALL)
    return [found[0] for found in MEASURED.finditer(text)]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_looks_measured_has_its_expression(page):
    assert unproven(page.read_text()) == []


RUN = 'run("digits/150-epochs/pro-randconv-0", "average")'
ERM = 'study("digits/20-epochs", "ERM", "average")'


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (f"It reaches 79.1 %<!--= {RUN} --> on average.", True),
        (f"It reaches [79.13](to/3.md) %<!--= {RUN} -->.", True),
        (f"It reaches 79.2 %<!--= {RUN} -->.", False),
        (f"It reaches 79.1 ± 0.2 %<!--= {RUN} -->.", False),
        (f"It reaches a lot<!--= {RUN} -->.", False),
        (f"ERM reaches 54.81 ± 0.78 %<!--= {ERM} -->.", True),
        (f"ERM reaches 54.8<!--= {ERM} -->.", True),
        (f"ERM reaches 54.81 ± 0.79 %<!--= {ERM} -->.", False),
        (f"54.8<!--= {ERM} --> and 79.1 %<!--= {RUN} -->", True),
        (f"54.8<!--= {ERM} --> and 79 %<!--= {ERM} -->", False),
        ("ten, 1 and 2<!--= [1.1, 2.2] -->", True),
        ("ten, 2 and 1<!--= [1.1, 2.2] -->", False),
        ("11,050 ms<!--= 11049.7 -->", True),
        ("−1.5 points<!--= -1.5 -->", True),
        ("1.5 points<!--= -1.5 -->", False),
    ],
)
def test_a_figure_in_prose_is_compared_with_its_file(text, right):
    assert (list(faults(text)) == []) is right


@pytest.mark.parametrize(
    ("line", "right"),
    [
        ("| ERM | 32.12 ± 1.26 | **54.81** | 55.22 |", True),
        ("| [ERM](erm.md) | 32.12 | – | |", True),
        ("| ERM | 32.13 | 54.81 | 55.22 |", False),
        ("| ERM | 32.12 | 54.81 | 55.23 |", False),
        ("| ERM | 32.12 | 54.81 | 9.9<!--= 9.87 --> |", True),
        ("| ERM | 32.12 | 54.81 | 9.9<!--= 9.7 --> |", False),
        ("| the paper's ERM | 32.52 | 55.22 | |", True),
    ],
)
def test_each_cell_of_a_table_is_compared_by_its_line_and_column(line, right):
    text = f"""<!--= study("digits/20-epochs", row, column) -->

| | SVHN | average | the paper's average |
| --- | ---: | ---: | ---: |
{line}
"""
    assert (list(faults(text)) == []) is right


def test_figures_without_an_expression_are_found():
    text = f"79.1 %<!--= {RUN} -->, 3.6 points ahead, 2.08 times, `1.5 %`, σ = 0.5, 60.2 ± 1.9 %"
    assert unproven(text) == ["3.6 points", "2.08 times", "60.2 ± 1.9 %"]


def test_a_label_that_the_file_does_not_have_is_an_error():
    with pytest.raises(KeyError, match="randconf"):
        list(faults('1.0<!--= study("digits/20-epochs", "RandConf", "average") -->'))
