"""How the random numbers of a draw are made.

They are made on the generator's device, by default the CPU, whatever device the images are on: the
same seed gives the same draw everywhere, and the number of repetitions is known without a
synchronisation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .checks import Range
from .fields import Field, draw_field
from .functional import gaussian_window
from .options import Size

DRAWING_VERSION = 2
"""Raised whenever the same seed gives other draws than before: results tell them apart by it."""


@dataclass(frozen=True)
class Sampler:
    """Where random numbers come from, and how many draws are made with them.

    ``count`` is None for one draw, or the number of images with one draw each.
    """

    count: int | None
    generator: torch.Generator | None
    dtype: torch.dtype = torch.float32

    @property
    def _prefix(self) -> tuple[int, ...]:
        return () if self.count is None else (self.count,)

    @property
    def _device(self) -> torch.device:
        return self.generator.device if self.generator is not None else torch.device("cpu")

    def uniform(self, low: float, high: float) -> Tensor:
        """One number U(low, high) per draw."""
        number = torch.empty(self._prefix, dtype=self.dtype, device=self._device)
        return number.uniform_(low, high, generator=self.generator)

    def normal(self, *shape: int, std: float = 1.0) -> Tensor:
        """Numbers N(0, std²) of the given shape per draw."""
        numbers = torch.empty(*self._prefix, *shape, dtype=self.dtype, device=self._device)
        return numbers.normal_(0.0, std, generator=self.generator)

    def whole(self, low: int, high: int) -> int | tuple[int, ...]:
        """One whole number from low to high, both included, per draw."""
        numbers = torch.randint(
            low, high + 1, self._prefix, generator=self.generator, device=self._device
        ).tolist()
        return tuple(numbers) if isinstance(numbers, list) else int(numbers)

    def weight(
        self,
        kernel_size: int,
        channels: int,
        *,
        spatial_dims: int = 2,
        layers: int | None = None,
        std: float | Range | None = None,
        smoothing: Range | None = None,
    ) -> Tensor:
        """Convolution weights N(0, σ_w²) times the Gaussian filter of a random width.

        Args:
            kernel_size: side k of the kernel.
            channels: C, of input and output.
            spatial_dims: 2 for kernels of images, 3 for those of volumes.
            layers: how many kernels per draw; None for one without a dimension of its own.
            std: σ_w; None is 1 / sqrt(k² C), with k³ for volumes; a range is drawn from uniformly.
            smoothing: range of σ_g; None leaves the weights as they are.
        """
        kernel = (kernel_size,) * spatial_dims
        shape: tuple[int, ...] = (channels, channels, *kernel)
        if layers is not None:
            shape = (layers, *shape)
        tail = (1,) * len(shape)
        if isinstance(std, tuple):
            weight = self.normal(*shape).mul_(self.uniform(*std).view(*self._prefix, *tail))
        else:
            taps = kernel_size**spatial_dims
            std = (taps * max(channels, 1)) ** -0.5 if std is None else std
            weight = self.normal(*shape, std=std)
        if smoothing is not None:
            width = self.uniform(*smoothing)
            window = gaussian_window(kernel_size, width, spatial_dims=spatial_dims)
            weight.mul_(window.view(*self._prefix, *tail[spatial_dims:], *kernel))
        return weight

    def offsets(
        self,
        kernel_size: int,
        size: Size,
        scale: Range,
        alpha: float,
        shared: bool = False,
    ) -> Field | Tensor:
        """2k² smooth fields (dy, dx per tap) with one σ_Δ from the range; 3k³ for volumes.

        They are independent, or those of one tap for all of them (``shared``).
        """
        sigma = self.uniform(*scale)
        dims = len(size)
        taps = kernel_size**dims
        if 0 in size:
            return self.normal(dims * taps, *size)
        drawn = dims if shared else dims * taps
        fields = draw_field((*self._prefix, drawn), size, alpha, sigma, self.generator)
        return fields.repeated(taps) if shared else fields

    def subset(self, count: int, share: float) -> Tensor:
        """Positions of a share of ``count`` images: as close to it as whole images allow.

        share * count is rounded up or down at random, so that each image has probability ``share``
        also in small batches.
        """
        where: dict[str, Any] = {"generator": self.generator, "device": self._device}
        size = int(share * count + float(torch.rand((), **where)))
        return torch.randperm(count, **where)[:size].sort().values.cpu()
