"""A classifier to be tested: a run's, one in a file, or one that a function makes."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from ...errors import ProRandConvError
from ..data import ImageFormat
from ..models import importable
from ..run.directory import METADATA
from ..run.environment import autocast, device_of
from ..run.trained import Trained, load_trained

KINDS = (
    "a run's directory, a TorchScript file, a program of torch.export (.pt2) or "
    "package.module:function"
)


@dataclass(frozen=True)
class InputSpec:
    """The images that a model takes, as the user gives them; None if the model's file does."""

    image_size: int | None = None
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    classes: tuple[str, ...] | None = None

    def completed(self, other: InputSpec) -> InputSpec:
        """The same, completed by another."""
        missing = {name: value for name, value in vars(other).items() if vars(self)[name] is None}
        return replace(self, **missing)

    @property
    def format(self) -> ImageFormat:
        """How images reach the network."""
        sources = {"--image-size": self.image_size, "--mean": self.mean, "--std": self.std}
        for option, value in sources.items():
            if value is None:
                raise ProRandConvError.about(
                    option, "nothing", "a value, as in the model's training: MODEL brings none"
                )
        if self.image_size is None or self.image_size < 1:
            raise ProRandConvError.about("--image-size", self.image_size, "1 pixel or more")
        mean, std = _three("--mean", self.mean), _three("--std", self.std)
        if min(std) <= 0:
            raise ProRandConvError.about("--std", std, "numbers > 0")
        return ImageFormat(self.image_size, mean, std, base_augmentation=False)


@dataclass(frozen=True)
class Model:
    """A classifier, and how it wants its images."""

    name: str
    network: Callable[[Tensor], Tensor]
    """normalised images ``(N, 3, S, S)`` on the device to logits"""
    device: torch.device
    format: ImageFormat
    classes: tuple[str, ...] | None
    """in the order of the outputs; None if they are not known"""
    trained: Trained | None = None
    """the run it is from"""

    def outputs(self) -> int:
        """How many classes the network tells apart, which one black image shows."""
        size = self.format.image_size
        try:
            with torch.inference_mode():
                logits = self.network(torch.zeros(1, 3, size, size, device=self.device))
        except Exception as error:  # whatever a user's network may raise
            raise ProRandConvError.about(
                "MODEL", self.name, f"a network for images (N, 3, {size}, {size}) ({error})"
            ) from error
        if not isinstance(logits, Tensor) or logits.dim() != 2:
            got = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
            raise ProRandConvError.about(
                "MODEL", self.name, f"a network that returns logits (N, classes), not {got}"
            )
        return logits.shape[1]


def load_model(
    name: str,
    given: InputSpec,
    *,
    which: Literal["best", "last"] = "best",
    data_root: Path | None = None,
    accelerator: str = "auto",
    trust_code: bool = False,
) -> Model:
    """Load a classifier.

    Args:
        name: a run's directory, a TorchScript file, a program of torch.export (.pt2), or
            ``package.module:function``, which is called without arguments and returns the network.
        given: the images that it takes; a run brings everything itself.
        which: the weights that a run has selected, or its last ones.
        data_root: the folder of data sets of a run, if it has moved.
        accelerator: auto, cpu, cuda or mps; a program stays where it was exported.
        trust_code: import what a run's config names as ``package.module:function``.
    """
    path = Path(name)
    if path.is_dir():
        _check_for_a_run(given)
        trained = load_trained(
            path, which, data_root=data_root, accelerator=accelerator, trust_code=trust_code
        )
        if trained.config.task != "classification":
            raise ProRandConvError.about(
                "MODEL", name, f"a classifier; this run is one of {trained.config.task}"
            )
        return _of_a_run(name, trained)
    if path.is_file():
        load = _program if path.suffix == ".pt2" else _torchscript
        return load(name, given, device_of(accelerator))
    if ":" in name:
        return _imported(name, given, device_of(accelerator))
    raise ProRandConvError.about("MODEL", name, f"{KINDS}; there is no such file or folder")


def _check_for_a_run(given: InputSpec) -> None:
    for name, value in vars(given).items():
        if value is not None:
            option = f"--{name.replace('_', '-')}"
            raise ProRandConvError.about(option, value, "nothing: a run brings its own")


def _of_a_run(name: str, trained: Trained) -> Model:
    def network(images: Tensor) -> Tensor:
        with autocast(trained.device, trained.config.precision):
            logits: Tensor = trained.network(images)
        return logits

    return Model(
        name, network, trained.device, trained.config.format, trained.classes, trained=trained
    )


def _torchscript(name: str, given: InputSpec, device: torch.device) -> Model:
    notes = {METADATA: ""}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # TorchScript is deprecated, and still in use
            load: Any = torch.jit.load
            network = load(name, map_location=device, _extra_files=notes)
    except Exception as error:  # torch raises several kinds for a file that is none of its own
        raise ProRandConvError.about(
            "MODEL",
            name,
            "an intact TorchScript file; a file of weights alone is no model: write a function "
            f"that loads it, and name that as package.module:function ({_reason(error)})",
        ) from error
    given = given.completed(_noted(notes[METADATA]))
    return Model(name, network.eval(), device, given.format, given.classes)


def _noted(text: str | bytes) -> InputSpec:
    """What `prorandconv export` has noted in a file; nothing in files of others."""
    if not text:
        return InputSpec()
    notes = json.loads(text)
    size, classes = notes["image_size"], tuple(notes["classes"])
    if "mean" not in notes["input"]:  # the graph normalises: it takes pixels as they are
        return InputSpec(size, (0.0,), (1.0,), classes)
    return InputSpec(size, tuple(notes["mean"]), tuple(notes["std"]), classes)


def _program(name: str, given: InputSpec, device: torch.device) -> Model:
    try:
        program = torch.export.load(name)
    except Exception as error:  # as above
        raise ProRandConvError.about(
            "MODEL", name, f"an intact program of torch.export ({_reason(error)})"
        ) from error
    inputs = program.graph_signature.user_inputs
    shapes = [node.meta["val"].shape for node in program.graph.nodes if node.name in inputs]
    if len(shapes) != 1 or len(shapes[0]) != 4:
        raise ProRandConvError.about(
            "MODEL", name, f"a program of one input (N, 3, S, S), not {[tuple(s) for s in shapes]}"
        )
    batch, _, _, side = (part if isinstance(part, int) else None for part in shapes[0])
    network: Callable[[Tensor], Tensor] = program.module()
    if batch is not None:
        network = _in_batches_of(batch, network)
    given = given.completed(InputSpec(image_size=side))
    places = [tensor.device for tensor in program.state_dict.values()]
    return Model(name, network, (*places, torch.device("cpu"))[0], given.format, given.classes)


def _in_batches_of(size: int, network: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """A network for batches of any size, from one for batches of a single size."""

    def called(images: Tensor) -> Tensor:
        short = -len(images) % size
        full = torch.cat((images, images[-1:].expand(short, -1, -1, -1)))
        return torch.cat([network(part) for part in torch.split(full, size)])[: len(images)]

    return called


def _imported(name: str, given: InputSpec, device: torch.device) -> Model:
    made: Any = importable("MODEL", name)
    try:
        network = made if isinstance(made, nn.Module) else made()
    except TypeError as error:
        raise ProRandConvError.about(
            "MODEL", name, f"a function without arguments that returns a network ({error})"
        ) from error
    if not isinstance(network, nn.Module):
        got = type(network).__name__
        raise ProRandConvError.about("MODEL", name, f"a function that returns a module, not {got}")
    return Model(name, network.to(device).eval(), device, given.format, given.classes)


def _three(option: str, values: tuple[float, ...] | None) -> tuple[float, float, float]:
    """One number for each channel."""
    numbers = tuple(map(float, values or ()))
    if len(numbers) not in (1, 3):
        raise ProRandConvError.about(option, values, "one number, or three for red, green and blue")
    first, second, third = numbers if len(numbers) == 3 else numbers * 3
    return first, second, third


def _reason(error: Exception) -> str:
    """The first sentence of what torch says, which may go on for a page."""
    return re.split(r"\.\s|\n", str(error).strip())[0]
