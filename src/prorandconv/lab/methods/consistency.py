"""How far predictions for views of the same images are apart."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def divergence(predictions: tuple[Tensor, ...]) -> Tensor:
    """Mean over views and images (or pixels) of KL(p_j || p̄), p̄ being the views' average."""
    logs = torch.stack([F.log_softmax(view.float(), dim=1) for view in predictions])
    average = logs.exp().mean(0).clamp_min(1e-7).log()
    return (logs.exp() * (logs - average)).sum(2).mean()
