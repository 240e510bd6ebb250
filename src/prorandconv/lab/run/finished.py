"""A run that is done: its result is returned only if it fits the run and the data at hand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..data import Benchmark, Split
from ..errors import DataError
from .checkpoint import read_state
from .config import RunConfig
from .data import check_same_data, open_benchmark, weights_fingerprint
from .directory import BEST, RESULT, RunDirectory
from .stored import Result, selected, target_key


@dataclass(frozen=True)
class Finished:
    """The result of a run, and what a user should know about it."""

    result: Result
    messages: tuple[str, ...] = ()


def finished(
    config: RunConfig, runs: Path, known: dict[object, str] | None = None
) -> Finished | None:
    """The result of a run, if it is done.

    Reports and predictions need no data, and neither does this: missing data is reported, and is
    no error.

    Args:
        config: the run.
        runs: folder of all runs.
        known: shared by several calls, it saves reading the same data again for each.

    Raises:
        RunError: the result is that of other images than those that are there now, or of another
            run.
    """
    directory = RunDirectory(config.directory(runs))
    result = directory.result()
    if result is None:
        return None
    directory.check_same_config(config.to_mapping(), result["config"], RESULT)
    stored = result["data"]
    try:
        benchmark = open_benchmark(config)
        present = present_fingerprints(config, benchmark, {} if known is None else known)
    except DataError:  # the user's folder is gone as a whole
        present = {}
    check_same_data(directory.path, config.source, stored, present)
    messages = []
    if gone := [name for name in stored if name not in present]:
        shown = "all of it" if len(gone) == len(stored) else ", ".join(gone)
        messages.append(
            f"{directory.path}: the stored result could not be compared with the run's data; "
            f"missing or unreadable: {shown}"
        )
    if not (directory.path / BEST).exists():
        messages.append(_restored(directory, config, result))
    return Finished(result, tuple(messages))


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
        **{target_key(name): ((name,), "test", config.test_images) for name in targets},
    }
    found = weights_fingerprint(config)
    for name, (domains, split, limit) in wanted.items():
        key = (config.benchmark, config.data_root, domains, split, limit)
        if key not in known:
            try:
                known[key] = benchmark.load(domains, split).subset(limit).fingerprint
            except DataError:  # absent, or broken
                continue
        found[name] = known[key]
    return found


def _restored(directory: RunDirectory, config: RunConfig, result: Result) -> str:
    """Write the selected weights again, from the checkpoint; returns what became of it."""
    state, _ = read_state(directory, set_aside=False)
    if state is None:
        return (
            f"{directory.path / BEST}: missing, and there is no checkpoint to restore it from; "
            f"remove {RESULT} and run the same command to train again"
        )
    directory.write_best(state["best"], config, selected(result)["epoch"])
    return f"{directory.path / BEST}: was missing, restored from the checkpoint"
