"""What describes a run completely, how it is stored, and what it is called."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro
from annotated_types import Ge, Le, Lt, MinLen
from tyro.conf import Suppress

from ...errors import ProRandConvError, require
from ..errors import LabError, RunError, unknown_name
from ..methods import METHODS, Method, method_class
from ..options import OrDefault
from .values import (
    DataIdentity,
    changed,
    check_known,
    code_content,
    method_from,
    plain,
    read_object,
    short_hash,
    validated,
    weights_content,
)

if TYPE_CHECKING:  # a config is read without waiting for what loads data
    from ..data import ImageFormat


ACCELERATORS = ("auto", "cpu", "cuda", "mps")


@dataclass(frozen=True)
class Execution:
    """How a run is executed: nothing here changes its result."""

    runs: Path = Path("runs")
    """folder of all runs"""
    accelerator: str = "auto"
    """auto, cpu, cuda or mps"""
    checkpoint_minutes: float = 10.0
    """save a checkpoint within an epoch every N minutes"""
    tensorboard: bool = False
    """write the metrics for TensorBoard too"""
    wait: bool = False
    """wait while another process uses this run, instead of raising an error"""
    quiet: bool = False
    """show nothing while running"""
    keep_checkpoint: bool = False
    """keep the checkpoint of a finished run, which holds its last weights; else it is removed"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "runs", Path(self.runs))
        if self.accelerator not in ACCELERATORS:
            raise unknown_name("accelerator", self.accelerator, ACCELERATORS)
        minutes = self.checkpoint_minutes
        require("checkpoint_minutes", minutes, minutes >= 0, "a number from 0")

    def with_absolute_paths(self) -> Execution:
        """The same with absolute paths, for a process in another folder."""
        return replace(self, runs=self.runs.resolve())


FORMAT = 2
"""Of config.json. Files without a number are completed like those that users write."""

OPTIONAL_FIELDS = [
    "image_size",
    "average",
    "jitter",
    "select",
    "shifted_validation",
    "task",
    "code",
]
"""Fields that came later: files of this format may lack them and have their default then."""

CLASSIFICATION_ONLY = {"jitter": 0.0, "shifted_validation": False}
"""Fields that apply to images with one class only, and their values elsewhere."""

PATH_FIELDS = ("data_root", "weights")
"""Fields that are paths, and do not change a result."""

Count = Annotated[int, Ge(1)]
Rate = Annotated[float, Ge(0), Lt(math.inf)]

__all__ = ["Execution", "RunConfig"]


@dataclass(frozen=True)
class RunConfig:
    """One run. Build it with :meth:`paper`, which fills in the benchmark's own values.

    Complete, it stands by itself: it can be stored, sent to other processes and read again where
    none of its data is.
    """

    benchmark: str = "digits"
    """digits, pacs, officehome, vlcs, folder or digits-mini; with masks: gtav, street, segfolder
    or shapes-mini"""
    source: Annotated[tuple[str, ...], MinLen(1)] = ("mnist",)
    """domain or domains to train on; the other domains are the targets"""
    method: Annotated[
        str, tyro.conf.arg(help=f"{', '.join(METHODS)}, or package.module:function")
    ] = "pro-randconv"
    options: Method = field(default_factory=lambda: method_class("pro-randconv")())
    """options of the method"""
    network: str = "lenet"
    """lenet, alexnet, resnet18, resnet50, any other classifier of torchvision, or
    package.module:function; for masks <architecture>-<encoder>, such as deeplabv3plus-resnet50"""
    pretrained: bool = False
    """start from torchvision's ImageNet weights"""
    weights: OrDefault[Path] = None
    """start from the weights in this file, .safetensors or .pth"""
    epochs: Count = 500
    """number of epochs"""
    batch_size: Count = 64
    """mini-batch size, over all processes"""
    optimiser: Literal["sgd", "nesterov", "adam", "adamw"] = "sgd"
    """optimiser; nesterov: SGD with Nesterov's momentum"""
    learning_rate: Rate = 0.01
    """initial learning rate"""
    momentum: Rate = 0.9
    """momentum of SGD"""
    weight_decay: Rate = 0.0
    """weight decay"""
    schedule: Literal["cosine", "poly", "step", "constant"] = "cosine"
    """learning-rate schedule: cosine by epoch, polynomial of power 0.9 by step, or divided by 10
    after 80 % of the epochs"""
    average: Literal["none", "ema", "swad"] = "none"
    """evaluate averages of the weights: moving over all steps, or over those of the second half"""
    image_size: OrDefault[Count] = None
    """side in pixels that photos are resized to, or that scenes are cropped to (default: the
    benchmark's)"""
    base_augmentation: bool = False
    """apply the benchmark's base augmentation: flip and translate, or for scenes scale, flip,
    colours and blur"""
    jitter: Annotated[float, Ge(0), Le(1)] = 0.0
    """zoom, shift and turn each training image at random: up to 1.4, 20 % and 15° for 1; 0: not"""
    train_images: OrDefault[Count] = None
    """use only this many training images of the source, for trials"""
    test_images: OrDefault[Count] = None
    """use only this many images of each domain for validation and test, for trials"""
    target_every: Annotated[int, Ge(0)] = 10
    """evaluate on the targets every N epochs; 0: only after the last"""
    select: Literal["val", "val-shifted", "last"] = "val"
    """model selection: best on validation, best on shifted validation, or the last weights"""
    shifted_validation: bool = False
    """measure validation images under shifts too (val-shifted does so by itself)"""
    seed: Annotated[int, Ge(0), Lt(2**63)] = 0
    """random seed of the initial weights, the order of images and the augmentation"""
    precision: Literal["32-true", "bf16-mixed"] = "32-true"
    """numeric precision of the network"""
    deterministic: bool = True
    """use only deterministic algorithms"""
    devices: Count = 1
    """processes on each node, each with its own device and its own augmentation"""
    nodes: Count = 1
    """number of machines"""
    data_root: OrDefault[Path] = None
    """folder of data sets (default: the variable PRORANDCONV_DATA, else data)"""
    task: Suppress[Literal["classification", "segmentation"]] = "classification"
    """task of the benchmark: the class of an image, or of each pixel"""
    data: Suppress[DataIdentity | None] = None
    """identity of the data when the config was made"""
    code: Suppress[str | None] = None
    """hash of the source of a method or network of the user's, when the config was made"""

    def __post_init__(self) -> None:
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "options"}
        for name, value in validated(type(self), values).items():
            object.__setattr__(self, name, value)
        if self.select == "val-shifted":
            object.__setattr__(self, "shifted_validation", True)
        for name in (self.benchmark, *self.source):  # they become folders
            require("benchmark, source", name, Path(name).name == name, "a name, not a path")
        multiple = f"a multiple of the {self.processes} processes"
        require("batch_size", self.batch_size, self.batch_size % self.processes == 0, multiple)
        own_options = isinstance(self.options, method_class(self.method)) or ":" in self.method
        named = type(self.options).__name__
        require("options", named, own_options, f"the options of {self.method}")
        fitting = f"a method for {self.task}, with options that fit it"
        require("method", self.method, self.task in self.options.tasks, fitting)
        for name, value in CLASSIFICATION_ONLY.items() if self.task != "classification" else ():
            given = getattr(self, name)
            require(name, given, given == value, f"{value} for {self.task}")
        if self.data is not None:
            decided = self.options.with_auto_resolved(self.data.mean, self.data.std)
            object.__setattr__(self, "options", decided)

    @property
    def processes(self) -> int:
        """How many processes train together."""
        return self.devices * self.nodes

    @property
    def identity(self) -> DataIdentity:
        """What the data is; a config of :meth:`paper` knows it."""
        if self.data is None:
            raise ProRandConvError.about("data", None, "a config made by RunConfig.paper")
        return self.data

    @property
    def format(self) -> ImageFormat:
        """How images reach the network."""
        from ..data import ImageFormat

        own = self.identity
        return ImageFormat(own.image_size, own.mean, own.std, self.base_augmentation)

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

        Of a user's own folder the images are looked at: they belong to what the run is called.

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
        known_fields = [f.name for f in fields(cls)]
        check_known(changes, known_fields)
        if not isinstance(options, Method):
            usual = method_class(method).options_on(benchmark)
            options = method_from(method, {**usual, **(options or {})})

        from ..data import Options, get_benchmark  # only here: --help must not wait for it

        size = validated(cls, {"image_size": changes.get("image_size")})["image_size"]
        known = get_benchmark(benchmark, data_root, Options(image_size=size))
        names = [source] if isinstance(source, str) else list(source or known.domains[:1])
        chosen = {known.domain(name).name for name in names}
        sources = tuple(name for name in known.members if name in chosen)
        recipe = known.recipe
        network = changes.get("network", known.network)
        untrained = changes.get("weights") is not None or network == "lenet" or ":" in network
        if size == recipe.image_size:  # the same run by another name
            changes["image_size"] = None
        defaults = {name: value for name, value in vars(recipe).items() if name in known_fields} | {
            "image_size": None,  # which means the recipe's
            "network": known.network,
            "pretrained": recipe.pretrained and not untrained,
            "epochs": recipe.length(several_sources=len(sources) > 1),
            **options.defaults,
        }
        return cls(
            benchmark=benchmark,
            source=sources,
            method=method,
            options=options,
            data_root=None if data_root is None else Path(data_root),
            **{
                **defaults,
                **changes,
                "task": known.task,
                "data": DataIdentity.of(known),
                "code": code_content(method, network),
            },
        )

    @classmethod
    def from_mapping(
        cls, stored: Mapping[str, Any], *, origin: str = "config", trust_code: bool = False
    ) -> RunConfig:
        """A config from names and JSON values.

        One that :meth:`to_mapping` has made is taken as it is, without a look at any data. In any
        other, what is missing is the paper's.
        """
        try:
            return cls._from_plain(dict(stored), trust_code)
        except LabError:  # which names the place
            raise
        except ProRandConvError as error:
            raise ProRandConvError(f"{origin}: {error}") from error

    @classmethod
    def _from_plain(cls, given: dict[str, Any], trust_code: bool) -> RunConfig:
        version = given.pop("format", None)
        known = [f.name for f in fields(cls)]
        check_known(given, known)
        for name in ("method", "network"):
            if not trust_code and ":" in str(given.get(name, "")):
                raise ProRandConvError.about(
                    name,
                    given[name],
                    "a name that needs no import: what a file names is imported only with "
                    "--trust-code (in Python: trust_code=True)",
                )
        options = given.pop("options", {})
        if not isinstance(options, Mapping):
            raise ProRandConvError.about("options", options, "names and values")
        given = validated(cls, given)
        method = given.pop("method", "pro-randconv")
        if version is None:
            return cls.paper(method=method, options=options, **given)
        require("format", version, version == FORMAT, f"{FORMAT}, or a newer prorandconv")
        missing = set(known) - set(given) - {"method", "options", *OPTIONAL_FIELDS}
        require(
            "missing",
            sorted(missing),
            not missing,
            "a complete config; without the field 'format' it is completed with the paper's values",
        )
        return cls(method=method, options=method_from(method, options), **given)

    @classmethod
    def read(cls, path: Path, *, trust_code: bool = False) -> RunConfig:
        """Read a config.json, complete or in part; see :meth:`from_mapping`."""
        stored = read_object("config", path)
        return cls.from_mapping(stored, origin=str(path), trust_code=trust_code)

    def to_mapping(self) -> dict[str, Any]:
        """Names and JSON values, as in config.json; ``code`` only where there is some."""
        values = plain(self)
        if self.code is None:
            del values["code"]
        return {"format": FORMAT, **values}

    def with_changes(self, **changes: Any) -> RunConfig:
        """The run with changes; its sources, data and code are read again.

        Options of another method are that method's own.
        """
        given = {f.name: getattr(self, f.name) for f in fields(self)} | changes
        if "options" not in changes and given["method"] != self.method:
            del given["options"]
        return RunConfig.paper(**given)

    def with_absolute_paths(self) -> RunConfig:
        """The same run with absolute paths, for a process in another folder."""
        paths = {name: getattr(self, name) for name in PATH_FIELDS}
        return replace(self, **{n: p.resolve() for n, p in paths.items() if p is not None})

    def check_same_code(self) -> None:
        """Raise if a method or network of the user's has changed since the config was made."""
        if self.code not in (None, code_content(self.method, self.network)):
            names = [name for name in (self.method, self.network) if ":" in name]
            raise RunError(
                f"{' and '.join(names)}: the source has changed since this config was made; "
                "restore it, or make a new config: without --config, or with RunConfig.paper"
            )

    @cached_property
    def hash(self) -> str:
        """A short name for everything that the result depends on.

        Fields and options count where they differ from their defaults: a new one does not rename
        older runs. Paths do not count; a file of weights counts by its content, the data by its
        identity, the user's code by its source. The number of processes counts: each draws its own
        augmentation.
        """
        from ...transforms import DRAWING_VERSION

        uncounted = (*PATH_FIELDS, "devices", "nodes", "options", "data")
        counted = {k: v for k, v in changed(self).items() if k not in uncounted}
        counted["options"] = changed(self.options)
        counted["processes"] = self.processes
        counted["data"] = plain(self.identity)
        counted["drawing"] = DRAWING_VERSION
        if self.weights is not None:
            counted["weights"] = weights_content(self.weights)
        return short_hash(counted)

    def directory(self, runs: Path) -> Path:
        """Where the run lives: ``runs/<benchmark>/<method>/<source>/<hash>``."""
        method = self.method.replace(":", "-")
        return runs / self.benchmark / method / "+".join(self.source) / self.hash
