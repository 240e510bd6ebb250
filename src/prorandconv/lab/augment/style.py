"""A picture under a draw that was stored, so that the stored draw makes the same picture again."""

from __future__ import annotations

import hashlib

import torch
from torch import Tensor

from ... import Draw, ProRandConv, functional


def generator_for(seed: int, name: str, copy: int) -> torch.Generator:
    """The source of one draw, whatever other pictures there are, and whoever makes them."""
    text = f"{seed}\n{copy}\n{name}".encode("utf-8", "surrogateescape")
    digest = hashlib.sha256(text).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "big") >> 1)


def draw(pixels: Tensor, augment: ProRandConv, generator: torch.Generator) -> Draw:
    """A draw for pixels uint8 ``(C, H, W)``, rounded as its file is."""
    params = augment.draw(_normalised(pixels), generator)
    return Draw.from_json(params.to_json())


def apply(pixels: Tensor, params: Draw) -> Tensor:
    """Pixels uint8 ``(C, H, W)`` under a draw."""
    styled = functional.apply(_normalised(pixels), params)
    return styled.add(1).mul(127.5).round().clamp(0, 255).byte()


def _normalised(pixels: Tensor) -> Tensor:
    return pixels / 127.5 - 1
