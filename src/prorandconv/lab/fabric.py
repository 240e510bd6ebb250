"""Lightning Fabric, without the seconds that it takes to load what nothing here needs.

Fabric asks torchmetrics for its version, where that is installed, and so loads all of it, and with
it transformers. While Fabric is loaded, a stand-in has the answer.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType


@contextmanager
def _only_its_version(name: str) -> Iterator[None]:
    """Let imports find of a package that is not loaded yet its version, and nothing else."""
    stand_in = ModuleType(name)
    try:
        stand_in.__dict__["__version__"] = version(name)
    except PackageNotFoundError:
        yield
        return
    if name in sys.modules:
        yield
        return
    sys.modules[name] = stand_in
    try:
        yield
    finally:
        del sys.modules[name]


with _only_its_version("torchmetrics"):
    from lightning_fabric import Fabric as Fabric
    from lightning_fabric.plugins.environments.lightning import (
        LightningEnvironment as LightningEnvironment,
    )
    from lightning_fabric.strategies.ddp import DDPStrategy as DDPStrategy
