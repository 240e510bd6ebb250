"""What a report shows, as an HTML page that needs nothing but itself, and as Markdown."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
from jinja2 import Environment, StrictUndefined

from ..files import write_text
from ..study.table import Table
from ..tasks import Evaluation
from .compare import Comparison, comparisons, table_of
from .curves import DARK_GROUND, DARK_INK, GROUND, INK
from .formats import code, comma_separated, escaped, latex
from .formats import markdown as markdown_table
from .grid import Grid, grid_of
from .looks import labelled, labelled_rows
from .pictures import Folder, Picture, curve_pictures, prediction_pictures, sample_pictures, slug
from .plots import describe, table_plot
from .read import StudyRecord, read
from .summary import provenance, verdict

TEMPLATE = "page.html"


@dataclass(frozen=True)
class ShownTable:
    """A table, its plot, and the files that hold it beside the report."""

    table: Table
    grid: Grid
    """the same as texts"""
    plot: Picture | None
    files: Mapping[str, str]
    """names of files by format"""


@dataclass(frozen=True)
class Section:
    """What a report shows of one study."""

    study: StudyRecord
    tables: tuple[ShownTable, ...]
    curves: tuple[Picture, ...]
    confusions: tuple[MethodConfusions, ...]
    samples: tuple[Picture, ...]
    messages: tuple[str, ...]
    """why samples are missing"""
    provenance: tuple[tuple[str, str], ...]
    verdict: str
    """what was found, in a sentence; may be empty"""
    record: str
    """where its study.json is, seen from the report; may be empty"""


def html(sections: Sequence[Section]) -> str:
    """The page, with every picture in it."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(files(__package__).joinpath(TEMPLATE).read_text("utf-8"))
    colours = {"ink": INK, "ground": GROUND, "dark_ink": DARK_INK, "dark_ground": DARK_GROUND}
    return template.render(sections=sections, **colours)


def markdown(sections: Sequence[Section]) -> str:
    """The whole report in Markdown, with links to the pictures and tables beside it."""
    parts = []
    for section in sections:
        parts.append(f"# {escaped(section.study.title)}")
        parts += [f"**{escaped(section.verdict)}**"] if section.verdict else []
        parts += [f"- {escaped(line)}" for line in section.study.problems]
        for shown in section.tables:
            files = ", ".join(f"[{kind}]({name})" for kind, name in shown.files.items())
            parts += [f"## {escaped(shown.grid.title)}", markdown_table(shown.grid)]
            parts += [f"As {files}", *_links([shown.plot])]
        if section.curves:
            parts += ["## Learning curves", *_links(section.curves)]
        if section.confusions:
            parts += ["## By class", "The page has the whole confusion matrices."]
            parts += [part for one in section.confusions for part in _by_class(one)]
        if section.samples:
            parts += ["## Pictures", *_links(section.samples)]
        parts += [*map(escaped, section.messages), "## How it was made"]
        made = (f"- {escaped(name)}: {code(value)}" for name, value in section.provenance)
        parts.append("\n".join(made))
    return "\n\n".join(parts) + "\n"


def _by_class(one: MethodConfusions) -> tuple[str, str]:
    """The score of each class, a line each."""
    rows = [
        (name, *(_shown(matrix.per_class[place]) for matrix in one.matrices))
        for place, name in enumerate(one.matrices[0].classes)
    ]
    targets = [matrix.target for matrix in one.matrices]
    caption = f"{escaped(one.title)}, {one.matrices[0].class_metric} in %"
    return caption, markdown_table(Grid.of(["class", *targets], rows)).rstrip("\n")


def _shown(score: float | None) -> str:
    return "absent" if score is None else f"{score:.0f}"


def _links(pictures: Sequence[Picture | None]) -> list[str]:
    return [f"![{escaped(one.title)}]({one.name}.png)" for one in pictures if one is not None]


@dataclass(frozen=True)
class ConfusionMatrix:
    """What a method took the images of a target for, summed over seeds."""

    target: str
    metric: str
    """what the score is"""
    score: float
    class_metric: str
    """what the scores of the classes are"""
    per_class: tuple[float | None, ...]
    """None for a class that does not occur"""
    classes: tuple[str, ...]
    shares: tuple[tuple[float, ...], ...]
    """per cent of the images of a class (row) that were predicted as each class (column)"""


@dataclass(frozen=True)
class MethodConfusions:
    """The matrices of one method, one for each target."""

    title: str
    matrices: tuple[ConfusionMatrix, ...]


def confusions(comparison: Comparison) -> list[MethodConfusions]:
    """The matrices of every method that has a run done."""
    found = []
    for row in comparison.rows:
        matrices = tuple(
            _matrix(target, counts, comparison.classes)
            for target in comparison.targets
            if (counts := comparison.confusion(row, target)) is not None
        )
        if matrices:
            found.append(MethodConfusions(f"{row}: {comparison.title}", matrices))
    return found


def shares(counts: Evaluation) -> tuple[tuple[float, ...], ...]:
    """Per cent of each class's images (rows) that were predicted as each class (columns).

    Example:
        >>> from prorandconv.lab.tasks import Accuracy
        >>> shares(Accuracy(((3, 1), (0, 0))))
        ((75.0, 25.0), (0.0, 0.0))
    """
    plain = np.array(counts.confusion, dtype=np.float64)
    found = 100 * plain / np.maximum(plain.sum(1, keepdims=True), 1)
    return tuple(map(tuple, found.tolist()))


def _matrix(target: str, counts: Evaluation, classes: tuple[str, ...]) -> ConfusionMatrix:
    size = len(counts.confusion)
    names = classes if len(classes) == size else tuple(map(str, range(size)))
    return ConfusionMatrix(
        target,
        counts.title,
        counts.score,
        counts.class_title,
        counts.per_class,
        names,
        shares(counts),
    )


def write_report(
    directory: Path, output: Path, *, samples: bool = True, data_root: Path | None = None
) -> tuple[Section, ...]:
    """Read results and write every form of them.

    Args:
        directory: with studies or runs in it.
        output: the folder to write to.
        samples: show images of the data sets.
        data_root: the folder of data sets, for samples, if it is not where the runs had it.
    """
    folder = Folder(output)
    sections = tuple(_section(study, folder, samples, data_root) for study in read(directory))
    write_text(output / "report.md", markdown(sections))
    write_text(output / "index.html", html(sections))
    return sections


def _section(study: StudyRecord, folder: Folder, samples: bool, data_root: Path | None) -> Section:
    names = [row for table in study.tables for row in table.rows]
    groups = [labelled_rows(group) for group in comparisons(study.runs, names)]
    made = [table_of(group, slug(group.name)) for group in groups if group.targets]
    study = dataclasses.replace(study, tables=tuple(map(labelled, study.tables)) or tuple(made))
    tables = []
    for table in study.tables:
        path = folder.free(*([] if table.name.startswith(study.name) else [study.name]), table.name)
        files = {"CSV": f"{path.name}.csv", "LaTeX": f"{path.name}.tex"}
        grid = grid_of(table)
        write_text(path.with_name(files["CSV"]), comma_separated(table))
        write_text(path.with_name(files["LaTeX"]), latex(grid, table.name))
        figure = table_plot(table)
        narrow = table_plot(table, 1)
        plot = None if figure is None else Picture.plot(figure, path, describe(table), narrow)
        tables.append(ShownTable(table, grid, plot, files))
    curves: list[Picture] = []
    matrices: list[MethodConfusions] = []
    for group in groups:
        name = f"{study.name} {group.name}" if len(groups) > 1 else study.name
        curves += curve_pictures(group, name, folder)
        matrices += confusions(group)
    sheets = list(prediction_pictures(groups, study.name, folder, data_root, scenes=samples))
    if samples:
        sheets += sample_pictures(groups, study.name, folder, data_root)
    return Section(
        study,
        tuple(tables),
        tuple(curves),
        tuple(matrices),
        tuple(one for one in sheets if isinstance(one, Picture)),
        tuple(one for one in sheets if isinstance(one, str)),
        tuple(provenance(study)),
        verdict(study),
        "" if study.path is None else Path(os.path.relpath(study.path, folder.path)).as_posix(),
    )
