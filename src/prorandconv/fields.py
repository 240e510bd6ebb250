"""Gaussian random fields: the smooth noise from which deformable offsets are made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .caching import cached, readable, without_autocast
from .errors import ProRandConvError
from .options import Size

TRUNCATION_ALPHA = 6.0
"""From this exponent on, fields are made of the few modes that carry power."""
TRUNCATED_VARIANCE = 1e-6
"""Largest share of the variance that such fields may leave out."""
_MOST_CYCLES = {2: 1024, 3: 256}
"""Frequencies that are looked at to find these modes, by axes; power beyond them is no matter."""


@dataclass(frozen=True, eq=False, repr=False)
class Field:
    """Random fields ``(..., n, H, W)`` in pixels, kept as the coefficients of a Fourier basis.

    Along each axis the basis is 1, sqrt(2) cos and sqrt(2) sin of 1, 2, ... cycles over the longest
    side: a picture that is not square has the upper left part of a field on the enclosing square.
    Fields of volumes, ``(..., n, D, H, W)``, are parts of a cube.
    """

    coefficients: Tensor
    """of the products of R and R' basis functions, ``(..., n, R, R')``; ``(..., n, R, R', R'')`` in
    volumes"""
    size: Size
    """height H and width W in pixels, of volumes after the depth D"""
    known_bound: float | None = None
    """what :meth:`bound` was before the field went to a device where reading it would wait"""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the dense fields."""
        return (*self.coefficients.shape[: -len(self.size)], *self.size)

    @property
    def dtype(self) -> torch.dtype:
        """Precision of the coefficients and the dense fields."""
        return self.coefficients.dtype

    @property
    def device(self) -> torch.device:
        """Where the coefficients are."""
        return self.coefficients.device

    def basis(self, dtype: torch.dtype) -> tuple[Tensor, ...]:
        """Values of the basis functions along each axis, ``(H, R)`` and ``(W, R')``."""
        counts = self.coefficients.shape[-len(self.size) :]
        return fourier_basis(self.size, tuple(counts), dtype, self.device)

    def dense(self) -> Tensor:
        """The fields as a tensor of :attr:`shape`."""
        return self.rows(*(slice(None),) * (len(self.size) - 1))

    def rows(self, *rows: slice) -> Tensor:
        """Some rows of all fields, of volumes some planes and rows, without making the others."""
        # A GPU may multiply float32 matrices with ten bits only; MPS has no double precision.
        exact = self.dtype if self.device.type in ("cpu", "mps") else torch.float64
        *others, last = self.basis(exact)
        some = [axis[part] for axis, part in zip(others, rows, strict=True)]
        with without_autocast(self.device):
            return _product(self.coefficients.to(exact), (*some, last)).to(self.dtype)

    def bound(self) -> float | None:
        """An upper bound of the fields' magnitude in pixels, close and cheap; None if unknown.

        Along the longest axis it is the sum over frequencies of their amplitudes, along the others
        it is exact: on a short part of a square, modes nearly cancel each other.
        """
        if self.known_bound is not None or not readable(self.coefficients):
            return self.known_bound
        longest, dims = self.size.index(max(self.size)), len(self.size)
        factors = list(self.basis(self.dtype))
        factors[longest] = torch.eye(factors[longest].shape[1]).to(self.coefficients)
        largest = 0.0
        with without_autocast(self.device):
            for field in self.coefficients.detach().flatten(0, -dims - 1):
                modes = _product(field, factors).movedim(longest, -1)
                pairs = torch.nn.functional.pad(modes[..., 1:], (0, 1 - modes.shape[-1] % 2))
                pairs = pairs.reshape(*pairs.shape[:-1], -1, 2)
                amplitude = pairs.norm(dim=-1).sum(-1) * math.sqrt(2)
                largest = max(largest, float((modes[..., 0].abs() + amplitude).max()))
        return largest * (1 + 1e-4)  # room for rounding

    def __getitem__(self, index: int | slice | Tensor | None) -> Field:
        """The fields of one or some of several draws; of a single draw, some of its fields."""
        return replace(self, coefficients=self.coefficients[index])

    def to(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> Field:
        """The same fields on another device, or by coefficients of another precision."""
        device = self.device if device is None else torch.device(device)
        # A copy to the host that does not block could be read before it is complete.
        moved = self.coefficients.to(device, dtype, non_blocking=self.device.type == "cpu")
        if moved is self.coefficients:
            return self
        return Field(moved, self.size, None if device.type == "cpu" else self.bound())

    def clone(self) -> Field:
        """A copy that shares nothing with this field."""
        return replace(self, coefficients=self.coefficients.clone())

    def __repr__(self) -> str:
        modes = " × ".join(map(str, self.coefficients.shape[-len(self.size) :]))
        return f"Field({self.dtype} of shape {self.shape} on {self.device}, {modes} modes)"

    def repeated(self, times: int) -> Field:
        """All fields of each draw several times, one after the other."""
        copies = [1] * self.coefficients.dim()
        copies[-len(self.size) - 1] = times
        return replace(self, coefficients=self.coefficients.repeat(copies))

    def resized(self, size: Size) -> Field:
        """The same basis over images of another size, as large beside the longer side as before."""
        side = max(size)
        first: tuple[Any, ...] = (..., *(slice(side),) * len(size))
        return Field(self.coefficients[first] * (side / max(self.size)), size)


def gaussian_random_field(
    count: int,
    size: Size,
    alpha: float = 10.0,
    *,
    generator: torch.Generator | None = None,
    device: torch.device | str | None = None,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Draw ``count`` independent Gaussian random fields.

    Each field is real and has a power spectrum proportional to ``|k| ** -alpha``, where ``k`` is
    the spatial frequency in cycles per pixel. Where height and width differ, it is cut out of a
    field on the enclosing square, so that it is as smooth along one side as along the other; fields
    of a volume are cut out of the enclosing cube. Last, it is shifted and scaled to zero mean and
    unit (biased) standard deviation over its own pixels.
    From alpha = 6 on, high frequencies that together hold less than a millionth of the square's
    variance are left out. A field of a single pixel has nothing to vary and is zero.

    Args:
        count: how many fields.
        size: height and width in pixels, or depth, height and width in voxels.
        alpha: exponent of the power spectrum; 0 is white noise, 10 the paper's smooth offsets.
        generator: source of randomness; torch's global CPU generator by default.
        device: where the fields end up. The random numbers are drawn on the generator's device
            (the CPU by default), so the same seed gives the same fields everywhere.
        dtype: ``torch.float32`` or ``torch.float64``.

    Returns:
        Tensor of shape ``(count, *size)``.

    Example:
        >>> field = gaussian_random_field(2, (32, 48), generator=torch.Generator().manual_seed(0))
        >>> field.shape, field.mean().abs().item() < 1e-6
        (torch.Size([2, 32, 48]), True)
    """
    if count < 0:
        raise ProRandConvError.about("count", count, "a number of fields >= 0")
    if len(size) not in (2, 3) or min(size) < 1:
        raise ProRandConvError.about("size", size, "([depth,] height, width), each >= 1")
    if not (math.isfinite(alpha) and alpha >= 0):
        raise ProRandConvError.about("alpha", alpha, "a finite exponent >= 0, e.g. 10.0")
    if dtype not in (torch.float32, torch.float64):
        raise ProRandConvError.about("dtype", dtype, "torch.float32 or torch.float64")
    drawn_on = generator.device if generator is not None else torch.device("cpu")
    unit = torch.ones((), dtype=dtype, device=drawn_on)
    field = draw_field((count,), tuple(size), alpha, unit, generator).dense()
    return field.to(device) if device is not None else field


def draw_field(
    shape: tuple[int, ...],
    size: Size,
    alpha: float,
    sigma: Tensor,
    generator: torch.Generator | None = None,
) -> Field:
    """Draw fields ``(*shape, *size)``, on sigma's device and in its dtype.

    ``sigma`` is the fields' standard deviation in pixels: one number for each along the leading
    dimensions of ``shape``, the last of which counts fields that share it.
    """
    amplitude, _ = _amplitudes(max(size), len(size), float(alpha), sigma.dtype, sigma.device)
    shape = (*shape, *amplitude.shape)
    noise = torch.randn(shape, generator=generator, dtype=sigma.dtype, device=sigma.device)
    return field_of(noise, size, alpha, sigma)


def field_of(noise: Tensor, size: Size, alpha: float, sigma: Tensor) -> Field:
    """Fields of normal numbers ``(..., n, R, R')``, as :func:`draw_field` makes them.

    Numbers of modes that carry no power are not used.
    """
    dims = len(size)
    amplitude, scale = _amplitudes(max(size), dims, float(alpha), sigma.dtype, sigma.device)
    modes: tuple[Any, ...] = (..., *map(slice, amplitude.shape))
    coefficients = noise[modes] * amplitude
    # In an orthonormal basis, a norm of 1 is a deviation of 1 on the square.
    norm = torch.linalg.vector_norm(coefficients, dim=tuple(range(-dims, 0)), keepdim=True)
    norm.clamp_min_(torch.finfo(norm.dtype).tiny)
    each: tuple[Any, ...] = (..., *(None,) * (dims + 1))
    coefficients.div_(norm).mul_(sigma[each])
    if scale.numel():
        coefficients.mul_(scale)
    field = Field(coefficients, size)
    return field if len(set(size)) == 1 else _standardised(field, sigma[each])


def _standardised(field: Field, sigma: Tensor) -> Field:
    """Fields with zero mean and deviation sigma (..., 1, 1, 1) on their part of a square.

    The basis is not orthogonal there: means and products of its functions tell mean and deviation.
    """
    dims = len(field.size)
    exact, basis = field.coefficients.double(), field.basis(torch.float64)
    with without_autocast(field.device):
        constant: tuple[Any, ...] = (..., *(slice(1),) * dims)
        exact[constant].sub_(_product(exact, [axis.mean(0, keepdim=True) for axis in basis]))
        grams = [axis.t() @ axis / len(axis) for axis in basis]
        variance = (_product(exact, grams) * exact).sum(tuple(range(-dims, 0)), keepdim=True)
    tiny = torch.finfo(field.dtype).tiny
    deviation = variance.clamp_min_(0).sqrt_().clamp_min_(tiny)
    exact.div_(deviation).mul_(sigma)
    return replace(field, coefficients=exact.to(field.dtype))


@cached(maxsize=16)
def fourier_basis(
    size: Size, counts: tuple[int, ...], dtype: torch.dtype, device: torch.device
) -> tuple[Tensor, ...]:
    """The first functions 1, sqrt(2) cos, sqrt(2) sin, ... over the pixels of each axis.

    One tensor (length, count) an axis; a period is the longest side.
    """
    side, axes = max(size), []
    for length, count in zip(size, counts, strict=True):
        pixel = torch.arange(length, dtype=torch.float64, device="cpu")[:, None]
        mode = torch.arange(count, device="cpu")
        phase = 2 * math.pi * pixel * _cycles(mode) / side
        axis = torch.where(mode % 2 == 1, phase.cos(), phase.sin()) * math.sqrt(2)
        axis[:, :1] = 1
        axes.append(axis.to(device, dtype))
    return tuple(axes)


@cached(maxsize=16)
def _amplitudes(
    side: int, dims: int, alpha: float, dtype: torch.dtype, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Amplitudes (R, R) of modes on a square in an orthonormal basis; (R, R, R) on a cube.

    With them, what turns coefficients of that basis into those of :func:`fourier_basis`: the last
    cosine of an even side has a mean square of 2 instead of 1; empty where it is not among them.
    """
    count = _mode_count(side, dims, alpha)
    mode = torch.arange(count, device="cpu")
    frequency = _cycles(mode).double() / side
    distance = reduce(lambda total, axis: torch.hypot(total[..., None], axis), [frequency] * dims)
    constant = (0,) * dims
    distance[constant] = math.inf
    power = (distance / distance.min()) ** -alpha
    power[constant] = 0
    scale = torch.empty(0, dtype=torch.float64, device="cpu")
    if count == side and side % 2 == 0:
        one = torch.where(2 * _cycles(mode) == side, 0.5, 1.0).double().sqrt()
        scale = reduce(lambda product, axis: product[..., None] * axis, [one] * dims)
    return power.sqrt().to(device, dtype), scale.to(device, dtype)


def _mode_count(side: int, dims: int, alpha: float) -> int:
    """How many modes along each side leave out no more than ``TRUNCATED_VARIANCE``.

    Computed without tensors, which have no values under a fake mode.
    """
    if alpha < TRUNCATION_ALPHA:
        return side
    # Each frequency has two modes, but for zero and the last one of an even side.
    cycles = np.arange(min(side // 2, _MOST_CYCLES[dims]) + 1)
    modes = np.where((cycles == 0) | (2 * cycles == side), 1, 2)

    def cumulative_power(highest: int) -> float:
        """Power of all frequencies below one, a plane of them at a time: a cube takes memory."""
        plane, many = cycles[:highest].astype(float), modes[:highest]
        squares = reduce(np.add.outer, [plane**2] * (dims - 1))
        multiplicity = reduce(np.multiply.outer, [many] * (dims - 1))
        total = 0.0
        for frequency, times in zip(plane, many, strict=True):
            lengths = squares + frequency**2
            if frequency == 0:
                lengths.flat[0] = np.inf  # the constant has no power
            total += times * (multiplicity * lengths ** (-alpha / 2)).sum()
        return total

    total = cumulative_power(len(cycles))
    for count in range(1, side, 2):
        if total - cumulative_power((count + 1) // 2) <= TRUNCATED_VARIANCE * total:
            return count
    return side


def _cycles(mode: Tensor) -> Tensor:
    """Cycles of each basis function over the longest side."""
    return torch.div(mode + 1, 2, rounding_mode="floor")


def _product(coefficients: Tensor, factors: Sequence[Tensor]) -> Tensor:
    """Coefficients (..., R, R') times matrices (m, R) and (m', R'): (..., m, m')."""
    leading, (*others, last) = coefficients.shape[: -len(factors)], factors
    count = before = math.prod(leading)
    product = coefficients
    for axis, factor in enumerate(others, start=1 - len(factors)):
        rest = math.prod(coefficients.shape[axis:])
        product = product.reshape(before, factor.shape[1], rest)
        product = torch.bmm(factor.expand(before, -1, -1), product)
        before *= len(factor)
    rows = product.reshape(count, before // max(count, 1), last.shape[1])
    product = torch.bmm(rows, last.t().expand(count, -1, -1))
    return product.view(*leading, *map(len, factors))
