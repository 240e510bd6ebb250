"""Where methods are compared: a benchmark, what is present of it, and a network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from ..data import get_benchmark
from ..errors import DataError
from ..files import data_root
from ..methods import METHODS, method_class
from ..paper import ALL, Row, label, rows_of
from ..run.config import RunConfig
from .plan import Column, Reading
from .settings import Settings

if TYPE_CHECKING:  # the list of studies must not wait for torch
    from ..data import Benchmark

SOLE_SOURCE = {"digits": "mnist", "gtav": "gtav"}
"""Benchmarks of which the paper trains on one domain only."""


NOT_OF_PAPER = ("digits-mini", "folder", "street", "segfolder", "shapes-mini")
"""Benchmarks that the paper has no figures of."""


@dataclass(frozen=True)
class Scenario:
    """A benchmark as far as it is present, and a network to train on it."""

    settings: Settings
    benchmark: Benchmark
    network: str

    @property
    def name(self) -> str:
        """The benchmark's name."""
        return self.benchmark.name

    @property
    def of_paper(self) -> bool:
        """Whether the study's own benchmark is used, so that the paper's figures apply."""
        return self.settings.benchmark in (None, self.name) and self.name not in NOT_OF_PAPER

    @cached_property
    def present(self) -> tuple[str, ...]:
        """The paper's domains that are there."""
        domains = self.benchmark.domains
        there = domains if self.settings.everything else self.benchmark.present()
        return tuple(name for name in domains if name in there)

    @property
    def absent(self) -> tuple[str, ...]:
        """The paper's domains that are not there."""
        return tuple(name for name in self.benchmark.domains if name not in self.present)

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """Domains to train on, one at a time."""
        sole = SOLE_SOURCE.get(self.name)
        return tuple(
            name
            for name in self.present
            if sole in (None, name) and (self.settings.everything or self._trains(name))
        )

    def _trains(self, name: str) -> bool:
        return any(part != "test" for part in self.benchmark.domain(name).parts())

    @property
    def usable(self) -> bool:
        """Whether there is something to train on and something else to measure."""
        return bool(self.sources) and len(self.present) > 1

    def targets(self, *sources: str) -> tuple[str, ...]:
        """The domains that are measured."""
        return tuple(name for name in self.present if name not in sources)

    def others(self, target: str) -> tuple[str, ...]:
        """The sources of a run that leaves one domain out."""
        return tuple(name for name in self.sources if name != target)

    def config(self, row: Row, *sources: str) -> RunConfig:
        """The run of a row of a table; its seed is to be set."""
        changes = self.settings.changes() | {"network": self.network}
        # Of a segmentation network, <architecture>-<encoder>, the encoder has ImageNet weights.
        weights = self.settings.weights_of(self.network.partition("-")[2] or self.network)
        if weights is not None:
            changes["weights"] = weights
        return RunConfig.paper(
            self.name,
            sources,
            row.method,
            options=row.options,
            data_root=self.settings.data_root,
            **changes,
        )

    def with_figures(self, rows: Iterable[Row], table: str) -> tuple[Row, ...]:
        """Rows with what a table of the paper reports for this benchmark and network, if it does.

        Args:
            rows: methods and options.
            table: where to look for them.
        """
        setting = {"benchmark": self.name, "network": self.network}
        theirs = [
            row
            for requested in (False, True)
            for row in (rows_of(table, requested=requested, **setting) if self.of_paper else ())
        ]
        return tuple(
            replace(row, values=next((t.values for t in theirs if same_run(t, row)), {}))
            for row in rows
        )

    def rows(self, table: str, figures: str = "", beyond: Sequence[Row] = ()) -> tuple[Row, ...]:
        """Rows of a table of methods: the paper's, and those that ``--rows`` names besides.

        Args:
            table: whose rows they are.
            figures: the table with their figures, if another one.
            beyond: further rows that the study always has.
        """
        wanted = self.settings.rows
        rows = [*self.with_figures(rows_of(table), figures or table), *beyond]
        for row in rows_of(figures or table, requested=True):
            if {row.name, row.method, ALL} & set(wanted):
                rows.append(row if self.of_paper else replace(row, values={}))
        named = {row.name for row in rows} | {row.method for row in rows}
        methods = METHODS if ALL in wanted else [name for name in wanted if is_method(name)]
        rows += [
            Row(label(name), name)
            for name in methods
            if name not in named
            and (name in wanted or self.benchmark.task in method_class(name)().tasks)
        ]
        return tuple(rows)

    def target(self, preferred: str) -> str:
        """A target of the first source: this one, or in a benchmark without it the first."""
        targets = self.targets(self.sources[0])
        return preferred if preferred in targets else targets[0]

    def single(self, row: Row) -> tuple[Reading, ...]:
        """Out-of-domain accuracy: each source alone, the mean of its targets."""
        return tuple(Reading(self.config(row, s), self.targets(s)) for s in self.sources)

    def in_domain(self, row: Row) -> tuple[Reading, ...]:
        """In-domain accuracy: each source alone, its own validation split."""
        return tuple(Reading(self.config(row, source)) for source in self.sources)

    def multi(self, row: Row) -> tuple[Reading, ...]:
        """Leave-one-domain-out accuracy, each domain being the target once."""
        return tuple(
            Reading(self.config(row, *self.others(target)), (target,))
            for target in self.present
            if self.others(target)
        )

    def by_target(self, targets: Iterable[str] | None = None) -> tuple[Column, ...]:
        """Trained on the first source: a column for each of these targets, or for all."""
        source = self.sources[0]
        chosen = self.targets(source) if targets is None else targets

        def reading(target: str, row: Row) -> Reading:
            return Reading(self.config(row, source), (target,))

        return _columns(chosen, reading, str)

    def by_source(self, choice: str | None = None) -> tuple[Column, ...]:
        """A column for each source: the average over its targets.

        Args:
            choice: of the weights; None: those that the runs have selected.
        """

        def reading(source: str, row: Row) -> Reading:
            return Reading(self.config(row, source), self.targets(source), choice)

        return _columns(self.sources, reading, self.comparable)

    def by_left_out(self) -> tuple[Column, ...]:
        """A column for each target, trained on all other domains."""

        def reading(target: str, row: Row) -> Reading:
            return Reading(self.config(row, *self.others(target)), (target,))

        return _columns(filter(self.others, self.present), reading, self.comparable)

    def comparable(self, column: str) -> str | None:
        """The paper's column, unless a domain is absent: then its figure is of other domains."""
        return None if self.absent else column

    def published(self, column: str) -> str | None:
        """The paper's column in a table of several benchmarks, each with its own network."""
        own = self.of_paper and self.network == self.benchmark.network
        return self.comparable(column) if own else None

    def column(self, kind: str, readings: Callable[[Row], tuple[Reading, ...]]) -> Column:
        """A column in a table of several benchmarks, such as ``"multi"`` of this one."""
        return Column(f"{self.name} {kind}", readings, self.published(f"{self.name}_{kind}"))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know about the data and the length."""
        lines = []
        if self.absent:
            lines.append(
                f"absent from {self.name} and left out: {', '.join(self.absent)}; "
                "averages are over the other domains"
            )
        own = self.benchmark.recipe
        if self.settings.epochs is not None and self.of_paper:
            lengths = sorted({own.epochs, own.epochs_multi_source})
            paper = " or ".join(map(str, lengths))
            if [self.settings.epochs] != lengths:
                lines.append(
                    f"{self.settings.epochs} epochs a run on {self.name}, where the paper has "
                    f"{paper}"
                )
        if self.of_paper and self.benchmark.image_size != own.image_size:
            lines.append(
                f"images of {self.benchmark.image_size} pixels on {self.name}, where the paper has "
                f"{own.image_size}"
            )
        if self.settings.precision != "32-true":
            lines.append(f"networks compute in {self.settings.precision}")
        for name in ("train_images", "test_images"):
            if (limit := getattr(self.settings, name)) is not None:
                lines.append(f"a trial: {name} limited to {limit}")
        return tuple(lines)


def _columns(
    names: Iterable[str],
    reading: Callable[[str, Row], Reading],
    paper: Callable[[str], str | None],
) -> tuple[Column, ...]:
    """A column of each name: what is read for it and a row, and its name in the paper."""

    def column(name: str) -> Column:
        return Column(name, lambda row: (reading(name, row),), paper(name))

    return tuple(map(column, names))


def is_method(name: str) -> bool:
    """Whether a name is that of a method, of the lab's own or of a user's."""
    return name in METHODS or ":" in name


def same_run(one: Row, other: Row) -> bool:
    """Whether two rows of the paper are the same method with the same options."""
    return (one.method, one.options) == (other.method, other.options)


@dataclass(frozen=True)
class Scenarios:
    """The scenarios of a study that can be used, and notes on those that cannot."""

    usable: tuple[Scenario, ...]
    notes: tuple[str, ...]

    @property
    def all_notes(self) -> tuple[str, ...]:
        """Notes on each scenario, and on those that cannot be used."""
        return (*(note for scenario in self.usable for note in scenario.notes), *self.notes)

    @classmethod
    def of(
        cls, settings: Settings, *benchmarks: str, networks: Iterable[str | None] = (None,)
    ) -> Scenarios:
        """The paper's benchmarks and networks, or those that the settings name instead.

        Args:
            settings: the user's.
            benchmarks: the paper's, which one of the user's takes the place of.
            networks: the paper's; None is the benchmark's own.
        """
        from ..data import Options

        names = (settings.benchmark,) if settings.benchmark is not None else benchmarks
        scenarios = []
        for name in names:
            options = Options(image_size=settings.image_size)
            benchmark = get_benchmark(name, settings.data_root, options)
            paper = (None,) if settings.benchmark is not None else networks
            for network in settings.networks or paper:
                own = network or benchmark.network
                scenarios.append(Scenario(settings, benchmark, own))
        usable = tuple(scenario for scenario in scenarios if scenario.usable)
        unusable = list(dict.fromkeys(one.name for one in scenarios if not one.usable))
        if not usable:
            found = [f"{', '.join(one.present) or 'no domain'} of {one.name}" for one in scenarios]
            raise DataError(
                f"nothing to train on and measure in {data_root(settings.data_root)}: found "
                f"{'; '.join(dict.fromkeys(found))}; `prorandconv data fetch {unusable[0]}` says "
                "how to get it, and --benchmark digits-mini needs no data"
            )
        notes = tuple(f"{name} is absent and left out" for name in unusable)
        return cls(usable, notes)
