"""Kornia: the augmentation as a child of ``AugmentationSequential``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from ..draw import Draw
from ..errors import ProRandConvError
from ..labels import warp_labels
from ..transforms import ProRandConv
from .extras import requires_extra

with requires_extra("kornia"):
    from kornia.augmentation import IntensityAugmentationBase2D

_BITS = {2: torch.int16, 4: torch.int32, 8: torch.int64}
"""Integers as wide as a floating point number of so many bytes."""


@dataclass(frozen=True)
class KorniaDraw:
    """A draw among Kornia's parameters, with what Kornia asks of a tensor there."""

    draw: Draw
    shape: tuple[int]
    """number of images"""
    ndim: ClassVar[int] = 1

    def __getitem__(self, part: slice) -> KorniaDraw:
        """That of one image, for lists of masks."""
        first = range(self.shape[0])[part][0]
        return KorniaDraw(self.draw[first] if self.draw.per_image else self.draw, (1,))

    def numel(self) -> int:
        """Raise an error for videos: only they ask for it, to repeat the draw for each frame."""
        raise ProRandConvError.about(
            "VideoSequential", "a draw", "frames as a batch in AugmentationSequential"
        )


class RandomProRandConv(IntensityAugmentationBase2D):  # type: ignore[misc]
    """Pro-RandConv with Kornia's ``p``, ``same_on_batch``, ``params`` and ``data_keys``.

    Images are expected as Kornia has them, in [0, 1], and stay there; after ``Normalize``, pass its
    ``mean`` and ``std``. Everything else passes, unless ``labels="warp"``: masks then warp with
    the image, by nearest neighbour whatever the container says, and boxes and key points raise an
    error.
    No gradient passes.

    Args:
        p: probability that an image is augmented.
        same_on_batch: whether the images of a batch share one draw (the paper), which is faster.
        keepdim: whether a single image ``(C, H, W)`` comes back without a batch dimension.
        options: of :class:`ProRandConv`, but for ``mode``. ``labels="warp"`` needs an
            ``ignore_index``, the label of what comes from outside of the image: Kornia hands masks
            over as floating point numbers, so that classes (255) cannot be told from booleans (0).

    Example:
        >>> from kornia.augmentation import AugmentationSequential, RandomHorizontalFlip
        >>> warp = RandomProRandConv(labels="warp", ignore_index=255)
        >>> both = AugmentationSequential(RandomHorizontalFlip(), warp, data_keys=["image", "mask"])
        >>> image, mask = both(torch.rand(4, 3, 32, 32), torch.ones(4, 1, 32, 32).byte())
        >>> mask.dtype
        torch.uint8
    """

    def __init__(
        self, p: float = 1.0, same_on_batch: bool = True, keepdim: bool = False, **options: Any
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        if "mode" in options:
            raise ProRandConvError.about("mode", options["mode"], "same_on_batch=True or False")
        if options.get("labels") == "warp" and "ignore_index" not in options:
            raise ProRandConvError.about(
                "ignore_index", None, "255 for masks of classes, or 0 for masks of booleans"
            )
        in_unit_range: dict[str, Any] = {"output": "pixels", "mean": 0.0, "std": 1.0}
        self.flags = in_unit_range | options
        self.augment = ProRandConv(**in_unit_range | options)

    def generate_parameters(self, batch_shape: tuple[int, ...]) -> dict[str, Any]:
        """A draw for images of this shape."""
        self.augment.mode = "batch" if self.same_on_batch else "sample"
        images = torch.empty(()).expand(batch_shape)  # takes no memory
        return {"draw": KorniaDraw(self.augment.draw(images), (batch_shape[0],))}

    def apply_transform(
        self, input: Tensor, params: dict[str, Any], flags: dict[str, Any], transform: Any = None
    ) -> Tensor:
        """All images, augmented; Kornia puts back those that shall not be."""
        return self.augment(input, draw=params["draw"].draw.to(input.device))

    def apply_transform_mask(
        self, input: Tensor, params: dict[str, Any], flags: dict[str, Any], transform: Any = None
    ) -> Tensor:
        """Masks as they are, or warped with the images."""
        if self.augment.labels == "fixed":
            return input
        # Warped as bits: exact for every label, also where it is not an integer.
        bits = _BITS[input.element_size()]
        outside = int(input.new_tensor(self.augment.ignore_index).view(bits))
        draw = params["draw"].draw.to(input.device)
        warped = warp_labels(input.contiguous().view(bits), draw, ignore_index=outside)
        return warped.view(input.dtype)

    def apply_transform_box(
        self, input: Any, params: dict[str, Any], flags: dict[str, Any], transform: Any = None
    ) -> Any:
        """Boxes or key points as they are; where labels shall warp, they raise an error."""
        if self.augment.labels == "warp":
            raise ProRandConvError.about(
                "data_keys",
                type(input).__name__,
                'images, masks and classes beside labels="warp"; torchvision\'s boxes and key '
                "points warp with prorandconv.ProRandConv",
            )
        return input

    apply_transform_keypoint = apply_transform_box
