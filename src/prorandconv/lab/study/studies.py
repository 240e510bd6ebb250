"""The paper's tables and figures, and one beyond them: each a declaration of rows and columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import ProRandConvError
from ...lazy import named
from ..errors import unknown_name
from ..paper import ALL, Row, rows_of
from ..run.config import RunConfig
from ..run.recipes import PARTS, with_parts
from .plan import RULES, Column, Plan, Reading, TablePlan, limited, shifted
from .scenario import Scenario, Scenarios
from .settings import Settings
from .table import Axis

if TYPE_CHECKING:
    from .table import Table

Tables = Iterable[TablePlan]
Sweep = Sequence[float]


@dataclass(frozen=True)
class Study:
    """A part of the paper: its tables, from runs or from a measurement."""

    shows: str
    """what a reader learns from it"""
    reference: str
    """tables and figures of the paper"""
    tables: Callable[[Scenarios], Tables]
    """the tables that are read from runs"""
    on: tuple[str, ...] = ("digits",)
    """the paper's benchmarks, which one of the user's takes the place of"""
    networks: tuple[str | None, ...] = (None,)
    """the paper's networks; None is the benchmark's own"""
    measuring: str = ""
    """``module:function`` beside this file that measures what is read from no result"""

    def plan(self, settings: Settings) -> Plan:
        """The tables that settings ask for, and their runs."""
        if not self.on:
            return Plan((), settings.all_seeds)
        scenarios = Scenarios.of(settings, *self.on, networks=self.networks)
        tables = limited(tuple(self.tables(scenarios)), settings.rows)
        return Plan(tables, settings.all_seeds)

    def measure(self, settings: Settings, runs: Path, accelerator: str) -> tuple[Table, ...]:
        """Tables that are not read from results; none for most studies.

        Args:
            settings: the user's.
            runs: folder of all runs.
            accelerator: auto, cpu, cuda or mps.
        """
        if not self.measuring:
            return ()
        measured: tuple[Table, ...] = named(self.measuring, str(__package__))(
            settings, runs, accelerator
        )
        return measured

    @cached_property
    def runs(self) -> int:
        """Number of runs for one seed where all data is present."""
        return len(self.plan(Settings(everything=True, seeds=1)).runs)


STUDIES: dict[str, Study] = {}
"""By name, in the paper's order."""


def study(
    name: str, shows: str, reference: str, **options: Any
) -> Callable[[Callable[[Scenarios], Tables]], Callable[[Scenarios], Tables]]:
    """Declare a study by the function that gives its tables; ``options`` are those of `Study`."""

    def declared(tables: Callable[[Scenarios], Tables]) -> Callable[[Scenarios], Tables]:
        STUDIES[name] = Study(shows, reference, tables, **options)
        return tables

    return declared


def get_study(name: str) -> Study:
    """A study by its name.

    Example:
        >>> [table.name for table in get_study("digits").plan(Settings(everything=True)).tables]
        ['digits', 'mnist-m']
    """
    if name not in STUDIES:
        raise unknown_name("study", name, STUDIES)
    return STUDIES[name]


@study("digits", "five methods, trained on MNIST, by target", "Tables 1 and 11")
def digits(scenarios: Scenarios) -> Tables:
    """By target; and on both sets of MNIST-M, where the benchmark has them."""
    one = scenarios.usable[0]
    yield TablePlan.of(
        one.name,
        f"Trained on {one.sources[0]}; accuracy on unseen domains",
        "Table 1",
        one.rows("Table 1"),
        one.by_target(),
        averaged=True,
        notes=one.notes,
    )
    sets = ("mnist_m", "mnist_m_b")
    if not all(name in one.benchmark.members for name in sets):
        return
    there = sets if one.settings.everything else one.benchmark.present()
    set_a, set_b = (one.rows("Table 1", table) for table in ("Table 1", "Table 11"))
    parts = [row for row in one.rows("Table 11") if row.name.startswith("Ours -")]
    yield TablePlan.of(
        "mnist-m",
        "The two sets of MNIST-M: A (mnist_m, 9,001 images) and B (mnist_m_b, 10,000)",
        "Table 11",
        [
            *(
                replace(a, values={**b.values, **a.values})
                for a, b in zip(set_a, set_b, strict=True)
            ),
            *parts,
        ],
        one.by_target(name for name in sets if name in there),
        notes=[
            "the paper's figures: set A from Table 1; set B from Table 11, RandConv as published; "
            "Ours -T is without texture diversification (smoothing and offsets), Ours -C without "
            "contrast diversification",
            *(f"absent and left out: {name}" for name in sets if name not in there),
        ],
    )


TANH = Row("Pro-RandConv (tanh)", "pro-randconv", {"output": "tanh"})
"""What tanh gives, not mapped to the range that an ImageNet network knows; the paper is silent."""


@study(
    "pacs-single",
    "the methods on PACS, by the one source",
    "Table 2",
    on=("pacs",),
    networks=("resnet18", "resnet50"),
)
def pacs_single(scenarios: Scenarios) -> Tables:
    """By source, for each network; the paper has ResNet-18 only.

    With shifted validation, the same runs under each rule of selection, and what the rules see.
    """
    for one in scenarios.usable:
        rows = (*one.rows("Table 1", "Table 2"), TANH)
        name = f"{one.name}-single-{one.network}"
        where = f"trained on one domain of {one.name} with {one.network}"
        rules: list[tuple[str, str, str | None]] = [("", "", None)]
        if one.settings.shifted_validation:
            rules = [(f"-{key}", f", {rule.words}", rule.choice) for key, rule in RULES.items()]
        for suffix, words, choice in rules:
            yield TablePlan.of(
                name + suffix,
                f"{where.capitalize()}{words}; mean accuracy on the other domains, by source",
                "Table 2",
                rows,
                one.by_source(choice),
                averaged=True,
                notes=one.notes,
            )
        if one.settings.shifted_validation:
            yield seen(
                f"{name}-seen", f"{where}{BEST}, mean of the sources", rows, one.in_domain, one
            )


BEST = ": best accuracy on validation images, plain and shifted"


def seen(
    name: str,
    where: str,
    rows: Iterable[Row],
    readings: Callable[[Row], tuple[Reading, ...]],
    one: Scenario,
    **options: Any,
) -> TablePlan:
    """What selection sees: validation scores as they are and under shifts."""
    columns = [
        Column("val", readings),
        Column("val_shifted", lambda row: tuple(shifted(own.config) for own in readings(row))),
    ]
    title = f"What selection sees, {where}"
    notes = (*options.pop("notes", ()), *one.notes)
    return TablePlan.of(name, title, "", rows, columns, notes=notes, **options)


@study(
    "pacs-multi",
    "five methods on PACS, one domain left out",
    "Table 3",
    on=("pacs",),
    networks=("resnet18", "resnet50"),
)
def pacs_multi(scenarios: Scenarios) -> Tables:
    """By target, for each network; the paper has no progressive row here."""
    for one in scenarios.usable:
        yield TablePlan.of(
            f"{one.name}-multi-{one.network}",
            f"Trained on all domains of {one.name} but one with {one.network}; accuracy on that "
            "one",
            "Table 3",
            one.rows("Table 1", "Table 3"),
            one.by_left_out(),
            averaged=True,
            notes=one.notes,
        )


@study(
    "comparison",
    "RandConv and Pro-RandConv: 3 benchmarks × 3 networks × single, multi",
    "Table 4",
    on=("pacs", "officehome", "vlcs"),
    networks=("alexnet", "resnet18", "resnet50"),
)
def comparison(scenarios: Scenarios) -> Tables:
    """A table for each benchmark, with a pair of columns for each network."""
    rows = [row for row in rows_of("Table 1") if row.method in ("randconv", "pro-randconv")]
    for name in dict.fromkeys(one.name for one in scenarios.usable):
        networks = [one for one in scenarios.usable if one.name == name]
        figures = {
            (row.name, f"{one.network} {kind}"): row.values[kind]
            for one in networks
            for row in one.with_figures(rows, "Table 4")
            for kind in row.values
            if one.comparable(kind)
        }
        columns = [
            Column(f"{one.network} {kind}", readings, f"{one.network} {kind}")
            for one in networks
            for kind, readings in (("single", one.single), ("multi", one.multi))
        ]
        yield TablePlan.of(
            name,
            f"RandConv and Pro-RandConv on {name}: mean accuracy over all sources (single) and "
            "over all targets with the other domains as sources (multi)",
            "Table 4",
            [
                replace(row, values={c: v for (own, c), v in figures.items() if own == row.name})
                for row in rows
            ],
            columns,
            baseline=rows[0].name,
            notes=(*networks[0].notes, *scenarios.notes),
        )


@study(
    "efficiency",
    "memory, time and MACs of each method, on this device",
    "Table 5",
    on=(),
    measuring="efficiency:measure",
)
def efficiency(scenarios: Scenarios) -> Tables:
    """Nothing is trained for it: accuracies are those of runs that other studies have done."""
    return ()


@study(
    "segmentation",
    "methods for segmentation, by target; two whose labels move",
    "Table 6",
    on=("gtav",),
)
def segmentation(scenarios: Scenarios) -> Tables:
    """The paper's rows that can be trained here, and two that it expects more of and has not."""
    one = scenarios.usable[0]
    if one.benchmark.task != "segmentation":
        raise ProRandConvError.about(
            "--benchmark", one.name, "scenes with masks: gtav, street, segfolder, shapes-mini"
        )
    beyond = (Row("Ours-D, labels moved", "ours-move"), Row("Ours, shared offsets", "ours-shared"))
    yield TablePlan.of(
        one.name,
        f"Trained on {one.sources[0]} with {one.network}; mIoU on unseen domains",
        "Table 6",
        one.rows("Table 6", beyond=beyond),
        one.by_target(),
        averaged=True,
        notes=(
            *one.notes,
            "labels moved: the ground truth moves with the picture, which the paper has not "
            "tried; shared offsets: one field for all taps, for which that is exact",
        ),
    )


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
    "traditional",
    "six traditional augmentations and ours, Digits and PACS",
    "Tables 9 and 10",
    on=("digits", "pacs"),
)
def traditional(scenarios: Scenarios) -> Tables:
    """By target on a benchmark with one source, else by source."""
    for one in scenarios.usable:
        alone = len(one.sources) == 1
        reference = "Table 9" if alone else "Table 10"
        rows = one.rows("Table 9", reference)
        if alone:
            wanted = {ALL, *(f"{name}, as quoted" for name in QUOTED)} & set(one.settings.rows)
            rows += tuple(
                replace(row, name=f"{row.name}, as quoted", options=QUOTED[row.name])
                for row in rows
                if row.name in QUOTED and wanted
            )
        yield TablePlan.of(
            f"traditional-{one.name}",
            f"Traditional augmentation on {one.name}, by {'target' if alone else 'source'}",
            reference,
            rows,
            one.by_target() if alone else one.by_source(),
            averaged=True,
            notes=(*one.notes, *scenarios.notes, *([SETTINGS] if one.of_paper and alone else [])),
        )


QUOTED: dict[str, dict[str, Any]] = {
    "AutoAugment": {"policy": "svhn", "mode": "sample"},
    "RandAugment": {"operations": 3, "magnitude": 4, "invert": True, "mode": "sample"},
}
"""Of Table 9: options in the code of those whose figures the paper most likely quotes."""
SETTINGS = (
    "AutoAugment here has ImageNet's policy and RandAugment 2 operations of magnitude 9, one draw "
    "a mini-batch; the figures that the paper quotes are most likely of the SVHN policy, and of 3 "
    "operations of magnitude 4, Invert among them, each for an image: the rows 'as quoted', which "
    "--rows all adds"
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


@study(
    "usps",
    "USPS drawn into smaller boxes within the frame",
    "Table 1",
    measuring="usps:measure",
)
def usps(scenarios: Scenarios) -> Tables:
    """ERM and Pro-RandConv on USPS as it is; the measurement needs their networks."""
    one = scenarios.usable[0]
    target = one.target("usps")
    yield TablePlan.of(
        "usps",
        f"{target} as it is, resized to the whole frame; trained on {one.name}'s {one.sources[0]}",
        "Table 1",
        [row for row in one.rows("Table 1") if row.method in ("erm", "pro-randconv")],
        one.by_target([target]),
        notes=one.notes,
    )


EVERY = ("consistency", "jitter", "EMA")
JOINED: dict[str, tuple[str, ...]] = {
    "Pro-RandConv": (),
    **{f"+ {name}": (name,) for name in PARTS},
    "+ all (with EMA)": EVERY,
    **{f"all but {name}": tuple(one for one in EVERY if one != name) for name in EVERY},
}
"""What each row of the study beyond adds."""


@study(
    "beyond",
    "consistency, jitter and averages of weights joined to Pro-RandConv; two selections",
    "none: beyond the paper",
)
def beyond(scenarios: Scenarios) -> Tables:
    """The targets by rule of selection, and what each rule saw; all from the same runs."""
    one = scenarios.usable[0]
    where = f"trained on {one.sources[0]} of {one.name}"
    first, *bare = (Row(name, "pro-randconv") for name in JOINED)
    rows = (*one.with_figures([first], "Table 1"), *bare)

    def config(row: Row) -> RunConfig:
        own = with_parts(one.config(row, one.sources[0]), JOINED[row.name])
        return replace(own, shifted_validation=True)

    for name, rule in RULES.items():
        yield TablePlan.of(
            f"beyond-{name}",
            f"Beyond the paper, {where}: {rule.words}",
            "Table 1",
            rows,
            [
                Column(
                    target,
                    lambda row, own=(target,), choice=rule.choice: (  # type: ignore[misc]
                        Reading(config(row), own, choice),
                    ),
                    target,
                )
                for target in one.targets(one.sources[0])
            ],
            baseline=first.name,
            averaged=True,
            notes=one.notes,
        )
    yield seen(
        "beyond-seen",
        f"{where}{BEST}",
        rows,
        lambda row: (Reading(config(row)),),
        one,
        baseline=first.name,
        notes=("jitter trains with the family zoom-and-shift: its val_shifted is not comparable",),
    )
