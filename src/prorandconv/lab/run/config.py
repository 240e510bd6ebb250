"""What describes a run completely, how it is stored, and what it is called."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_type_hints

from tyro.conf import Suppress

from ...errors import ProRandConvError, require
from ..errors import LabError
from ..methods import Method, method_class
from ..options import OrDefault
from .execution import Execution
from .identity import DataIdentity, weights_content
from .plain_values import (
    changed,
    method_from,
    plain,
    read_object,
    refuse_unknown,
    short_hash,
    typed,
)

if TYPE_CHECKING:  # a config is read without waiting for what loads data
    from ..data import ImageFormat

FORMAT = 2
"""Of config.json. Files without a number are completed like those that users write."""

ADDED = ("image_size", "average", "jitter", "select", "shifted_validation", "task")
"""Fields that came later: files of this format may lack them and have their default then."""

CLASSIFICATION_ONLY = {"jitter": 0.0, "shifted_validation": False}
"""Fields that only images with one class have a use for, and what they are elsewhere."""

PLACES = ("data_root", "weights")
"""Fields that say where things are."""

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
    source: tuple[str, ...] = ("mnist",)
    """domain or domains to train on; the other domains are the targets"""
    method: str = "pro-randconv"
    """erm, randconv, progressive, pro-randconv, color-jitter, grayscale, perspective, rotate,
    autoaugment, randaugment, augmix, mixstyle, or package.module:function; of Table 6 ours-a to
    ours-d, and beyond it ours-move and ours-shared"""
    options: Method = field(default_factory=lambda: method_class("pro-randconv")())
    """options of the method"""
    network: str = "lenet"
    """lenet, alexnet, resnet18, resnet50, any other classifier of torchvision, or
    package.module:function; for masks <architecture>-<encoder>, such as deeplabv3plus-resnet50"""
    pretrained: bool = False
    """start from torchvision's ImageNet weights"""
    weights: OrDefault[Path] = None
    """start from the weights in this file, .safetensors or .pth"""
    epochs: int = 500
    """number of epochs"""
    batch_size: int = 64
    """mini-batch size, over all processes"""
    optimiser: Literal["sgd", "adam", "adamw"] = "sgd"
    """optimiser"""
    learning_rate: float = 0.01
    """initial learning rate"""
    momentum: float = 0.9
    """momentum of SGD"""
    weight_decay: float = 0.0
    """weight decay"""
    schedule: Literal["cosine", "poly", "constant"] = "cosine"
    """learning-rate schedule: cosine by epoch, or polynomial of power 0.9 by step"""
    average: Literal["none", "ema", "swad"] = "none"
    """evaluate averages of the weights: moving over all steps, or over those of the second half"""
    image_size: OrDefault[int] = None
    """side in pixels that photos are resized to, or that scenes are cropped to (default: the
    benchmark's)"""
    base_augmentation: bool = False
    """change training images at random as the benchmark does: flip and translate, or of scenes
    scale, flip, colours and blur"""
    jitter: float = 0.0
    """zoom, shift and turn each training image at random: up to 1.4, 20 % and 15° for 1; 0: not"""
    train_images: OrDefault[int] = None
    """use only this many training images of the source, for trials"""
    test_images: OrDefault[int] = None
    """use only this many images of each domain for validation and test, for trials"""
    target_every: int = 10
    """evaluate on the targets every so many epochs; 0: only after the last"""
    select: Literal["val", "val-shifted", "last"] = "val"
    """weights that count: best on validation, best on shifted validation, or the last"""
    shifted_validation: bool = False
    """measure validation images under shifts too (val-shifted does so by itself)"""
    seed: int = 0
    """random seed of the initial weights, the order of images and the augmentation"""
    precision: Literal["32-true", "bf16-mixed"] = "32-true"
    """numeric precision of the network"""
    deterministic: bool = True
    """use only deterministic algorithms"""
    devices: int = 1
    """processes on each node, each with its own device and its own augmentation"""
    nodes: int = 1
    """number of machines"""
    data_root: OrDefault[Path] = None
    """folder of data sets (default: the variable PRORANDCONV_DATA, else data)"""
    task: Suppress[Literal["classification", "segmentation"]] = "classification"
    """what the network finds: the class of an image, or of each pixel; the benchmark says which"""
    data: Suppress[DataIdentity | None] = None
    """what the data is, as it was found when the config was made"""

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self))
        for name in (f.name for f in fields(self) if f.name not in ("options", "data")):
            object.__setattr__(self, name, typed(name, getattr(self, name), hints[name]))
        if self.select == "val-shifted":
            object.__setattr__(self, "shifted_validation", True)
        for name in ("epochs", "batch_size", "devices", "nodes"):
            require(name, getattr(self, name), getattr(self, name) >= 1, "a whole number from 1")
        for name in ("image_size", "train_images", "test_images"):
            value = getattr(self, name)
            require(name, value, value is None or value >= 1, "a whole number from 1, or none")
        require("target_every", self.target_every, self.target_every >= 0, "a number from 0")
        for name in ("learning_rate", "momentum", "weight_decay"):
            value = getattr(self, name)
            require(name, value, math.isfinite(value) and value >= 0, "a number from 0")
        require("jitter", self.jitter, 0 <= self.jitter <= 1, "a number from 0 to 1")
        require("source", self.source, len(self.source) > 0, "at least one domain")
        for name in (self.benchmark, *self.source):  # they become folders
            require("benchmark, source", name, Path(name).name == name, "a name, not a path")
        require("seed", self.seed, 0 <= self.seed < 2**63, "a whole number from 0")
        multiple = f"a multiple of the {self.processes} processes"
        require("batch_size", self.batch_size, self.batch_size % self.processes == 0, multiple)
        own_options = isinstance(self.options, method_class(self.method)) or ":" in self.method
        named = type(self.options).__name__
        require("options", named, own_options, f"the options of {self.method}")
        fitting = f"a method for {self.task}, with options that fit it"
        require("method", self.method, self.task in self.options.tasks, fitting)
        for name, value in CLASSIFICATION_ONLY.items() if self.task != "classification" else ():
            own = getattr(self, name)
            require(name, own, own == value, f"{value} for {self.task}")
        if self.data is not None:
            decided = self.options.fitted(self.data.mean, self.data.std)
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
        own_fields = [f.name for f in fields(cls)]
        refuse_unknown(changes, own_fields)
        if not isinstance(options, Method):
            options = method_from(method, options or {})

        from ..data import Options, get_benchmark  # only here: --help must not wait for it

        size = typed("image_size", changes.get("image_size"), int | None)
        known = get_benchmark(benchmark, data_root, Options(image_size=size))
        names = [source] if isinstance(source, str) else list(source or known.domains[:1])
        chosen = {known.domain(name).name for name in names}
        own = [name for name in known.members if name in chosen]
        recipe = known.recipe
        network = changes.get("network", known.network)
        own_weights = changes.get("weights") is not None or network == "lenet" or ":" in network
        if size == recipe.image_size:  # the same run, said in another way
            changes["image_size"] = None
        defaults = {name: value for name, value in vars(recipe).items() if name in own_fields} | {
            "image_size": None,  # which means the recipe's
            "network": known.network,
            "pretrained": recipe.pretrained and not own_weights,
            "epochs": recipe.length(several_sources=len(own) > 1),
        }
        return cls(
            benchmark=benchmark,
            source=tuple(own),
            method=method,
            options=options,
            data_root=None if data_root is None else Path(data_root),
            **{**defaults, **changes, "task": known.task, "data": DataIdentity.of(known)},
        )

    @classmethod
    def from_mapping(
        cls, stored: Mapping[str, Any], *, origin: str = "config", trust_code: bool = False
    ) -> RunConfig:
        """A config from names and plain values.

        One that :meth:`to_mapping` has made is taken as it is, without a look at any data. In any
        other, what is missing is the paper's.

        Args:
            stored: as in config.json.
            origin: where it comes from, for messages.
            trust_code: import what a method or network ``package.module:function`` names.
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
        refuse_unknown(given, known)
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
        method = typed("method", given.pop("method", "pro-randconv"), str)
        if version is None:
            hints = get_type_hints(cls)
            checked = {name: typed(name, value, hints[name]) for name, value in given.items()}
            return cls.paper(method=method, options=options, **checked)
        require("format", version, version == FORMAT, f"{FORMAT}, or a newer prorandconv")
        missing = set(known) - set(given) - {"method", "options", *ADDED}
        require(
            "missing",
            sorted(missing),
            not missing,
            "a complete config; without the field 'format' it is completed with the paper's values",
        )
        data = typed("data", given.pop("data"), DataIdentity)
        return cls(method=method, options=method_from(method, options), data=data, **given)

    @classmethod
    def read(cls, path: Path, *, trust_code: bool = False) -> RunConfig:
        """Read a config.json, complete or in part.

        Args:
            path: the file.
            trust_code: import what a method or network ``package.module:function`` names.
        """
        stored = read_object("config", path)
        return cls.from_mapping(stored, origin=str(path), trust_code=trust_code)

    def to_mapping(self) -> dict[str, Any]:
        """Names and plain values, as in config.json."""
        return {"format": FORMAT, **plain(self)}

    def renewed(self, **changes: Any) -> RunConfig:
        """The run with changes; its sources and its data are looked at again.

        Options of another method are that method's own.
        """
        given = {f.name: getattr(self, f.name) for f in fields(self)} | changes
        if "options" not in changes and given["method"] != self.method:
            del given["options"]
        return RunConfig.paper(**given)

    def resolved(self) -> RunConfig:
        """The same run with absolute paths, for a process in another folder."""
        paths = {name: getattr(self, name) for name in PLACES}
        return replace(self, **{n: p.resolve() for n, p in paths.items() if p is not None})

    @property
    def hash(self) -> str:
        """A short name for everything that the result depends on.

        Fields and options count where they differ from their defaults: a new one does not rename
        older runs. Where things lie does not count; a file of weights counts by its content, the
        data by its identity. The number of processes does: each draws its own augmentation.
        """
        from ...transforms import DRAWING_VERSION

        uncounted = (*PLACES, "devices", "nodes", "options", "data")
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
