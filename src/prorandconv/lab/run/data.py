"""What a run consists of, and whether its data is still what it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch
from torch import nn

from ..data import Benchmark, Options, Samples, Split, get_benchmark
from ..data.images import Images, labelled
from ..data.samples import Batches
from ..data.shifts import all_shifted
from ..errors import DataError, RunError
from ..files import data_root
from ..methods.learner import Learner, RunInfo
from ..tasks import get_task
from .checkpoint import read_state
from .config import RunConfig
from .directory import BEST, RESULT, RunDirectory
from .distributed import Ranks
from .evaluation import Targets
from .stored import Result, selected, target_key
from .values import DataIdentity, weights_content


def open_benchmark(config: RunConfig) -> Benchmark:
    """The benchmark of a run as it is there now, with images of the run's size."""
    return get_benchmark(config.benchmark, config.data_root, Options(image_size=config.image_size))


def benchmark_of(config: RunConfig) -> Benchmark:
    """The benchmark of a run, with the data that the run is named after.

    Raises:
        DataError: the data is another one now.
    """
    benchmark = open_benchmark(config)
    stored, present = config.identity, DataIdentity.of(benchmark)
    if stored != present:
        names = {"domains": "domains", "classes": "classes", "content": "images"}
        other = [
            n for field, n in names.items() if getattr(stored, field) != getattr(present, field)
        ]
        raise DataError.at(
            data_root(config.data_root),
            f"holds other {' and '.join(other) or 'images'} than this config was made for",
            "restore them, or make a new config: without --config, or with RunConfig.paper",
        )
    return benchmark


class RunData:
    """The images of a run: training and validation images of its source, and its targets.

    With shifted validation, its images are there under shifts too, by family.
    """

    def __init__(self, config: RunConfig) -> None:
        self._config, benchmark = config, benchmark_of(config)
        self.training = _source(config, benchmark, "train", config.train_images)
        self.validation = _source(config, benchmark, "val", config.test_images)
        self.shifted = all_shifted(labelled(self.validation)) if config.shifted_validation else {}
        self.targets = Targets(benchmark, config.source, config.test_images)

    def batches(
        self,
        ranks: Ranks,
        order: torch.Generator,
        start: int = 0,
        images: Samples | None = None,
    ) -> Batches:
        """Go through the training images once, or through what is left of them."""
        config = self._config
        chosen = self.training if images is None else images
        return chosen.batches(
            config.batch_size // config.processes,
            generator=order,
            augment=config.base_augmentation,
            jitter=config.jitter,
            device=ranks.device,
            drop_last=get_task(config.task).whole_batches,
            start=start,
            shard=(ranks.own, ranks.count),
        )

    @cached_property
    def fingerprints(self) -> dict[str, str]:
        """Of all images, by "train", "val" and target; and of the first weights, if from a file."""
        sources = {"train": self.training.fingerprint, "val": self.validation.fingerprint}
        targets = {target_key(n): self.targets[n].fingerprint for n in self.targets.names}
        return sources | targets | weights_fingerprint(self._config)


def _source(config: RunConfig, benchmark: Benchmark, split: Split, limit: int | None) -> Samples:
    """The source's images of a split; a run needs some of both."""
    images = benchmark.load(config.source, split).subset(limit)
    least = 1
    if split == "train":
        whole = get_task(config.task).whole_batches
        least = config.batch_size if whole else config.processes
    if len(images) < least:
        more = "scenes" if config.task == "segmentation" else "images to each class"
        raise RunError(
            f"source {'+'.join(config.source)} has {len(images)} images for the {split} split, "
            f"and at least {least} are needed: add {more}"
        )
    return images


def weights_fingerprint(config: RunConfig) -> dict[str, str]:
    """Of the file that a run begins with, as "weights"; empty if it has none or it is gone."""
    path = config.weights
    return {} if path is None or not path.is_file() else {"weights": weights_content(path)}


def check_same_data(
    run: Path, source: Sequence[str], stored: Mapping[str, str], present: Mapping[str, str]
) -> None:
    """Raise if a run's data has changed: neither is it resumed, nor its result returned.

    Args:
        run: the run's directory.
        source: domains that it is trained on.
        stored: fingerprints that the run has kept, by "train", "val" and target.
        present: fingerprints of the data now; what is missing is not compared.
    """
    for name, expected in stored.items():
        if present.get(name, expected) != expected:
            split = {"train": "training", "val": "validation"}.get(name, "test")
            domain = name if split == "test" else ", ".join(source)
            raise RunError.at(
                run,
                f"was made with other {split} images of {domain} than those that are there now",
                "restore them, or use another folder of runs (--runs)",
            )


def network_of(config: RunConfig, *, initial: bool = False) -> nn.Module:
    """The network that a run sets; needs none of its data.

    Args:
        config: the run.
        initial: load the weights that training begins with, where the config sets some.
    """
    data = config.identity
    return get_task(config.task).build(
        config.network,
        classes=len(data.classes),
        image_size=data.image_size,
        pretrained=initial and config.pretrained,
        weights=config.weights if initial else None,
    )


def learner_of(
    config: RunConfig,
    network: nn.Module,
    source: Samples | None = None,
    steps: int = 1,
    ranks: Ranks | None = None,
) -> Learner:
    """What a run trains; ``learner.network`` is what is evaluated.

    Args:
        config: the run.
        network: the one that it sets.
        source: its training images; without them, one black image stands for them.
        steps: of an epoch.
        ranks: all processes; without them, there is one.
    """
    classes, form = config.identity.classes, config.format
    if source is None:
        size = form.image_size
        source = Images.in_memory(
            torch.zeros(1, 3, size, size, dtype=torch.uint8),
            torch.zeros(1, dtype=torch.int64),
            classes=classes,
            split="train",
            format=form,
        )
    ranks = ranks or Ranks(torch.device("cpu"))
    info = RunInfo(
        form,
        len(classes),
        len(config.source),
        config.epochs,
        steps,
        source,
        ranks.gather,
        (ranks.own, ranks.count),
    )
    return config.options.learner(network, info)


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
