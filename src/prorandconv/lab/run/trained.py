"""The network of a run, for use: measured again, or asked about images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import safetensors.torch
import torch
from torch import nn

from ...errors import ProRandConvError
from ..data import Benchmark, get_benchmark
from ..data.decoding import decode
from ..data.pixels import normalise, resize
from ..errors import RunError
from ..models import build
from ..progress import progress
from .checkpoint import network_weights, read_state
from .config import RunConfig
from .directory import BEST, CONFIG, RunDirectory
from .evaluation import Evaluation, Targets, evaluate


@dataclass(frozen=True)
class Prediction:
    """What a network takes an image for."""

    path: Path
    label: str
    probability: float


@dataclass(frozen=True)
class Trained:
    """A network and what it was trained on."""

    config: RunConfig
    benchmark: Benchmark
    network: nn.Module

    @classmethod
    def load(
        cls,
        run: Path,
        which: Literal["best", "last"] = "best",
        data_root: Path | None = None,
    ) -> Trained:
        """Load the network of a run's directory.

        Args:
            run: the directory, done or not.
            which: the best weights by validation, or the last ones.
            data_root: the folder of data sets, if it has moved.
        """
        if not (run / CONFIG).exists():
            raise ProRandConvError.about("run", str(run), f"a run's directory, with {CONFIG} in it")
        config = RunConfig.read(run / CONFIG)
        benchmark = get_benchmark(config.benchmark, data_root or config.data_root)
        network = build(
            config.network, classes=len(benchmark.classes), image_size=benchmark.image_size
        )
        if which == "best":
            if not (run / BEST).exists():
                raise RunError.at(run / BEST, "is not there", "train at least one epoch")
            weights = safetensors.torch.load_file(run / BEST)
        else:
            state, messages = read_state(RunDirectory(run), set_aside=False)
            if state is None:
                raise RunError.at(
                    run, "; ".join([*messages, "has no checkpoint"]), "train it first"
                )
            weights = network_weights(state)
        network.load_state_dict(weights)
        return cls(config, benchmark, network.eval())

    def evaluate(self) -> dict[str, Evaluation]:
        """Measure all targets that are there."""
        targets = Targets(self.benchmark, self.config.source, self.config.test_images)
        found = {}
        with progress("measuring", len(targets.names), unit="domains") as advance:
            for name in targets.names:
                found[name] = evaluate(self.network, targets[name], precision=self.config.precision)
                advance(1)
        return found

    def predict(self, paths: Sequence[Path]) -> list[Prediction]:
        """Take image files for classes."""
        form = self.benchmark.format
        predictions = []
        for path in paths:
            pixels = resize(decode(path).pixels[None], form.image_size)
            with torch.inference_mode():
                chances = self.network(normalise(pixels, form.mean, form.std)).softmax(1)[0]
            best = int(chances.argmax())
            label = self.benchmark.classes[best]
            predictions.append(Prediction(path, label, float(chances[best])))
        return predictions
