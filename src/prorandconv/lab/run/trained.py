"""The network of a run, for use: evaluated again, or asked about images."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from ...errors import ProRandConvError
from ..data import Benchmark, ImageFormat, Samples
from ..data.samples import Batch
from ..errors import DataError, RunError
from ..files import data_root as data_folder
from ..models import load_weights
from ..progress import progress
from ..tasks import Evaluation, get_task
from .checkpoint import network_weights, read_state
from .config import RunConfig
from .data import learner_of, network_of, open_benchmark
from .directory import BEST, CONFIG, RESULT, RunDirectory
from .environment import device_of
from .evaluation import Targets, evaluate
from .predict import Prediction, SegmentedFile, image_files, predict, segment_files
from .state import Stored
from .values import read_object


@dataclass(frozen=True)
class Trained:
    """A trained network; classes and image format are those it was trained with."""

    config: RunConfig
    network: nn.Module
    device: torch.device

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes, in the order of the network's outputs."""
        return self.config.identity.classes

    @property
    def format(self) -> ImageFormat:
        """How images reach the network."""
        return self.config.format

    @property
    def precision(self) -> str:
        """The numeric precision of the run; another one gives other figures."""
        return self.config.precision

    @cached_property
    def benchmark(self) -> Benchmark:
        """The benchmark as it is there now: images may have changed, classes must not."""
        found = open_benchmark(self.config)
        if found.classes != self.classes:
            raise DataError.at(
                data_folder(self.config.data_root),
                f"has the classes {', '.join(found.classes)}",
                f"the network was trained with {', '.join(self.classes)}",
            )
        return found

    def evaluate(self) -> dict[str, Evaluation]:
        """Measure all targets that are there."""
        targets = Targets(self.benchmark, self.config.source, self.config.test_images)
        found = {}
        with progress("measuring", len(targets.names), unit="domains") as advance:
            for name in targets.names:
                found[name] = self.measure(targets[name])
                advance(1)
        return found

    def measure(self, samples: Samples) -> Evaluation:
        """How well the network knows a split, in the run's numeric precision."""
        return evaluate(
            self.network,
            samples,
            get_task(self.config.task),
            device=self.device,
            precision=self.config.precision,
        )

    def predict(self, paths: Sequence[Path], *, top: int = 1) -> Iterator[Prediction]:
        """Classify image files, and those in folders; a bad file does not stop the others.

        Args:
            paths: files and folders.
            top: number of classes for each image.
        """
        return predict(self, image_files(paths), top)

    def segment(self, paths: Sequence[Path], output: Path) -> Iterator[SegmentedFile]:
        """Segment image files, and those in folders, into a folder of labels and overlays."""
        return segment_files(self, image_files(paths), output)


def load_trained(
    run: Path | str,
    which: Literal["best", "last"] = "best",
    *,
    data_root: Path | None = None,
    accelerator: str = "auto",
    trust_code: bool = False,
) -> Trained:
    """Load the network of a run; none of its data is needed, and no file is changed.

    Args:
        run: the run's directory, done or not.
        which: the weights that the run has selected, or the last ones.
        data_root: the folder of data sets for :meth:`Trained.evaluate`, if it has moved.
        accelerator: auto, cpu, cuda or mps.
        trust_code: import a method or network that the run names as ``package.module:function``.
    """
    device = device_of(accelerator)
    directory = RunDirectory(Path(run))
    if not (directory.path / CONFIG).exists():
        raise ProRandConvError.about("run", str(run), f"a run's directory, with {CONFIG} in it")
    config = RunConfig.read(directory.path / CONFIG, trust_code=trust_code)
    _check_unedited(directory, config)
    config.check_same_code()
    network = learner_of(config, network_of(config)).network
    weights = _best(directory) if which == "best" else network_weights(_checkpoint(directory))
    load_weights(network, weights, origin=str(directory.path), other_classes=False)
    if data_root is not None:
        config = replace(config, data_root=data_root)
    # As in training: another layout may round otherwise.
    network = network.to(device).to(memory_format=torch.channels_last)
    return Trained(config, network.eval(), device)


def _check_unedited(directory: RunDirectory, config: RunConfig) -> None:
    """A config.json that was changed by hand describes another run than the weights are from."""
    result = directory.result()
    if result is not None:
        directory.check_same_config(config.to_mapping(), result["config"], RESULT)
        own = list(config.identity.classes)
        if result.get("classes", own) != own:  # a config of before they were part of it
            raise RunError.at(
                directory.path, "its data has other classes now", f"see {RESULT} for those of then"
            )
        return
    name = directory.path.resolve().name
    stored = read_object("config", directory.path / CONFIG)
    named = re.fullmatch("[0-9a-f]{12}", name) and "format" in stored
    comparable = config.weights is None or config.weights.is_file()
    if named and comparable and name != config.hash:
        raise RunError.at(
            directory.path / CONFIG,
            f"describes another run ({config.hash}) than the directory's name",
            "restore it, or give the directory another name if you mean it",
        )


def _best(directory: RunDirectory) -> dict[str, Tensor]:
    path = directory.path / BEST
    if not path.exists():
        found: dict[str, Tensor] = _checkpoint(directory, best=True)["best"]
        return found
    try:
        return safetensors.torch.load_file(path)
    except (safetensors.SafetensorError, OSError) as error:
        raise RunError.at(
            path, f"is damaged ({error})", "remove it: the checkpoint has these weights too"
        ) from error


def _checkpoint(directory: RunDirectory, *, best: bool = False) -> Stored:
    state, messages = read_state(directory, set_aside=False)
    if state is None or (best and not state["best"]):
        missing = f"{BEST} is missing, and there is" if best else "there is"
        raise RunError.at(
            directory.path,
            "; ".join([*messages, f"{missing} no checkpoint with these weights"]),
            f"train at least one epoch; if the run was done, remove {RESULT} first",
        )
    return state


def replay(run: Path, file: str = "nan-rank0.pt", *, trust_code: bool = False) -> Tensor:
    """Compute the losses of a step that a failed run has kept, until one is not finite.

    Returns:
        That loss, with its graph for a closer look; if all are finite, the last one.

    Args:
        run: the run's directory.
        file: the step's file in it.
        trust_code: import a method or network that the run names as ``package.module:function``.
    """
    config = RunConfig.read(run / CONFIG, trust_code=trust_code)
    step = torch.load(run / file, map_location="cpu", weights_only=True)
    learner = learner_of(config, network_of(config))
    learner.load_state_dict(step["learner"])
    generator = torch.Generator()
    generator.set_state(step["augmentation"])
    torch.set_rng_state(step["torch"])
    batch = Batch(*(step[name] for name in Batch._fields))
    for losses in learner.train().step(batch, generator):
        for loss in losses.values():
            if not torch.isfinite(loss):
                return loss
    return loss
