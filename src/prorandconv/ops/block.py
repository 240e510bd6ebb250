"""What an engine is handed: the linear part of a block, and what follows it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from torch import Tensor
from torch.autograd import forward_ad

from ..fields import Field
from ..options import Size

Repeats = int | tuple[int, ...]
"""How often the block is applied: one number, or one per image."""
Index = int | slice | Tensor


@dataclass(frozen=True)
class Block:
    """The deformable convolution of one draw, shared by all images and all repetitions.

    With one draw per image, each tensor has a further leading dimension of N. Volumes have a depth
    before the height, and a third displacement dz before dy.
    """

    weight: Tensor
    """(C_out, C_in, k, k)"""
    given: Tensor | Field | None
    """offsets (2k², H, W), (dy, dx) per tap, or what makes them; None is zero everywhere"""
    size: Size
    """height and width of the images"""
    padding: str
    """border mode, "zeros", "reflect" or "replicate" """
    reach: float | None = None
    """an upper bound of |offsets| for where reading them would wait for a device, if known"""

    @property
    def kernel_size(self) -> int:
        """Side of the square kernel, odd."""
        return self.weight.shape[-1]

    @property
    def dims(self) -> int:
        """Axes of an image: 2, or 3 for a volume."""
        return len(self.size)

    @property
    def taps(self) -> int:
        """How many taps the kernel has."""
        return math.prod((self.kernel_size,) * self.dims)

    @property
    def offsets(self) -> Tensor | None:
        """The offsets as numbers, made if they were not yet."""
        given = self.given
        return given if given is None or isinstance(given, Tensor) else given.dense()

    def rows_of_offsets(self, rows: slice) -> Tensor | None:
        """Offsets (2k², rows, W) of some rows, made of their waves where they were not yet."""
        given = self.given
        if given is None or isinstance(given, Tensor):
            return None if given is None else given[:, rows]
        return given.rows(rows)

    @property
    def per_image(self) -> bool:
        """Whether each image has a draw of its own."""
        return self.weight.dim() == self.dims + 3

    def of(self, images: Index) -> Block:
        """The block of one or some of the images that have a draw each."""
        given = None if self.given is None else self.given[images]
        return replace(self, weight=self.weight[images], given=given)


@dataclass(frozen=True)
class Contrast:
    """What follows the convolution; each part can be absent.

    gamma and beta are ``(C,)``, or ``(N, C)`` with one draw per image.
    """

    standardise: bool = True
    gamma: Tensor | None = None
    beta: Tensor | None = None
    tanh: bool = True
    eps: float = 1e-5

    def of(self, images: Index) -> Contrast:
        """What follows for one or some of the images that have a draw each."""
        if self.gamma is None or self.beta is None:
            return self
        return replace(self, gamma=self.gamma[images], beta=self.beta[images])


def differentiable(tensor: Tensor | Field | None) -> bool:
    """Whether a derivative is wanted, by backward or forward differentiation."""
    if isinstance(tensor, Field):
        tensor = tensor.coefficients
    if tensor is None:
        return False
    dual = forward_ad.unpack_dual(tensor)  # type: ignore[no-untyped-call]
    return tensor.requires_grad or dual.tangent is not None
