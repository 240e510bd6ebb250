"""Engines that apply one draw of a random convolution block to a whole mini-batch.

All engines compute the same thing; they differ in speed and in where they run:

- ``"reference"``: the paper's formulas, written to be read; differentiable.
- ``"eager"``: stock PyTorch operators, on any device.
- ``"native"``: a fused kernel for float32 on the CPU, compiled when the package is installed.
- ``"triton"``: kernels for float32 on CUDA; never run on hardware yet, so only if asked for.
- ``"auto"``: native where it supports a draw, eager elsewhere.

Each is a module with three functions: ``apply(images, draw)``, ``unsupported_reason(images, draw)``
and ``status()``, which begins with "available" where it can be used at all. Images are
``(N, C, H, W)`` or volumes, and the draw has their device and dtype.
Where gradients are wanted the reference engine computes, whichever was asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import torch
from torch import Tensor
from torch.autograd import forward_ad

from ..errors import ProRandConvError
from . import eager, native, reference, triton_engine

if TYPE_CHECKING:
    from ..draw import Draw

Engine = Literal["auto", "native", "triton", "eager", "reference"]
ENGINES: tuple[Engine, ...] = get_args(Engine)
MODULES: dict[str, Any] = {
    "native": native,
    "triton": triton_engine,
    "eager": eager,
    "reference": reference,
}


def engines() -> dict[str, str]:
    """Which engines can be used here, and if not, why.

    Example:
        >>> engines()["eager"]
        'available'
    """
    return {name: module.status() for name, module in MODULES.items()}


def apply(images: Tensor, draw: Draw, engine: Engine = "auto") -> Tensor:
    """Repeat a draw's block on images ``(N, C, H, W)``, or volumes, as often as it says."""
    result: Tensor = MODULES[select_engine(images, draw, engine)].apply(images, draw)
    return result


def select_engine(images: Tensor, draw: Draw, engine: Engine = "auto") -> str:
    """Name of the engine that computes if this one is asked for."""
    if engine not in ENGINES:
        raise ProRandConvError.about("engine", engine, f"one of {ENGINES}")
    wanted = "native" if engine == "auto" else engine
    reason = MODULES[wanted].unsupported_reason(images, draw)
    if reason is not None and engine != "auto":
        raise ProRandConvError.about("engine", engine, f"'eager' or 'auto': {reason}")
    if torch.is_grad_enabled() and _wants_gradient(images, draw):
        return "reference"
    return wanted if reason is None else "eager"


def _wants_gradient(images: Tensor, draw: Draw) -> bool:
    """Whether a derivative is wanted, by backward or forward differentiation."""
    for part in (images, draw.weight, draw.offsets, draw.gamma, draw.beta):
        tensor = getattr(part, "coefficients", part)
        if isinstance(tensor, Tensor) and (
            tensor.requires_grad or forward_ad.unpack_dual(tensor).tangent is not None  # type: ignore[no-untyped-call]
        ):
            return True
    return False
