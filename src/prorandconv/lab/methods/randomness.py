"""Other libraries' random numbers, decided by the generator of the run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


def numpy_generator(generator: torch.Generator) -> np.random.Generator:
    """A generator of numpy's, which has distributions that torch draws from its own only."""
    return np.random.default_rng(int(torch.randint(2**63 - 1, (), generator=generator)))


@contextmanager
def torch_seeded(generator: torch.Generator) -> Iterator[None]:
    """Seed torch's own generator meanwhile; it belongs to the network, and is put back."""
    with torch.random.fork_rng(devices=[]):
        seed = torch.randint(2**32, (), generator=generator)
        torch.default_generator.manual_seed(int(seed))
        yield
