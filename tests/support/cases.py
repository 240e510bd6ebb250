"""Random draws, on which every engine is held to the reference."""

import math

import hypothesis.strategies as st
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from prorandconv import Draw, Options
from prorandconv.fields import draw_field
from prorandconv.options import CONTRAST_PARTS, PADDINGS

SCALES = [0.0, 0.1, 0.4, 2.5, 50.0]
"""Deviations of offsets in pixels."""
BROKEN = [math.inf, -math.inf, math.nan, 1e9]


@st.composite
def cases(draw, dtype=torch.float64, axes=(2, 3), own=(False, True), fewest=0, most=6, largest=40):
    """Images, and a draw for them that no transform need make: of any offsets and parts."""
    dims, per_image = draw(st.sampled_from(axes)), draw(st.sampled_from(own))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32)))
    count, channels = draw(st.integers(fewest, most)), draw(st.integers(1, 4))
    sides = st.integers(1, largest if dims == 2 else 7)
    size = tuple(draw(sides) for _ in range(dims))
    kernel_size = draw(st.sampled_from([1, 3, 5] if dims == 2 and largest > 9 else [1, 3]))
    leading = (count,) if per_image else ()
    times = st.integers(0 if per_image else 1, 3)
    repeats = tuple(draw(times) for _ in range(count)) if per_image else draw(times)

    def normal(*shape, scale=1.0):
        return scale * torch.randn(*leading, *shape, generator=generator, dtype=dtype)

    taps, scale = kernel_size**dims, draw(st.sampled_from(SCALES))
    kind = draw(st.sampled_from(["none", "field", "rough", "broken"]))
    offsets = None
    if kind == "field" and math.prod(leading):
        sigma = torch.full(leading, scale, dtype=dtype)
        offsets = draw_field((*leading, dims * taps), size, 10.0, sigma, generator)
    elif kind != "none":
        offsets = normal(dims * taps, *size, scale=scale)
        if kind == "broken" and math.prod(offsets.shape):
            some = torch.rand(offsets.shape, generator=generator) < 0.02
            offsets[some] = draw(st.sampled_from(BROKEN))
    parts = draw(st.sets(st.sampled_from(CONTRAST_PARTS)))
    padding = draw(st.sampled_from(PADDINGS))
    images = torch.randn(count, channels, *size, generator=generator, dtype=dtype)
    weight = normal(channels, channels, *(kernel_size,) * dims)
    made = Draw(
        weight=weight / (taps * channels) ** 0.5,
        offsets=offsets,
        gamma=normal(channels),
        beta=normal(channels),
        repeats=repeats,
        size=size,
        options=Options(contrast=parts, padding=padding, eps=1e-3),
    )
    return images, made


class Largest(TorchDispatchMode):
    """Notes the most numbers that an operator has returned."""

    numbers = 0

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        result = operator(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.numbers = max(self.numbers, result.numel())
        return result
