"""Studies that compare methods: Tables 1 to 6 and 9 to 11, and one beyond the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import ProRandConvError
from ..paper import ALL, Row, rows_of
from ..run.config import RunConfig
from ..run.recipes import PARTS, with_parts
from .plan import RULES, Column, Reading, TablePlan, shifted
from .scenario import Scenario, Scenarios

if TYPE_CHECKING:
    pass

from .declared import Tables, study


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
