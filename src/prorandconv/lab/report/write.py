"""A directory of results as files to read: tables, plots, a page."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..files import write_text
from ..study.table import Table
from .compare import settings, table_of
from .formats.comma_separated import comma_separated
from .formats.latex import latex_table
from .formats.lines import heading
from .formats.markdown import markdown_table
from .page import page
from .plots.pictures import (
    Folder,
    Picture,
    confusion_pictures,
    curve_pictures,
    sample_pictures,
    slug,
)
from .plots.tables import describe, table_plot
from .provenance import provenance
from .read import Study, read


@dataclass(frozen=True)
class Section:
    """What a report shows of one study."""

    study: Study
    tables: tuple[tuple[Table, Picture | None], ...]
    """each with its plot"""
    curves: tuple[Picture, ...]
    confusions: tuple[Picture, ...]
    samples: tuple[Picture, ...]
    told: tuple[str, ...]
    """why samples are not there"""
    provenance: tuple[tuple[str, str], ...]


def write_report(
    directory: Path, output: Path, *, samples: bool = True, data_root: Path | None = None
) -> tuple[Section, ...]:
    """Read results and write every form of them.

    Args:
        directory: with studies or runs in it.
        output: the folder to write to.
        samples: show augmented images of the source.
        data_root: the folder of data sets, for samples, if it is not where the runs had it.
    """
    folder = Folder(output)
    sections = tuple(_section(study, folder, samples, data_root) for study in read(directory))
    write_text(output / "report.md", markdown(sections))
    write_text(output / "index.html", page(sections))
    return sections


def _section(study: Study, folder: Folder, samples: bool, data_root: Path | None) -> Section:
    groups = settings(study.runs, [row for table in study.tables for row in table.rows])
    if not study.tables:
        made = tuple(table_of(group, slug(group.name)) for group in groups if group.targets)
        study = dataclasses.replace(study, tables=made)
    tables = []
    for table in study.tables:
        path = folder.free(*([] if table.name.startswith(study.name) else [study.name]), table.name)
        write_text(path.with_name(f"{path.name}.csv"), comma_separated(table))
        write_text(path.with_name(f"{path.name}.tex"), latex_table(table))
        figure = table_plot(table)
        plot = None if figure is None else Picture.plot(figure, path, describe(table))
        tables.append((table, plot))
    curves: list[Picture] = []
    confusions: list[Picture] = []
    for group in groups:
        name = f"{study.name} {group.name}" if len(groups) > 1 else study.name
        curves += curve_pictures(group, name, folder)
        confusions += confusion_pictures(group, name, folder)
    sheets = list(sample_pictures(groups, study.name, folder, data_root)) if samples else []
    return Section(
        study,
        tuple(tables),
        tuple(curves),
        tuple(confusions),
        tuple(one for one in sheets if isinstance(one, Picture)),
        tuple(one for one in sheets if isinstance(one, str)),
        tuple(provenance(study)),
    )


def markdown(sections: Sequence[Section]) -> str:
    """The whole report in Markdown, with links to the pictures beside it."""
    told = []
    for section in sections:
        told.append(f"# {section.study.title}")
        told += [f"- {line}" for line in section.study.lacking]
        for table, plot in section.tables:
            told += [f"## {heading(table)}", markdown_table(table), *_links([plot])]
        for title, pictures in (
            ("Accuracy over epochs", section.curves),
            ("Confusion matrices", section.confusions),
            ("Augmented images", section.samples),
        ):
            if pictures:
                told += [f"## {title}", *_links(pictures)]
        told += [*section.told, "## How it was made"]
        told.append("\n".join(f"- {name}: `{value}`" for name, value in section.provenance))
    return "\n\n".join(told) + "\n"


def _links(pictures: Sequence[Picture | None]) -> list[str]:
    return [f"![{one.title}]({one.name}.png)" for one in pictures if one is not None]
