"""EFDMix (Zhang et al., CVPR 2022): MixStyle with whole distributions in place of two moments."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .contract import Style
from .mixstyle import MixStyle


@dataclass(frozen=True)
class EFDMix(MixStyle):
    """After some layers, sorted features are mixed with those of other images.

    As in the paper (Eq. 8) only the image's own values in the difference are without gradient;
    those of the other image have one. The authors' code draws by Python's generator.
    """

    @property
    def style(self) -> Style:
        """Its label."""
        return Style("EFDMix")

    def blend(self, x: Tensor, share: Tensor, order: Tensor) -> Tensor:
        """See :func:`matched_style`."""
        return matched_style(x, share, order)


def matched_style(x: Tensor, share: Tensor, order: Tensor) -> Tensor:
    """Move each value towards another image's value of the same rank in its channel.

    Args:
        x: features ``(N, C, H, W)``.
        share: of the own value, ``(N,)``.
        order: for each image, the other one, ``(N,)``.
    """
    values = x.flatten(2)
    ranks = values.argsort(2).argsort(2)
    others = values.sort(2).values[order].gather(2, ranks)
    moved = values + (1 - share.view(-1, 1, 1)).to(x.dtype) * (others - values.detach())
    return torch.reshape(moved, x.shape)
