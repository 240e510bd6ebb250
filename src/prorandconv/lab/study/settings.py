"""What a user chooses about a study."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from ...errors import require
from ..options import SHOWN_DEFAULT, OrDefault
from ..run.values import plain, short_hash

ADDED = ("image_size", "rows", "precision", "shifted_validation")
"""Fields that came later: older studies, which have their defaults, keep their names."""


@dataclass(frozen=True)
class Settings:
    """How a study is to be run; what is not given is the paper's."""

    seeds: int = 3
    """number of seeds, starting at 0; figures are means over them"""
    epochs: OrDefault[int] = None
    """number of epochs of each run (default: the paper's)"""
    benchmark: OrDefault[str] = None
    """benchmark to use instead of the paper's, such as digits-mini, which needs no data"""
    networks: Annotated[tuple[str, ...], SHOWN_DEFAULT] = ()
    """networks to use instead of the paper's, or only some of the paper's"""
    weights: OrDefault[Path] = None
    """ImageNet weights: NETWORK*.safetensors or .pth, or a folder of them (default: downloaded)"""
    data_root: OrDefault[Path] = None
    """folder of data sets (default: the variable PRORANDCONV_DATA, else data)"""
    image_size: OrDefault[int] = None
    """side in pixels that photos are resized to (default: the paper's 224)"""
    train_images: OrDefault[int] = None
    """limit the number of training images of the sources, for trials"""
    test_images: OrDefault[int] = None
    """limit the number of validation and test images of each domain, for trials"""
    target_every: OrDefault[int] = None
    """evaluate the targets every N epochs (default: 10); 0: only at the end"""
    rows: Annotated[tuple[str, ...], SHOWN_DEFAULT] = ()
    """only these rows of the tables, by name"""
    precision: Literal["32-true", "bf16-mixed"] = "32-true"
    """numeric precision of the networks"""
    shifted_validation: bool = False
    """measure validation images under shifts too; some studies then show the weights it selects"""

    everything: Annotated[bool, tyro.conf.Suppress] = False
    """plan as if every domain were present, to count runs"""

    def __post_init__(self) -> None:
        require("--seeds", self.seeds, self.seeds >= 1, "a whole number from 1")
        there = self.weights is None or self.weights.exists()
        require("--weights", str(self.weights), there, "a file or folder")

    @property
    def all_seeds(self) -> tuple[int, ...]:
        """The seeds."""
        return tuple(range(self.seeds))

    def changes(self) -> dict[str, Any]:
        """Fields of a run's config that are not the benchmark's own."""
        names = (
            "epochs",
            "image_size",
            "train_images",
            "test_images",
            "target_every",
            "precision",
            "shifted_validation",
        )
        given = {name: getattr(self, name) for name in names}
        return {name: value for name, value in given.items() if value is not None}

    def weights_of(self, network: str) -> Path | None:
        """The file of a network's weights, if it was given."""
        if self.weights is None:
            return None
        there = sorted(self.weights.iterdir()) if self.weights.is_dir() else [self.weights]
        endings = (".safetensors", ".pth")
        own = (p for p in there if p.name.startswith(network) and p.suffix in endings)
        return next(own, None)

    def to_mapping(self) -> dict[str, Any]:
        """Plain values, as in study.json."""
        return {name: value for name, value in plain(self).items() if name != "everything"}

    @property
    def hash(self) -> str:
        """A short name for the settings; where the data lies does not count."""
        counted = self.to_mapping()
        del counted["data_root"]
        for name in ADDED:
            if getattr(self, name) == getattr(type(self), name):
                del counted[name]
        return short_hash(counted)
