"""What describes a run completely, how it is stored, and what it is called."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar, get_type_hints

from pydantic import TypeAdapter, ValidationError

from ...errors import ProRandConvError
from ..errors import unknown_name
from ..methods import Method, method_class

PLACES = ("data_root",)
"""Fields that say where things are and do not change a result: no part of a run's name."""

T = TypeVar("T")


@dataclass(frozen=True)
class RunConfig:
    """One run. Build it with :meth:`paper`, which fills in the benchmark's own values."""

    benchmark: str = "digits"
    """digits, pacs, officehome, vlcs, folder or digits-mini"""
    source: tuple[str, ...] = ("mnist",)
    """domain or domains to train on; the other domains are the targets"""
    method: str = "pro-randconv"
    """erm, randconv, progressive, pro-randconv, color-jitter, grayscale, perspective, rotate,
    autoaugment, randaugment, augmix, mixstyle, or package.module:function"""
    options: Method = field(default_factory=lambda: method_class("pro-randconv")())
    """options of the method"""
    network: str = "lenet"
    """lenet, alexnet, resnet18, resnet50, any other classifier of torchvision, or
    package.module:function"""
    pretrained: bool = False
    """start from torchvision's ImageNet weights"""
    weights: Path | None = None
    """start from the weights in this file, .safetensors or .pth"""
    epochs: int = 500
    """how often the source is gone through"""
    batch_size: int = 64
    """images of a mini-batch, over all processes"""
    optimiser: Literal["sgd", "adam", "adamw"] = "sgd"
    """how weights are updated"""
    learning_rate: float = 0.01
    """the first learning rate"""
    momentum: float = 0.9
    """of sgd"""
    weight_decay: float = 0.0
    """pull of the weights towards zero"""
    schedule: Literal["cosine", "constant"] = "cosine"
    """the learning rate's way from epoch to epoch"""
    base_augmentation: bool = False
    """flip and translate training images at random, where the benchmark does so"""
    train_images: int | None = None
    """use only so many images of the source, for trials"""
    test_images: int | None = None
    """use only so many images of each domain for validation and test, for trials"""
    target_every: int = 10
    """measure the targets each so many epochs; 0: only at the end"""
    seed: int = 0
    """of the first weights, the order of images and the augmentation"""
    precision: Literal["32-true", "bf16-mixed"] = "32-true"
    """numbers the network computes with"""
    deterministic: bool = True
    """use only algorithms that give the same bits each time"""
    devices: int = 1
    """processes on each node, each with its own device and its own augmentation"""
    nodes: int = 1
    """machines"""
    data_root: Path | None = None
    """folder of data sets (default: the variable PRORANDCONV_DATA, else data)"""

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "devices", "nodes"):
            _require(name, getattr(self, name), getattr(self, name) >= 1, "a whole number from 1")
        for name in ("train_images", "test_images"):
            value = getattr(self, name)
            _require(name, value, value is None or value >= 1, "a whole number from 1, or none")
        _require("target_every", self.target_every, self.target_every >= 0, "a number from 0")
        for name in ("learning_rate", "momentum", "weight_decay"):
            value = getattr(self, name)
            _require(name, value, math.isfinite(value) and value >= 0, "a number from 0")
        _require("source", self.source, len(self.source) > 0, "at least one domain")
        _require("seed", self.seed, 0 <= self.seed < 2**63, "a whole number from 0")
        _require(
            "batch_size",
            self.batch_size,
            self.batch_size % self.processes == 0,
            f"a multiple of the {self.processes} processes",
        )
        _require(
            "options",
            type(self.options).__name__,
            isinstance(self.options, method_class(self.method)) or ":" in self.method,
            f"the options of {self.method}",
        )

    @property
    def processes(self) -> int:
        """How many processes train together."""
        return self.devices * self.nodes

    @classmethod
    def paper(
        cls,
        benchmark: str = "digits",
        source: str | Sequence[str] | None = None,
        method: str = "pro-randconv",
        *,
        options: Method | Mapping[str, Any] | None = None,
        data_root: Path | str | None = None,
        **changes: Any,
    ) -> RunConfig:
        """The paper's run on a benchmark, and changes to it.

        Args:
            benchmark: its name.
            source: a domain, or several in any order; the benchmark's first domain by default.
            method: its name.
            options: of the method, where they differ from its defaults.
            data_root: the folder of data sets.
            changes: further fields by name.

        Example:
            >>> config = RunConfig.paper("digits", method="erm", epochs=20)
            >>> config.source, config.epochs, config.learning_rate
            (('mnist',), 20, 0.01)
        """
        from ..data import get_benchmark  # only here: --help must not wait for it

        known = get_benchmark(benchmark, data_root)
        names = [source] if isinstance(source, str) else list(source or known.domains[:1])
        chosen = {known.domain(name).name for name in names}
        own = [name for name in known.members if name in chosen]
        refuse_unknown("", changes, [f.name for f in fields(cls)])
        if not isinstance(options, Method):
            options = _method_of(method, options or {})
        recipe = known.recipe
        network = changes.get("network", known.network)
        own_weights = changes.get("weights") is not None or network == "lenet" or ":" in network
        defaults: dict[str, Any] = {
            "network": known.network,
            "pretrained": known.network != "lenet" and not own_weights,
            "epochs": recipe.epochs if len(own) == 1 else recipe.epochs_multi_source,
            "batch_size": recipe.batch_size,
            "learning_rate": recipe.learning_rate,
            "momentum": recipe.momentum,
            "weight_decay": recipe.weight_decay,
            "schedule": recipe.scheduler,
            "base_augmentation": recipe.base_augmentation,
        }
        return cls(
            benchmark=benchmark,
            source=tuple(own),
            method=method,
            options=options,
            data_root=None if data_root is None else Path(data_root),
            **{**defaults, **changes},
        )

    @classmethod
    def from_mapping(cls, stored: Mapping[str, Any], *, origin: str = "config") -> RunConfig:
        """A config from names and plain values; what is missing is the paper's.

        Args:
            stored: as in config.json.
            origin: where it comes from, for messages.
        """
        refuse_unknown(origin, stored, [f.name for f in fields(cls)])
        hints = get_type_hints(cls)
        typed = {
            name: _typed(f"{origin}: {name}", value, hints[name])
            for name, value in stored.items()
            if name != "options"
        }
        options = stored.get("options", {})
        if not isinstance(options, Mapping):
            raise ProRandConvError.about(f"{origin}: options", options, "names and values")
        method = typed.pop("method", "pro-randconv")
        return cls.paper(method=method, options=_method_of(method, options, origin), **typed)

    @classmethod
    def read(cls, path: Path) -> RunConfig:
        """Read a config.json, complete or in part."""
        try:
            stored = json.loads(path.read_text())
        except OSError as error:
            raise ProRandConvError.about("config", str(path), "a file to read") from error
        except ValueError as error:
            raise ProRandConvError.about("config", str(path), f"JSON ({error})") from error
        if not isinstance(stored, dict):
            raise ProRandConvError.about("config", str(path), "a JSON object of names and values")
        return cls.from_mapping(stored, origin=str(path))

    def to_mapping(self) -> dict[str, Any]:
        """Names and plain values, as in config.json."""
        plain: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(self), default=str))
        return plain

    @property
    def hash(self) -> str:
        """A short name for everything that the result depends on.

        Where the data lies does not count, and a file of weights counts by its content. The number
        of processes does: each draws its own augmentation.
        """
        counted = {k: v for k, v in self.to_mapping().items() if k not in PLACES}
        counted["processes"] = counted.pop("devices") * counted.pop("nodes")
        if self.weights is not None:
            if not self.weights.is_file():
                raise ProRandConvError.about("weights", str(self.weights), "a file that exists")
            counted["weights"] = _content_hash(self.weights, self.weights.stat().st_mtime_ns)
        return hashlib.sha256(json.dumps(counted, sort_keys=True).encode()).hexdigest()[:12]

    def directory(self, runs: Path) -> Path:
        """Where the run lives: ``runs/<benchmark>/<method>/<source>/<hash>``."""
        method = self.method.replace(":", "-")
        return runs / self.benchmark / method / "+".join(self.source) / self.hash


@dataclass(frozen=True)
class Execution:
    """How a run is executed: nothing here changes its result."""

    runs: Path = Path("runs")
    """folder of all runs"""
    accelerator: str = "auto"
    """auto, cpu, cuda or mps"""
    checkpoint_minutes: float = 10.0
    """save within an epoch each so many minutes"""
    tensorboard: bool = False
    """write the metrics for TensorBoard too"""
    wait: bool = False
    """wait while another process is at work on this run, instead of refusing"""
    quiet: bool = False
    """show nothing while running"""


@cache
def _content_hash(path: Path, changed: int) -> str:
    """Hashed once for all runs of a study; a file that was changed is hashed again."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _method_of(method: str, options: Mapping[str, Any], origin: str = "options") -> Method:
    cls = method_class(method)
    hints = get_type_hints(cls)
    refuse_unknown(f"{origin}: options of {method}", options, [f.name for f in fields(cls)])
    return cls(**{k: _typed(f"{origin}: options.{k}", v, hints[k]) for k, v in options.items()})


def _typed(name: str, value: Any, kind: type[T]) -> T:
    """A plain value as what the field holds: lists become tuples, texts become paths."""
    try:
        return TypeAdapter(kind).validate_json(json.dumps(value, default=str), strict=True)
    except ValidationError as error:
        expected = "; or ".join(dict.fromkeys(problem["msg"] for problem in error.errors()))
        raise ProRandConvError.about(name, value, expected) from error


def refuse_unknown(origin: str, given: Iterable[str], known: Sequence[str]) -> None:
    """Refuse names that are not known, with the nearest one that is."""
    for name in given:
        if name not in known:
            prefix = f"{origin}: " if origin else ""
            raise unknown_name(f"{prefix}unknown field", name, known)


def _require(name: str, value: object, right: bool, expected: str) -> None:
    if not right:
        raise ProRandConvError.about(name, value, expected)
