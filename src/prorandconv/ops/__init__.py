"""Engines that apply one draw of a random convolution block to a whole mini-batch.

All engines compute the same thing; they differ in speed and in where they run:

- ``"reference"``: the paper's formulas, written to be read; differentiable.
- ``"eager"``: stock PyTorch operators, on any device.
- ``"native"``: a fused kernel for float32 on the CPU, compiled when the package is installed.
- ``"triton"``: kernels for float32 on CUDA; never run on hardware yet, so only if asked for.
- ``"auto"``: native where it can serve, eager elsewhere.

Volumes are for the reference and the eager engine only.
Where gradients are wanted the reference engine computes, whichever was asked for.
"""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor

from .. import checks
from ..errors import ProRandConvError
from . import bands, eager, native, per_image, reference, triton_engine, volumes
from .block import Block, Contrast, Repeats, differentiable

Engine = Literal["auto", "native", "triton", "eager", "reference"]
ENGINES: tuple[Engine, ...] = get_args(Engine)


def engines() -> dict[str, str]:
    """Which engines can be used here, and if not, why.

    Example:
        >>> engines()["eager"]
        'available'
    """
    return {
        "native": native.UNAVAILABLE or f"available ({native.INSTRUCTION_SET})",
        "triton": f"{unavailable('triton') or 'available'}; {triton_engine.CHECKED}",
        "eager": "available",
        "reference": "available",
    }


def unavailable(engine: Engine) -> str | None:
    """Why an engine cannot be used here, or None if it can."""
    if engine == "triton":
        return triton_engine.unavailable()
    return native.UNAVAILABLE if engine == "native" else None


def apply(
    images: Tensor, block: Block, contrast: Contrast, repeats: Repeats, engine: Engine = "auto"
) -> Tensor:
    """Apply a block ``repeats`` times to images (N, C, H, W) or volumes of its size.

    With one draw per image, ``repeats`` is one number for each of them.
    """
    serves = serving(images, block, contrast, engine)
    if repeats == 0:
        return images
    if serves == "native":
        return native.apply(images, block, contrast, repeats)
    if serves == "triton":
        return triton_engine.apply(images, block, contrast, repeats)
    if serves == "reference":
        return reference.apply(images, block, contrast, repeats)
    if block.dims == 3:
        return volumes.apply(images, block, contrast, repeats)
    if block.per_image:
        return per_image.apply(images, block, contrast, repeats)
    if len(images) <= bands.FEW_IMAGES:
        return bands.apply(images, block, contrast, repeats)
    return eager.apply(images, block, contrast, repeats)


def serving(images: Tensor, block: Block, contrast: Contrast, engine: Engine = "auto") -> Engine:
    """Which engine computes if this one is asked for."""
    checks.one_of("engine", engine, ENGINES)
    selective = {"auto": native, "native": native, "triton": triton_engine}.get(engine)
    refusal = None if selective is None else selective.refuses(images, block)
    if engine != "auto" and refusal is not None:
        raise ProRandConvError.about("engine", engine, refusal)
    tensors = (images, block.weight, block.given, contrast.gamma, contrast.beta)
    if torch.is_grad_enabled() and any(differentiable(t) for t in tensors):
        return "reference"
    if engine == "auto":
        return "native" if refusal is None else "eager"
    return engine
