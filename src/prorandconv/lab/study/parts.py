"""Studies of the method's parts and parameters: Tables 7 and 8, Figures 1 and 5 to 6."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..paper import Row, rows_of
from .plan import Column, Reading, TablePlan
from .scenario import Scenario, Scenarios
from .table import Axis

if TYPE_CHECKING:
    pass

from .declared import Tables, study

Sweep = Sequence[float]


@study(
    "selection",
    "eight ways of choosing images, in- and out-of-domain",
    "Table 7",
    on=("digits", "pacs"),
)
def selection(scenarios: Scenarios) -> Tables:
    """RandConv and eight strategies: in- and out-of-domain accuracy on each benchmark."""
    yield TablePlan.of(
        "selection",
        "Images to learn from: accuracy in the source's own domain and on unseen domains",
        "Table 7",
        rows_of("Table 7"),
        [
            one.column(kind, readings)
            for one in scenarios.usable
            for kind, readings in (("in", one.in_domain), ("out", one.single))
        ],
        baseline="only X_0 (baseline)",
        notes=scenarios.all_notes,
    )


@study("components", "all 16 rows of the component table", "Table 8", on=("digits", "pacs"))
def components(scenarios: Scenarios) -> Tables:
    """Single-source on each benchmark, and multi-source where it has several sources."""
    columns = []
    for one in scenarios.usable:
        if len(one.sources) == 1:
            columns.append(Column(one.name, one.single, one.published(one.name)))
        else:
            columns += [one.column("single", one.single), one.column("multi", one.multi)]
    yield TablePlan.of(
        "components",
        "Parts of the block: mean accuracy on unseen domains",
        "Table 8",
        rows_of("Table 8"),
        columns,
        notes=scenarios.all_notes,
    )


@study(
    "receptive-field",
    "kernel size of RandConv against repetitions of the progressive methods",
    "Figures 1(c) and 5",
    on=("digits", "pacs"),
)
def receptive_field(scenarios: Scenarios) -> Tables:
    """A large kernel once against a small kernel again and again; a table for each source."""
    rows = (
        Row("RandConv, kernel size k", "randconv"),
        Row("Progressive (Same), L times", "progressive"),
        Row("Pro-RandConv, L times", "pro-randconv"),
    )

    def sized(row: Row, field: float) -> Row:
        side, repeats = int(field), int(field - 1) // 2
        options = {"kernel_sizes": [side]} if row.method == "randconv" else {"repeats": repeats}
        return replace(row, options=options)

    for one in scenarios.usable:
        for source in one.sources:

            def readings(
                row: Row, field: float, one: Scenario = one, source: str = source
            ) -> tuple[Reading, ...]:
                return (Reading(one.config(sized(row, field), source), one.targets(source)),)

            yield swept(
                f"receptive-field-{one.name}-{source}",
                "Receptive field, k of RandConv or 2 L + 1 of L repetitions: mean accuracy on "
                f"unseen domains, trained on {source} of {one.name}",
                "Figure 5" if one.name == "pacs" else "Figure 1(c)",
                rows,
                ("receptive field k = 2 L + 1, pixels", (3, 5, 7, 9, 11, 15, 21)),
                readings,
                notes=(
                    "the paper's claim: RandConv loses with growing k, the progressive methods "
                    "lose little with growing L; its figure has no numbers, so that there is "
                    "nothing beside ours",
                    *one.notes,
                    *scenarios.notes,
                ),
            )


@study(
    "smoothing",
    "RandConv with and without a Gaussian-smoothed kernel",
    "Figure 6",
    on=("digits", "pacs"),
)
def smoothing(scenarios: Scenarios) -> Tables:
    """RandConv over the kernel's size; a table for each benchmark."""
    rows = (
        Row("RandConv", "randconv"),
        Row("RandConv + smoothing", "randconv", {"smoothing": sigma(1.0)}),
    )

    for one in scenarios.usable:

        def readings(row: Row, size: float, one: Scenario = one) -> tuple[Reading, ...]:
            return one.single(replace(row, options={"kernel_sizes": [int(size)], **row.options}))

        yield swept(
            f"smoothing-{one.name}",
            f"RandConv without and with a smoothed kernel on {one.name}: mean accuracy on unseen "
            "domains",
            "Figure 6",
            rows,
            ("kernel size k, pixels", (3, 5, 7, 9, 11, 15, 21)),
            readings,
            baseline=rows[0].name,
            notes=(
                "the paper's claim: with a smoothed kernel accuracy falls less as the kernel "
                "grows; its figure has no numbers, so that there is nothing beside ours; σ_g ~ "
                "U(0.01, 1) as in the block",
                *one.notes,
                *scenarios.notes,
            ),
        )


PARAMETERS: dict[str, tuple[str, Sweep, str]] = {
    "max_repeats": ("L_max", (1, 2, 5, 10, 15, 20), "insensitive; 10 chosen for its cost"),
    "gamma_std": ("σ_γ", (0.1, 0.25, 0.5, 0.75, 1.0), "0.5 is best"),
    "beta_std": ("σ_β", (0.1, 0.25, 0.5, 0.75, 1.0), "0.5 is best"),
    "smoothing": ("b_g", (0.25, 0.5, 1.0, 2.0, 4.0), "1.0 is best"),
    "offsets": ("b_Δ", (0.05, 0.1, 0.2, 0.5, 1.0, 2.0), "0.2 chosen for Digits, 0.5 for PACS"),
    "alpha": (
        "α",
        (2.0, 5.0, 10.0, 15.0, 20.0),
        "10 chosen: reasonably high values give natural deformations",
    ),
}
"""Options of Pro-RandConv: sign, values, and the paper's claim."""


@study(
    "hyperparameters",
    "L_max, σ_γ, σ_β, b_g, b_Δ and α, each by itself",
    "supplementary figure",
    on=("digits", "pacs"),
)
def hyperparameters(scenarios: Scenarios) -> Tables:
    """A table for each parameter, with a row for each benchmark."""
    by_name = {one.name: one for one in scenarios.usable}
    for name, (sign, values, claim) in PARAMETERS.items():

        def readings(row: Row, value: float, name: str = name) -> tuple[Reading, ...]:
            one = by_name[row.name]
            return one.single(replace(row, options=option(name, value, one)))

        yield swept(
            f"hyperparameters-{name.replace('_', '-')}",
            f"Pro-RandConv by {sign}: mean accuracy on unseen domains",
            "supplementary figure",
            [Row(name, "pro-randconv") for name in by_name],
            (sign, values),
            readings,
            notes=(
                f"the paper on {sign}: {claim}; its figure has no numbers, so that there is "
                "nothing beside ours, and the values of the axis are ours",
                *scenarios.all_notes,
            ),
        )


def option(name: str, value: float, one: Scenario) -> dict[str, Any]:
    """A hyper-parameter as options; a default by image size leaves the run the default one."""
    if name == "offsets":
        from ...transforms import offset_range

        size = one.benchmark.image_size
        return {} if offset_range(size, size)[1] == value else {name: sigma(value)}
    return {name: sigma(value) if name == "smoothing" else value}


def sigma(largest: float) -> list[float]:
    """The range of a σ that is drawn for each block."""
    from ...transforms import EPS  # only here: the list of studies must not wait for torch

    return [EPS, largest]


def swept(
    name: str,
    title: str,
    reference: str,
    rows: Sequence[Row],
    axis: tuple[str, Sweep],
    readings: Callable[[Row, float], tuple[Reading, ...]],
    *,
    baseline: str | None = None,
    notes: Iterable[str],
) -> TablePlan:
    """A table whose columns are the values of an axis, to be drawn as curves."""
    label, values = axis
    columns = [Column(f"{v:g}", lambda row, v=v: readings(row, v)) for v in values]  # type: ignore[misc]
    return TablePlan.of(
        name,
        title,
        reference,
        rows,
        columns,
        baseline=baseline,
        axis=Axis(label, tuple(map(float, values))),
        notes=notes,
    )


@study("bounds", "three bounds of the plain progressive variants", "Table 1")
def bounds(scenarios: Scenarios) -> Tables:
    """Both variants with each bound; a run whose loss is no longer finite counts as failed."""
    one = scenarios.usable[0]
    variants = [row for row in rows_of("Table 1") if row.method == "progressive"]
    bounded: dict[str, dict[str, Any]] = {
        "clamp": {},
        "standardise": {"bound": "standardise"},
        "no bound": {"bound": None},
    }
    yield TablePlan.of(
        "bounds",
        f"Bounds of the progressive variants, trained on {one.sources[0]} of {one.name}",
        "Table 1",
        [
            replace(row, name=f"{row.name}, {name}", options={**row.options, **bound})
            for row in one.with_figures(variants, "Table 1")
            for name, bound in bounded.items()
        ],
        one.by_target(),
        averaged=True,
        notes=(
            "the paper does not say how its progressive variants are bounded: its figures are "
            "beside each bound",
            *one.notes,
        ),
    )
