"""Losses that several methods share."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def entropy(logits: Tensor) -> Tensor:
    """Entropy of each image's prediction: logits ``(N, K)`` to ``(N,)``."""
    logs = logits.log_softmax(1)
    return -(logs.exp() * logs).sum(1)


def similarities(views: Tensor, temperature: float) -> Tensor:
    """Cosines of all pairs of embeddings over the temperature, ``(VN, VN)``.

    A point with itself has -inf.

    Args:
        views: embeddings of V views of N images, ``(V, N, D)``; they are normalised here.
        temperature: τ.
    """
    # A small temperature needs full precision, whatever the network computes in.
    with torch.autocast(views.device.type, enabled=False):
        exact = torch.promote_types(views.dtype, torch.float32)
        points = F.normalize(views.to(exact).flatten(0, 1), dim=1)
        scores = points @ points.T / temperature
    own = torch.eye(len(points), dtype=torch.bool, device=points.device)
    return scores.masked_fill(own, -torch.inf)


def supervised_contrast(views: Tensor, labels: Tensor | None, temperature: float) -> Tensor:
    """Mean over anchors of -log softmax of their positives (Khosla et al., 2020, Eq. 2).

    An anchor without positives counts 0.

    Args:
        views: embeddings of V views of N images, ``(V, N, D)``; they are normalised here.
        labels: positives are the images of the same class, ``(N,)``; None: the other views of the
            same image (SimCLR).
        temperature: τ.
    """
    scores = similarities(views, temperature)
    if labels is None:
        labels = torch.arange(views.shape[1], device=views.device)
    every = labels.repeat(len(views))
    positive = (every[:, None] == every) & scores.isfinite()
    shares = scores.log_softmax(1).masked_fill(~positive, 0)
    return -(shares.sum(1) / positive.sum(1).clamp_min(1)).mean()
