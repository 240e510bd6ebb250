"""ERM: the paper's baseline."""

from __future__ import annotations

from dataclasses import dataclass

from .contract import Method


@dataclass(frozen=True)
class ERM(Method):
    """Empirical risk minimisation (Eq. 1): cross-entropy of the images as they are."""
