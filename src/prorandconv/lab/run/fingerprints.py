"""Whether the data that is there is still the data of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..data import Benchmark, Split
from ..data.images import Subset
from ..errors import DataError, RunError
from .config import RunConfig


def present_fingerprints(
    config: RunConfig, benchmark: Benchmark, known: dict[object, str]
) -> dict[str, str]:
    """Fingerprints of a run's data by "train", "val" and target, of what can be read now.

    Args:
        config: the run.
        benchmark: its benchmark.
        known: fingerprints that were found before, to which others are added.
    """
    targets = [name for name in benchmark.present() if name not in config.source]
    wanted: dict[str, tuple[tuple[str, ...], Split, int | None]] = {
        "train": (config.source, "train", config.train_images),
        "val": (config.source, "val", config.test_images),
        **{name: ((name,), "test", config.test_images) for name in targets},
    }
    found = {}
    for name, (domains, split, limit) in wanted.items():
        key = (config.benchmark, config.data_root, domains, split, limit)
        if key not in known:
            try:
                images = benchmark.load(domains, split)
            except DataError:  # absent, or broken
                continue
            known[key] = (images if limit is None else Subset(images, limit)).fingerprint
        found[name] = known[key]
    return found


def refuse_other_data(
    run: Path, source: Sequence[str], stored: Mapping[str, str], present: Mapping[str, str]
) -> None:
    """Refuse to resume a run, or to return its result, where its data has changed.

    Args:
        run: the run's directory.
        source: domains that it is trained on.
        stored: fingerprints that the run has kept, by "train", "val" and target.
        present: fingerprints of what is there now; what is missing is not compared.
    """
    for name, own in stored.items():
        if present.get(name, own) != own:
            split = {"train": "training", "val": "validation"}.get(name, "test")
            domain = name if split == "test" else ", ".join(source)
            raise RunError.at(
                run,
                f"was made with other {split} images of {domain} than those that are there now",
                "restore them, or use another folder of runs (--runs)",
            )
