"""Engines that apply one draw of a random convolution block to a whole mini-batch.

``prepare`` turns the draw into an operator once; ``apply`` uses it for any number of images and
repetitions. All engines compute the same thing; they differ in speed and in where they run:

- ``"reference"``: the paper's formulas, written to be read; differentiable.
- ``"eager"``: stock PyTorch operators, on any device.
- ``"native"``: a fused kernel for float32 on the CPU, compiled when the package is installed.
- ``"auto"``: native where it can serve, eager elsewhere.
"""

from __future__ import annotations

from typing import Literal, Protocol, get_args

import torch
from torch import Tensor

from ..errors import ProRandConvError
from . import native
from .block import Block, Contrast, Repeats
from .eager import EagerOperator
from .native import NativeOperator
from .per_image import PerImageOperator
from .reference import ReferenceOperator

Engine = Literal["auto", "native", "eager", "reference"]
ENGINES: tuple[Engine, ...] = get_args(Engine)


class Operator(Protocol):
    """A prepared draw."""

    block: Block

    def apply(self, images: Tensor, contrast: Contrast, repeats: Repeats) -> Tensor:
        """Apply the block ``repeats`` times to images (N, C, H, W)."""
        ...


def engines() -> dict[str, str]:
    """Which engines can be used here, and if not, why.

    Example:
        >>> engines()["eager"]
        'available'
    """
    return {
        "native": native.UNAVAILABLE or f"available ({native.INSTRUCTION_SET})",
        "eager": "available",
        "reference": "available",
    }


def prepare(block: Block, engine: Engine = "auto") -> Operator:
    """Turn a draw into an operator of the engine asked for."""
    if engine not in ENGINES:
        raise ProRandConvError.about("engine", engine, f"one of {ENGINES}")
    if engine == "reference":
        return ReferenceOperator(block)
    if engine == "native" or (engine == "auto" and native.refuses(block.weight) is None):
        return NativeOperator(block)
    return PerImageOperator(block) if block.per_image else EagerOperator(block)


def apply(operator: Operator, images: Tensor, contrast: Contrast, repeats: Repeats) -> Tensor:
    """Apply a prepared draw ``repeats`` times to images (N, C, H, W) of the operator's size.

    With one draw per image, ``repeats`` is one number for each of them.
    """
    if repeats == 0 or images.numel() == 0:
        return images
    needs_gradient = torch.is_grad_enabled() and (
        images.requires_grad or operator.block.weight.requires_grad
    )
    if needs_gradient and not isinstance(operator, ReferenceOperator):
        operator = ReferenceOperator(operator.block)
    return operator.apply(images, contrast, repeats)
