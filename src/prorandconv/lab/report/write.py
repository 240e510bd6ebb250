"""A directory of results as files to read: tables, plots, a page."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from ..files import write_text
from .compare import comparisons, table_of
from .confusions import MethodConfusions, confusions
from .formats.comma_separated import comma_separated
from .formats.latex import latex_table
from .looks import labelled, labelled_rows
from .page import Section, ShownTable, html, markdown
from .plots.pictures import (
    Folder,
    Picture,
    curve_pictures,
    prediction_pictures,
    sample_pictures,
    slug,
)
from .plots.tables import describe, table_plot
from .provenance import provenance
from .read import StudyRecord, read
from .verdict import verdict


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
        write_text(path.with_name(files["CSV"]), comma_separated(table))
        write_text(path.with_name(files["LaTeX"]), latex_table(table))
        figure = table_plot(table)
        narrow = table_plot(table, 1)
        plot = None if figure is None else Picture.plot(figure, path, describe(table), narrow)
        tables.append(ShownTable(table, plot, files))
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
