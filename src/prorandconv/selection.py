"""Which images of a mini-batch the network learns from (the paper's supplementary Section 3)."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor

from . import checks
from .errors import ProRandConvError
from .transforms import Sampler

Strategy = Literal["original", "augmented", "either", "uniform", "both"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)


def select(
    x0: Tensor,
    xL: Tensor,
    strategy: Strategy | float = "both",
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """Choose among original and augmented images.

    | strategy | images to learn from |
    | --- | --- |
    | ``"original"`` | X_0: the originals only |
    | ``"augmented"`` | X_L: the augmented only |
    | ``"either"`` | X_0 or X_L: the whole batch of one kind, by even chance |
    | a number r in [0, 1] | P_r(X_0, X_L): a share r of originals, the others augmented |
    | ``"uniform"`` | P_r with r ~ U(0, 1) in each call |
    | ``"both"`` | X_0 and X_L: all of both, 2N images (the paper's default) |

    Args:
        x0: original images ``(N, ...)``.
        xL: their augmented versions, of the same shape.
        strategy: a name or number from the table.
        generator: source of randomness; torch's global CPU generator by default.

    Returns:
        The images, and for each its index into the labels.

    Example:
        >>> x0, y = torch.zeros(4, 3, 8, 8), torch.arange(4)
        >>> images, index = select(x0, x0 + 1, "both")
        >>> images.shape, y[index]
        (torch.Size([8, 3, 8, 8]), tensor([0, 1, 2, 3, 0, 1, 2, 3]))
    """
    strategy = check_strategy(strategy)
    if x0.shape != xL.shape:
        raise ProRandConvError.about(
            "xL", tuple(xL.shape), f"x0's shape {tuple(x0.shape)}: its images, augmented"
        )
    index = torch.arange(len(x0), device=x0.device)
    if strategy == "both":
        return torch.cat((x0, xL)), index.repeat(2)
    sampler = Sampler(None, generator)
    share = {"original": 1.0, "augmented": 0.0}.get(str(strategy), strategy)
    if share == "either":
        share = float(sampler.uniform(0, 1) < 0.5)
    elif share == "uniform":
        share = float(sampler.uniform(0, 1))
    original = sampler.subset(len(x0), float(share)).to(x0.device)
    return xL.index_copy(0, original, x0[original]), index


def check_strategy(strategy: Strategy | float) -> Strategy | float:
    """One of the strategies, or a share of originals."""
    strategy = checks.to_python(strategy)
    is_share = isinstance(strategy, int | float) and not isinstance(strategy, bool)
    if (is_share and not 0 <= strategy <= 1) or (not is_share and strategy not in STRATEGIES):  # type: ignore[operator]
        raise ProRandConvError.about(
            "strategy", strategy, f"one of {STRATEGIES}, or a share of originals from 0 to 1"
        )
    return strategy
