"""Commands on data sets: list, check, fetch, show, make."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro
from rich.console import Console

from ...errors import ProRandConvError
from ..options import OrDefault

if TYPE_CHECKING:  # commands import what they call when they run: --help must not wait for torch
    from ..data import Benchmark

OWN = {"folder": "<domain>/<class>/<image>", "segfolder": "<domain>/{images,masks}, classes.txt"}
"""Benchmarks of a user's own data, and how it lies."""


@dataclass(frozen=True)
class DataList:
    """Show which benchmarks are known, and which domains are present where."""

    data_root: OrDefault[Path] = None
    """folder of data sets (default: the variable PRORANDCONV_DATA, else data)"""

    def run(self, out: Console) -> int:
        """Print a row for each domain."""
        from ..data import BENCHMARKS, get_benchmark
        from ..files import cache_folder, data_root
        from ..report.formats import terminal
        from ..report.grid import Grid

        root, cache = data_root(self.data_root), cache_folder()
        out.print(f"data root: {root}\ncache: {cache}", soft_wrap=True)
        rows = []
        for name in BENCHMARKS:
            if name in OWN:
                rows.append((name, "any", "", f"--data-root DIR with {OWN[name]}"))
                continue
            benchmark = get_benchmark(name, self.data_root)
            for domain in (*benchmark.domains, *benchmark.extras):
                member = benchmark.domain(domain)
                where = member.where()
                try:
                    counts = member.counts() if where else {}
                    shown = ", ".join(f"{sum(c):,} {part}" for part, c in counts.items())
                except ProRandConvError as error:
                    shown = f"cannot be counted: {error}"
                rows.append(
                    (name, domain, shown, _shown(where, root, cache) if where else "absent")
                )
        out.print(
            terminal(Grid.of(("benchmark", "domain", "images", "where"), rows, words=3), boxed=True)
        )
        return 0


def _shown(path: Path, root: Path, cache: Path) -> str:
    """A path from the data root or the cache, which stand above the table; others whole."""
    if path.suffix == ".py":
        return "drawn when it is loaded"
    if path.is_relative_to(root):
        return str(path.relative_to(root))
    return f"cache: {path.relative_to(cache)}" if path.is_relative_to(cache) else str(path)


@dataclass(frozen=True)
class OneBenchmark:
    """A command on one benchmark."""

    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="NAME")]
    """the benchmark"""
    data_root: OrDefault[Path] = None
    """folder of data sets (default: the variable PRORANDCONV_DATA, else data)"""

    def benchmark(self) -> Benchmark:
        """The benchmark of that name."""
        from ..data import get_benchmark

        return get_benchmark(self.name, self.data_root)


@dataclass(frozen=True)
class DataCheck(OneBenchmark):
    """Count and decode every image of a benchmark; the exit code is 1 if anything is wrong."""

    def run(self, out: Console) -> int:
        """Print counts beside the published ones, then what is wrong."""
        benchmark = self.benchmark()
        from ..data.benchmark import check, published_total  # after the name is known to be right
        from ..files import data_root
        from ..report.formats import terminal
        from ..report.grid import Grid

        reports = list(check(benchmark))
        scenes = benchmark.task == "segmentation"
        head = ["domain", "part", "scenes" if scenes else "images"]
        head += ["published"] if benchmark.published else []
        head += [] if scenes else ["of each class"]
        rows = []
        for report in reports:
            if report.where is None:
                rows.append([report.name, "", "absent", *[""] * (len(head) - 3)])
            for part, counts in report.counts.items():
                published = published_total(benchmark, report.name, part)
                cells = [report.name, part, f"{sum(counts):,}"]
                if benchmark.published:
                    cells.append("" if published is None else f"{published:,}")
                if not scenes:
                    cells.append(" ".join(map(str, counts)))
                rows.append(cells)
        out.print(terminal(Grid.of(head, rows, words=1), boxed=True))
        for report in reports:
            for note in report.notes:
                out.print(f"{report.name}: {note}", style="dim")
        problems = [problem for report in reports for problem in report.problems]
        for problem in problems:
            out.print(f"wrong: {problem}", style="red")
        if not any(report.where for report in reports):
            looked = data_root(self.data_root)
            out.print(f"wrong: no domain is present in {looked}", style="red")
            out.print(f"`prorandconv data fetch {self.name}` says what is looked for")
            return 1
        out.print("something is wrong" if problems else "all that is present is in order")
        return 1 if problems else 0


@dataclass(frozen=True)
class DataFetch(OneBenchmark):
    """Download what can be downloaded, and say where to get the rest."""

    def run(self, out: Console) -> int:
        """Fetch, resuming what broke off before."""
        from ..data.download import fetch

        benchmark = self.benchmark()
        failures = []
        for download in benchmark.missing_downloads():
            try:
                fetch(download)
                out.print(f"{download.path}: fetched and checked")
            except ProRandConvError as error:
                failures.append(error)
        out.print(benchmark.sources)
        for failure in failures:
            out.print(f"wrong: {failure}", style="red")
        return 1 if failures else 0


@dataclass(frozen=True)
class DataShow(OneBenchmark):
    """Write a contact sheet of each domain that is present, one PNG each."""

    output: Path = Path("contact-sheets")
    """folder for the PNGs"""
    per_class: int = 10
    """images of each class, or scenes of each domain"""

    def run(self, out: Console) -> int:
        """Draw and write the sheets."""
        from ..data.images import labelled
        from ..data.scenes import Scenes
        from ..files import replacing
        from ..sheets import contact_sheet, scene_sheet

        benchmark = self.benchmark()
        for domain in benchmark.present():
            path = self.output / f"{benchmark.name}-{domain}.png"
            samples = benchmark.load(domain, "test")
            if isinstance(samples, Scenes):
                sheet = scene_sheet(samples, self.per_class)
            else:
                sheet = contact_sheet(labelled(samples), per_class=self.per_class)
            with replacing(path) as temporary:
                sheet.save(temporary)
            out.print(str(path))
        for domain in benchmark.missing():
            out.print(f"{domain}: absent")
        return 0 if benchmark.present() else 1


@dataclass(frozen=True)
class DataMake:
    """Make a stand-in for a missing data set of Digits."""

    name: tyro.conf.Positional[Literal["mnist_m_rebuilt", "syn_rendered"]]
    """mnist_m_rebuilt (MNIST-M's recipe over your photos) or syn_rendered (from your fonts)"""
    photos: OrDefault[Path] = None
    """for mnist_m_rebuilt: folder of photos, such as BSDS500"""
    train_images: int = 25_000
    """for syn_rendered: training images (SYN has 479,400)"""
    test_images: int = 9_553
    """for syn_rendered: test images (SYN has 9,553)"""
    seed: int = 0
    """another seed makes another set"""
    data_root: OrDefault[Path] = None
    """folder of data sets (default: the variable PRORANDCONV_DATA, else data)"""

    def run(self, out: Console) -> int:
        """Make and write the file."""
        from ..data.stand_ins import make_mnist_m, make_syn
        from ..files import data_root

        root = data_root(self.data_root)
        if self.name == "syn_rendered":
            path = make_syn(
                root,
                train_images=self.train_images,
                test_images=self.test_images,
                seed=self.seed,
            )
        elif self.photos is None:
            raise ProRandConvError.about("--photos", None, "a folder of photos, such as BSDS500")
        else:
            path = make_mnist_m(root, self.photos, seed=self.seed)
        out.print(str(path))
        return 0


@dataclass(frozen=True)
class Data:
    """List, check, fetch, look at and make data sets."""

    command: (
        Annotated[DataList, tyro.conf.subcommand("list")]
        | Annotated[DataCheck, tyro.conf.subcommand("check")]
        | Annotated[DataFetch, tyro.conf.subcommand("fetch")]
        | Annotated[DataShow, tyro.conf.subcommand("show")]
        | Annotated[DataMake, tyro.conf.subcommand("make")]
    )

    def run(self, out: Console) -> int:
        """Run the chosen command."""
        return self.command.run(out)
