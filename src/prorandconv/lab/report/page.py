"""The report as one page that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING

from jinja2 import Environment, StrictUndefined

from .formats.lines import best, footnotes, heading, lines
from .plots.style import DARK_GROUND, DARK_INK, GROUND, INK

if TYPE_CHECKING:
    from .write import Section

TEMPLATE = "page.html"


def page(sections: Sequence[Section]) -> str:
    """The page, with every picture in it."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(files(__package__).joinpath(TEMPLATE).read_text("utf-8"))
    colours = {"ink": INK, "ground": GROUND, "dark_ink": DARK_INK, "dark_ground": DARK_GROUND}
    functions = {"best": best, "footnotes": footnotes, "heading": heading, "lines": lines}
    return template.render(sections=sections, **colours, **functions)
