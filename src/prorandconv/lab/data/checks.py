"""A benchmark's data against what was published."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .benchmark import Benchmark, Findings


@dataclass(frozen=True)
class DomainReport:
    """What a domain holds, what it should hold, and what is wrong with it."""

    name: str
    where: Path | None
    findings: Findings
    problems: tuple[str, ...] = ()
    """what must be fixed, counts that differ from the published ones included"""


def check(benchmark: Benchmark) -> Iterator[DomainReport]:
    """Read and decode all of a benchmark's data.

    Yields:
        A report for each domain, as soon as it is done; missing extras are left out.
    """
    for name, domain in benchmark.members.items():
        where = domain.where()
        if where is None:
            if not domain.extra:
                yield DomainReport(name, None, Findings({}))
            continue
        findings = domain.examine()
        yield DomainReport(
            name, where, findings, (*findings.problems, *_miscounts(benchmark, name, findings))
        )


def _miscounts(benchmark: Benchmark, domain: str, findings: Findings) -> Iterator[str]:
    published = benchmark.published.get(domain, {})
    for part, counts in findings.counts.items():
        expected = published.get(part)
        if isinstance(expected, int) and expected != sum(counts):
            yield (
                f"{domain}, {part}: {sum(counts):,} images, but {expected:,} were published; "
                "complete the data, or give the variant a name of its own"
            )
        elif isinstance(expected, tuple):
            for name, own, theirs in zip(benchmark.classes, counts, expected, strict=True):
                if own != theirs:
                    yield (
                        f"{domain}, {part}, class {name}: {own:,} images, but {theirs:,} were "
                        "published; complete the data"
                    )


def published_total(benchmark: Benchmark, domain: str, part: str) -> int | None:
    """How many images of a part were published; None where that is not known."""
    expected = benchmark.published.get(domain, {}).get(part)
    return sum(expected) if isinstance(expected, tuple) else expected
