"""Random fields, kept as the numbers they are made of, and how they are made of them."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

from .ops.formulas import position_dtype
from .spectrum import mode_amplitudes, wave_basis, waves

Self = TypeVar("Self", bound="Fields")


@dataclass(frozen=True, eq=False)
class Fields:
    """Random fields ``(..., n, H, W)``, kept as what they are made of until they are needed.

    In a draw this stands for the tensor of them: it has a shape and a device, can be moved and
    indexed.
    """

    coefficients: Tensor
    """the random numbers that they are made of, ``(..., n, ...)``"""
    size: tuple[int, int]
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

    def __getitem__(self: Self, index: int | Tensor) -> Self:
        """The fields of one or some of several draws, with the bits that they have among all."""
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
        height, width = self.size
        if height != width:
            # A field on a square is centred and scaled already, a cut of it is not.
            fields = fields - fields.mean((-2, -1), keepdim=True)
            fields = unit_norm(fields).mul_(math.sqrt(height * width))
        if sigma.dim():  # one for each draw, whose fields follow each other
            sigma = sigma.repeat_interleave(self._leading[-1]).view(-1, 1, 1)
        return fields.mul_(sigma)

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
        return tuple(self.coefficients.shape[:-2])

    def _unscaled(self) -> Tensor:
        coefficients, device = self.coefficients, self.coefficients.device
        if device.type != "cpu":
            # A GPU may multiply float32 matrices with ten bits only.
            coefficients = coefficients.to(position_dtype(device))
        *leading, rows, columns = coefficients.shape
        orthonormal = self.sigma is not None
        by_row, by_column = waves(
            self.size, (rows, columns), orthonormal, coefficients.dtype, device
        )
        count, width = math.prod(leading), self.size[1]
        along_rows = torch.mm(coefficients.reshape(count * rows, columns), by_column)
        fields = torch.bmm(by_row.expand(count, -1, -1), along_rows.view(count, rows, width))
        return fields if device.type == "cpu" else fields.to(self.dtype)

    def to(self, device: torch.device, *, non_blocking: bool = False) -> Waves:
        """The coefficients on another device, where the fields are made when they are needed."""
        coefficients = self.coefficients.to(device, non_blocking=non_blocking)
        sigma = None if self.sigma is None else self.sigma.to(device, non_blocking=non_blocking)
        return Waves(coefficients, self.size, sigma)

    def factors(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """What the fields are the product of: sigma, waves (H, R), coefficients, waves (R', W)."""
        coefficients, orthonormal = self.coefficients, self.sigma is not None
        *leading, _, rows, columns = coefficients.shape
        by_row, by_column = waves(
            self.size, (rows, columns), orthonormal, coefficients.dtype, coefficients.device
        )
        if self.sigma is None:
            return coefficients.new_ones(leading), by_row, coefficients, by_column
        if self.size[0] != self.size[1]:
            coefficients = self._standardised().to(self.dtype)
        return self.sigma, by_row, coefficients, by_column

    def rows(self, rows: slice) -> Tensor:
        """Some rows of all fields, which need not be made whole for them."""
        sigma, by_row, coefficients, by_column = self.factors()
        device = coefficients.device
        if device.type != "cpu":
            # A GPU may multiply float32 matrices with ten bits only.
            exact = position_dtype(device)
            by_row, coefficients, by_column = (
                factor.to(exact) for factor in (by_row, coefficients, by_column)
            )
        return sigma[..., None, None, None] * (by_row[rows] @ coefficients @ by_column).to(sigma)

    def _standardised(self) -> Tensor:
        """Coefficients in float64 that give the cut of a square zero mean and unit deviation.

        Waves are not orthogonal on a cut: their products' means tell its mean and deviation.
        """
        exact = self.coefficients.double()
        height, width = self.size
        by_row, by_column = waves(
            self.size, tuple(exact.shape[-2:]), True, torch.float64, exact.device
        )
        exact[..., 0, 0] -= by_row.mean(0) @ exact @ by_column.mean(1)
        along = (by_row.t() @ by_row / height) @ exact @ (by_column @ by_column.t() / width)
        variance = (along * exact).sum((-2, -1), keepdim=True)
        tiny = torch.finfo(self.dtype).tiny
        return exact / variance.clamp_min_(0).sqrt_().clamp_min_(tiny)

    def in_pixels(self) -> Waves:
        """The same fields by coefficients in pixels, which need no further scaling."""
        if self.sigma is None:
            return self
        here, square = self.to(torch.device("cpu")), self.size[0] == self.size[1]
        coefficients = here.coefficients.double() if square else here._standardised()
        rows, columns = coefficients.shape[-2:]
        norm = wave_basis(max(self.size), False, max(rows, columns)).square().mean(0).sqrt()
        scale = self.sigma.cpu()[..., None, None, None] / (norm[:rows, None] * norm[:columns])
        return Waves((coefficients * scale).to(self.coefficients), self.size, None)

    def resized(self, size: tuple[int, int]) -> Waves:
        """The same waves over images of another size, as large beside the longer side as before."""
        if size == self.size:
            return self
        waves, side = self.in_pixels(), max(size)
        coefficients = waves.coefficients[..., :side, :side] * (side / max(self.size))
        return Waves(coefficients, size, None)


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
        return tuple(self.coefficients.shape[:-3])

    def _unscaled(self) -> Tensor:
        side = max(self.size)
        amplitude = mode_amplitudes(side, self.alpha, self.dtype, self.coefficients.device)
        modes = torch.view_as_complex(self.coefficients.flatten(0, -4) * amplitude.unsqueeze(-1))
        field = torch.fft.irfft2(modes, s=(side, side), norm="forward")
        # The mean is zero, so the norm is the deviation times the root of the number of pixels.
        field = unit_norm(field).mul_(math.sqrt(side * side))
        return field[:, : self.size[0], : self.size[1]]

    def to(self, device: torch.device, *, non_blocking: bool = False) -> Noise:
        """The fields on another device; the noise, which is as large, stays where it is."""
        moved = replace(self)
        moved._keep(self.made().to(device, non_blocking=non_blocking))
        return moved


def version_of(tensor: Tensor) -> int:
    """How often a tensor was changed in place, where torch counts it."""
    uncounted = torch.compiler.is_compiling() or tensor.is_inference()
    return 0 if uncounted else tensor._version


def unit_norm(x: Tensor) -> Tensor:
    """Scale each of several matrices to norm 1, in place; zero stays zero."""
    norm = torch.linalg.vector_norm(x, dim=(-2, -1), keepdim=True)
    return x.div_(norm.clamp_min_(torch.finfo(x.dtype).tiny))
