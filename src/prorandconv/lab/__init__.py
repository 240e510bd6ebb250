"""Data, training, studies and reports around the augmentation; its doors for Python."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .run.config import Execution, RunConfig
    from .run.trained import load_trained
    from .run.training import train
else:
    from ..lazy import on_first_use

    __getattr__, __dir__ = on_first_use(
        __name__,
        {
            "Execution": "run.config",
            "RunConfig": "run.config",
            "load_trained": "run.trained",
            "train": "run.training",
        },
    )

__all__ = ["Execution", "RunConfig", "load_trained", "train"]
