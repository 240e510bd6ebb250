"""Random fields, kept as the numbers they are made of, and how they are made of them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, TypeVar

import torch
from torch import Tensor

from .ops.formulas import axes, over_images, position_dtype
from .options import Size
from .spectrum import mode_amplitudes, wave_basis, waves

Self = TypeVar("Self", bound="Fields")


@dataclass(frozen=True, eq=False)
class Fields:
    """Random fields ``(..., n, H, W)``, kept as what they are made of until they are needed.

    In volumes there is a depth before H, here and in what follows.

    In a draw this stands for the tensor of them: it has a shape and a device, can be moved and
    indexed.
    """

    coefficients: Tensor
    """the random numbers that they are made of, ``(..., n, ...)``"""
    size: Size
    """height H and width W in pixels"""
    sigma: Tensor | None
    """standard deviation ``(...)`` that they are scaled to; None leaves them as they are"""

    @abstractmethod
    def _unscaled(self) -> Tensor:
        """All fields in one row, (count, H, W)."""

    @property
    @abstractmethod
    def _leading(self) -> tuple[int, ...]:
        """The dimensions before height and width."""

    @property
    def dims(self) -> int:
        """How many axes a field has."""
        return len(self.size)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the tensor."""
        return (*self._leading, *self.size)

    @property
    def dtype(self) -> torch.dtype:
        """Precision of the tensor."""
        return self.coefficients.dtype

    @property
    def device(self) -> torch.device:
        """Where the tensor is, or will be made."""
        kept, _ = self._kept
        return self.coefficients.device if kept is None else kept.device

    @property
    def edited(self) -> bool:
        """Whether the tensor was changed in place, so that it is no longer what was drawn."""
        kept, version = self._kept
        if kept is None or torch.compiler.is_compiling():
            return False
        return version_of(kept) != version

    @property
    def tracked(self) -> bool:
        """Whether someone wants derivatives with respect to the tensor."""
        kept, _ = self._kept
        return kept is not None and kept.requires_grad

    def made_the(self, tensor: object) -> bool:
        """Whether this is the tensor, and nothing was changed in it."""
        kept, _ = self._kept
        return kept is not None and kept is tensor and not self.edited

    def made(self) -> Tensor:
        """The tensor: made by the first call, and the same one in every later call."""
        kept, _ = self._kept
        if kept is not None:
            return kept
        # What is kept must serve autograd too, which refuses tensors made in inference mode.
        if not torch.compiler.is_compiling() and torch.is_inference_mode_enabled():
            with torch.inference_mode(False):
                return self.made()
        whole, index = getattr(self, "_part_of", (None, None))
        if whole is not None and not whole.edited:
            fields: Tensor = whole.made()[index]
        else:
            fields = self._unscaled()
            if self.sigma is not None:
                fields = self._scaled(fields, self.sigma)
            if fields.dim() < len(self.shape):
                fields = fields.view(self.shape)
        if not torch.compiler.is_compiling():
            self._keep(fields)
        return fields

    def __getitem__(self: Self, index: int | slice | Tensor | None) -> Self:
        """The fields of one or some of several draws, with the bits that they have among all.

        Of a single draw without ``sigma``, some of its fields.
        """
        sigma = None if self.sigma is None else self.sigma[index]
        some = replace(self, coefficients=self.coefficients[index], sigma=sigma)
        kept, _ = self._kept
        if kept is None:
            object.__setattr__(some, "_part_of", (self, index))
        else:
            some._keep(kept[index])
        return some

    def repeated(self: Self, times: int) -> Self:
        """All fields of a draw several times, one after the other."""
        axis = len(self._leading) - 1
        copies = (1,) * axis + (times,) + (1,) * (self.coefficients.dim() - axis - 1)
        return replace(self, coefficients=self.coefficients.repeat(copies))

    @abstractmethod
    def to(self: Self, device: torch.device, *, non_blocking: bool = False) -> Self:
        """The same fields on another device."""

    def _scaled(self, fields: Tensor, sigma: Tensor) -> Tensor:
        if self._cut:
            fields = fields - fields.mean(axes(self.dims), keepdim=True)
            fields = unit_norm(fields, self.dims).mul_(math.sqrt(math.prod(self.size)))
        if sigma.dim():  # one for each draw, whose fields follow each other
            sigma = sigma.repeat_interleave(self._leading[-1]).view(-1, *(1,) * self.dims)
        return fields.mul_(sigma)

    @property
    def _cut(self) -> bool:
        """Whether they are cut out of a square or cube, on which they are centred and scaled."""
        return len(set(self.size)) > 1

    @property
    def _kept(self) -> tuple[Tensor | None, int]:
        """The tensor, if it is made, and its version then."""
        return getattr(self, "_tensor", (None, 0))

    def _keep(self, fields: Tensor) -> None:
        object.__setattr__(self, "_tensor", (fields, version_of(fields)))

    def __getstate__(self) -> dict[str, Any]:
        state = dict(vars(self))
        kept, _ = state.pop("_tensor", (None, 0))
        state.pop("_part_of", None)
        # Versions start anew in a copy. What was not changed is made again; of what was changed,
        # no version is the drawn one.
        return state | {"_tensor": (kept, -1)} if self.edited else state


class Waves(Fields):
    """Fields as sums of the few waves that carry power.

    ``coefficients`` are ``(..., n, R, R')``, for the products of R waves along a column and R'
    along a row of the enclosing square. With ``sigma`` they have norm 1 and belong to orthonormal
    waves: then the deviation on the square is 1 too. Without, they are in pixels and belong to the
    waves 1, sqrt(2) cos and sqrt(2) sin.
    """

    @property
    def _leading(self) -> tuple[int, ...]:
        return tuple(self.coefficients.shape[: -self.dims])

    def _unscaled(self) -> Tensor:
        coefficients = self.coefficients.to(_product_dtype(self.coefficients))
        *others, last = self._waves(coefficients)
        counts = coefficients.shape[-self.dims :]
        fields = torch.mm(coefficients.reshape(-1, counts[-1]), last)
        for axis in range(self.dims - 2, -1, -1):
            before = math.prod(self._leading) * math.prod(counts[:axis])
            fields = fields.view(before, counts[axis], math.prod(self.size[axis + 1 :]))
            fields = torch.bmm(others[axis].expand(before, -1, -1), fields)
        return fields.view(math.prod(self._leading), *self.size).to(self.dtype)

    def _waves(self, coefficients: Tensor) -> tuple[Tensor, ...]:
        """The waves along each axis that coefficients belong to; see :func:`spectrum.waves`."""
        counts, orthonormal = tuple(coefficients.shape[-self.dims :]), self.sigma is not None
        return waves(self.size, counts, orthonormal, coefficients.dtype, coefficients.device)

    def to(self, device: torch.device, *, non_blocking: bool = False) -> Waves:
        """The coefficients on another device, where the fields are made when they are needed."""
        coefficients = self.coefficients.to(device, non_blocking=non_blocking)
        sigma = None if self.sigma is None else self.sigma.to(device, non_blocking=non_blocking)
        return Waves(coefficients, self.size, sigma)

    def factors(self) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
        """What the fields are the product of: sigma, coefficients, waves along each axis."""
        coefficients = self.coefficients
        waves = self._waves(coefficients)
        if self.sigma is None:
            return coefficients.new_ones(self._leading[:-1]), coefficients, waves
        if self._cut:
            coefficients = self._standardised(coefficients).to(self.dtype)
        return self.sigma, coefficients, waves

    def rows(self, *rows: slice) -> Tensor:
        """Some rows of all fields, of volumes some planes and rows, without making the others."""
        sigma, coefficients, (*others, last) = self.factors()
        some = [axis[part] for axis, part in zip(others, rows, strict=True)]
        return self._product(sigma, coefficients, (*some, last))

    def means(self, share: Tensor) -> Tensor:
        """Weighted means ``(N, n / m, H, W)`` of the fields, which need not be made for them.

        Args:
            share: weights ``(N, 1, m)`` for the first, second, ... of every n / m fields.
        """
        sigma, coefficients, waves = self.factors()
        count, _, groups = share.shape
        fields, *counts = coefficients.shape[-self.dims - 1 :]
        grouped = coefficients.reshape(count, groups, fields // groups * math.prod(counts))
        means = torch.bmm(share.to(grouped), grouped).view(count, fields // groups, *counts)
        return self._product(sigma, means, waves)

    def _product(self, sigma: Tensor, coefficients: Tensor, waves: Sequence[Tensor]) -> Tensor:
        """What :meth:`factors` are the factors of."""
        exact = _product_dtype(coefficients)
        fields = _products(coefficients.to(exact), [axis.to(exact) for axis in waves]).to(sigma)
        return fields if self.sigma is None else fields.mul_(over_images(sigma, self.dims + 1))

    def _standardised(self, coefficients: Tensor) -> Tensor:
        """Coefficients, in double, that give the cut of a square zero mean and unit deviation.

        Waves are not orthogonal on a cut: their products' means tell its mean and deviation.
        """
        exact = coefficients.to(torch.float64, copy=True)
        *others, last = self._waves(exact)
        means = (*(waves.mean(0, keepdim=True) for waves in others), last.mean(1, keepdim=True))
        constant: tuple[Any, ...] = (..., *(slice(1),) * self.dims)
        exact[constant] -= _products(exact, means)
        grams = (waves.t() @ waves / len(waves) for waves in (*others, last.t()))
        variance = (_products(exact, tuple(grams)) * exact).sum(axes(self.dims), keepdim=True)
        tiny = torch.finfo(self.dtype).tiny
        return exact.div_(variance.clamp_min_(0).sqrt_().clamp_min_(tiny))

    def in_pixels(self) -> Waves:
        """The same fields by coefficients in pixels, which need no further scaling."""
        if self.sigma is None:
            return self
        coefficients = self.coefficients.to("cpu", torch.float64)
        if self._cut:
            coefficients = self._standardised(coefficients)
        counts = coefficients.shape[-self.dims :]
        norm = wave_basis(max(self.size), False, max(counts)).square().mean(0).sqrt()
        norms = (norm[:count] for count in counts)
        product = reduce(lambda product, axis: product.unsqueeze(-1) * axis, norms)
        scale = over_images(self.sigma.cpu(), self.dims + 1) / product
        return Waves((coefficients * scale).to(self.coefficients), self.size, None)

    def farthest(self) -> float:
        """A bound of the fields' magnitude in pixels, found without making them.

        Along the longest axis it is the sum of the waves' amplitudes, along the others it is exact:
        on a short cut, waves nearly cancel each other. Rounding is allowed for.
        """
        coefficients = self.in_pixels().coefficients
        *others, last = self.in_pixels()._waves(coefficients)
        longest = self.size.index(max(self.size))
        exact = [waves for axis, waves in enumerate((*others, last.t())) if axis != longest]
        coefficients = coefficients.movedim(longest - self.dims, -1).flatten(0, -self.dims - 1)
        amplitudes = coefficients.new_full(coefficients.shape[-1:], math.sqrt(2))
        amplitudes[0] = 1
        factors = (*exact, torch.eye(len(amplitudes)).to(amplitudes))
        bounds = ((_products(field, factors).abs() @ amplitudes).max() for field in coefficients)
        return max(map(float, bounds)) * (1 + 1e-4)

    def resized(self, size: Size) -> Waves:
        """The same waves over images of another size, as large beside the longer side as before."""
        if size == self.size:
            return self
        waves, side = self.in_pixels(), max(size)
        first: tuple[Any, ...] = (..., *(slice(side),) * self.dims)
        return Waves(waves.coefficients[first] * (side / max(self.size)), size, None)


@dataclass(frozen=True, eq=False)
class Noise(Fields):
    """Fields as inverse Fourier transforms of noise, with all the modes of a square.

    ``coefficients`` are standard normal numbers ``(..., n, S, S // 2 + 1, 2)``: real and imaginary
    parts of the half spectrum, before each mode is given its amplitude.
    """

    alpha: float
    """exponent of the power spectrum"""

    @property
    def _leading(self) -> tuple[int, ...]:
        return tuple(self.coefficients.shape[: -self.dims - 1])

    def _unscaled(self) -> Tensor:
        side, dims = max(self.size), self.dims
        amplitude = mode_amplitudes(side, dims, self.alpha, self.dtype, self.coefficients.device)
        noise = self.coefficients.flatten(0, -dims - 2)
        modes = torch.view_as_complex(noise * amplitude.unsqueeze(-1))
        field = torch.fft.irfftn(modes, s=(side,) * dims, norm="forward")
        # The mean is zero, so the norm is the deviation times the root of the number of pixels.
        field = unit_norm(field, dims).mul_(math.sqrt(side**dims))
        cut: tuple[Any, ...] = (..., *(slice(length) for length in self.size))
        return field[cut]

    def to(self, device: torch.device, *, non_blocking: bool = False) -> Noise:
        """The fields on another device; the noise, which is as large, stays where it is."""
        moved = replace(self)
        moved._keep(self.made().to(device, non_blocking=non_blocking))
        return moved


def version_of(tensor: Tensor) -> int:
    """How often a tensor was changed in place, where torch counts it."""
    uncounted = torch.compiler.is_compiling() or tensor.is_inference()
    return 0 if uncounted else tensor._version


def unit_norm(x: Tensor, dims: int) -> Tensor:
    """Scale fields of ``dims`` axes, the last ones, to norm 1 each, in place; zero stays zero."""
    norm = torch.linalg.vector_norm(x, dim=axes(dims), keepdim=True)
    return x.div_(norm.clamp_min_(torch.finfo(x.dtype).tiny))


def _product_dtype(matrix: Tensor) -> torch.dtype:
    """What to multiply in: a GPU may multiply float32 matrices with ten bits only."""
    return matrix.dtype if matrix.device.type == "cpu" else position_dtype(matrix.device)


def _products(coefficients: Tensor, factors: Sequence[Tensor]) -> Tensor:
    """Coefficients (..., R, R') times a matrix (n, R) along a column and one (R', m) along a row.

    In volumes, times one (l, R) along the depth before.
    """
    *others, last = factors
    for axis, factor in enumerate(others, start=-len(factors)):
        rest = coefficients.shape[axis + 1 :]
        product = factor @ coefficients.flatten(axis + 1)
        coefficients = product.view(*product.shape[:-1], *rest)
    return coefficients @ last
