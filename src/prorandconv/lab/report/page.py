"""What a report shows, as an HTML page that needs nothing but itself, and as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from jinja2 import Environment, StrictUndefined

from ..study.table import Table
from .confusions import MethodConfusions
from .formats.lines import best, footnotes, heading, lines
from .formats.markdown import code, escaped, grid, markdown_table
from .plots.pictures import Picture
from .plots.style import DARK_GROUND, DARK_INK, GROUND, INK
from .read import StudyRecord

TEMPLATE = "page.html"


@dataclass(frozen=True)
class ShownTable:
    """A table, its plot, and the files that hold it beside the report."""

    table: Table
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
    functions = {"best": best, "footnotes": footnotes, "heading": heading, "lines": lines}
    return template.render(sections=sections, **colours, **functions)


def markdown(sections: Sequence[Section]) -> str:
    """The whole report in Markdown, with links to the pictures and tables beside it."""
    parts = []
    for section in sections:
        parts.append(f"# {escaped(section.study.title)}")
        parts += [f"**{escaped(section.verdict)}**"] if section.verdict else []
        parts += [f"- {escaped(line)}" for line in section.study.problems]
        for shown in section.tables:
            files = ", ".join(f"[{kind}]({name})" for kind, name in shown.files.items())
            parts += [f"## {escaped(heading(shown.table))}", markdown_table(shown.table)]
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
    return caption, grid(["class", *targets], rows)


def _shown(score: float | None) -> str:
    return "absent" if score is None else f"{score:.0f}"


def _links(pictures: Sequence[Picture | None]) -> list[str]:
    return [f"![{escaped(one.title)}]({one.name}.png)" for one in pictures if one is not None]
