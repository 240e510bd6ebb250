"""Lightning: a callback that augments the batches of training, for any ``LightningModule``."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

from ..selection import Strategy
from ..transforms import DrawTransform, ProRandConv
from .batches import BatchAugmentation
from .extras import requires_extra

with requires_extra("lightning"):
    # Both names of the library are in use, and a Trainer takes callbacks of its own one only.
    if "lightning" not in sys.modules and (
        "pytorch_lightning" in sys.modules or find_spec("lightning") is None
    ):
        from pytorch_lightning import Callback
    else:
        from lightning.pytorch import Callback


class AugmentTraining(Callback):  # type: ignore[misc]
    """Augments what ``training_step`` gets, on its device, and nothing else.

    Batches of validation, sanity checks, tests and predictions stay as they are. Where
    ``pytorch_lightning`` is imported first, this is a callback for its ``Trainer``.

    Args:
        augment: the augmentation, :class:`ProRandConv` by default.
        strategy: which images the network learns from, as in :func:`select`.
        images: where the images are: a position in tuples and lists, a key in dictionaries. All
            that has a batch dimension is indexed alike.

    Example:
        >>> import lightning, prorandconv
        >>> augment = prorandconv.ProRandConv(max_repeats=5)
        >>> trainer = lightning.Trainer(
        ...     callbacks=[AugmentTraining(augment, "both")], accelerator="cpu", logger=False
        ... )
    """

    def __init__(
        self,
        augment: DrawTransform | None = None,
        strategy: Strategy | float = "both",
        images: int | str = 0,
    ) -> None:
        super().__init__()
        augment = ProRandConv() if augment is None else augment
        self._augmented = BatchAugmentation(augment, strategy, images)

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Put the augmentation before the training step, which only training calls."""
        plain = trainer.strategy.training_step

        def training_step(batch: Any, *rest: Any, **named: Any) -> Any:
            return plain(self._augmented(batch), *rest, **named)

        trainer.strategy.training_step = training_step

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Leave the trainer as it was."""
        vars(trainer.strategy).pop("training_step", None)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Leave the trainer as it was."""
        self.on_train_end(trainer, pl_module)
