"""How plots look: readable in print and for the colour-blind, in light and dark."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...study.table import Estimate

INK, GROUND = "#1b1b1c", "#fffffe"
"""Colours of text and background, which follow the page's between light and dark."""
DARK_INK, DARK_GROUND = "#e6e6e3", "#17181a"
PHONE_WIDTH = 3.7
"""Inches: what a screen of 390 pixels shows without making letters smaller."""
STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.facecolor": GROUND,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "figure.facecolor": GROUND,
    "font.size": 9,
    "legend.frameon": False,
    "savefig.facecolor": GROUND,
    "svg.hashsalt": "prorandconv",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches; use it within :func:`styled`."""
    return Figure(figsize=(width, height), layout="constrained")


def styled() -> AbstractContextManager[None]:
    """The style, while a figure is made."""
    return rc_context(STYLE)


def legend_columns(names: Sequence[str], width: float) -> int:
    """How many names fit beside each other into a legend of this many inches."""
    return max(1, min(len(names), int(11 * width / (8 + max(map(len, names))))))


def grid(axes: Axes, axis: str) -> None:
    """Thin lines to read values by."""
    axes.grid(axis=axis, color=INK, alpha=0.15, linewidth=0.6)  # type: ignore[arg-type]


def shade(axes: Axes, xs: Sequence[float], estimates: Iterable[Estimate], colour: str) -> None:
    """The standard deviation around the means of a curve."""
    bands = [(one.mean, one.deviation or 0.0) for one in estimates]
    low, high = [mean - spread for mean, spread in bands], [mean + spread for mean, spread in bands]
    axes.fill_between(xs, low, high, color=colour, alpha=0.18, linewidth=0)


def render(figure: Figure, form: Literal["svg", "png"]) -> bytes:
    """The figure as the content of a file; the same figure gives the same bytes."""
    buffer = io.BytesIO()
    metadata = {"Date": None} if form == "svg" else {}
    with styled():
        figure.savefig(buffer, format=form, dpi=150, metadata=metadata)
    figure.set_layout_engine("none")  # it is arranged now: not again for another form
    return buffer.getvalue()


def themed(drawing: bytes) -> bytes:
    """An SVG that follows the page it is in between light and dark."""
    text = drawing.decode().replace(INK, "var(--ink)").replace(GROUND, "var(--ground)")
    theme = (
        f"<style>svg{{--ink:{INK};--ground:{GROUND}}}@media(prefers-color-scheme:dark)"
        f"{{svg{{--ink:{DARK_INK};--ground:{DARK_GROUND}}}}}</style>"
    )
    return re.sub(r"(<svg[^>]*>)", lambda found: found[1] + theme, text, count=1).encode()
