"""albumentations: the augmentation for numpy images, before ``Normalize``."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..draw import Draw
from ..errors import ProRandConvError
from ..labels import warp_labels
from ..transforms import ProRandConv
from .extras import requires_extra

with requires_extra("albumentations"):
    from albumentations import DualTransform
    from albumentations.core.type_definitions import ALL_TARGETS

Array = NDArray[Any]


class RandomProRandConv(DualTransform):  # type: ignore[misc]
    """Pro-RandConv for images ``(H, W)`` or ``(H, W, C)`` of bytes, or of floats in [0, 1].

    Images keep dtype and range. Labels stay, unless ``labels="warp"``: masks then warp with the
    image, by nearest neighbour, and boxes and key points raise an error. Everything random comes
    from albumentations' own random state; a draw is one seed among the parameters, so that
    ``ReplayCompose`` replays it.

    Args:
        p: probability that an image is augmented.
        options: of :class:`ProRandConv`, but for those of batches and normalisation.

    Example:
        >>> from albumentations import Compose
        >>> both = Compose([RandomProRandConv(labels="warp")], seed=0)
        >>> image, mask = np.zeros((24, 32, 3), np.uint8), np.ones((24, 32), np.int32)
        >>> {key: value.dtype.name for key, value in both(image=image, mask=mask).items()}
        {'image': 'uint8', 'mask': 'int32'}
    """

    _targets = ALL_TARGETS

    def __init__(self, p: float = 1.0, **options: Any) -> None:
        super().__init__(p=p)
        if unsupported := options.keys() & {"mode", "output", "mean", "std"}:
            raise ProRandConvError.about(
                min(unsupported), options[min(unsupported)], "nothing: one image in its own range"
            )
        self.options, self.augment = options, ProRandConv(**options)

    def get_transform_init_args(self) -> dict[str, Any]:
        """What makes this transform again, beside p."""
        return dict(self.options)

    def get_params_dependent_on_data(
        self, params: dict[str, Any], data: dict[str, Any]
    ) -> dict[str, Any]:
        """The seed of a draw."""
        return {"draw_seed": int(self.random_generator.integers(2**63))}

    def apply(self, img: Array, draw_seed: int, **params: Any) -> Array:
        """The image, augmented."""
        is_bytes = img.dtype == np.uint8
        if not is_bytes and (img.dtype != np.float32 or img.min() < 0 or img.max() > 1):
            raise ProRandConvError.about(
                "image",
                f"{img.dtype} from {img.min()} to {img.max()}",
                "uint8, or float32 in [0, 1]: the place of this transform is before Normalize",
            )
        image = _channels_first(img).float() * (2 / 255 if is_bytes else 2) - 1
        pixels = (self.augment(image, draw=self._draw(image.shape, draw_seed)) + 1) / 2
        if is_bytes:
            pixels = (pixels * 255).round().byte()
        return _channels_last(pixels, img)

    def apply_to_mask(self, mask: Array, draw_seed: int, shape: Any, **params: Any) -> Array:
        """The mask as it is, or warped with the image of this shape."""
        if self.augment.labels == "fixed":
            return mask
        height, width, channels = (*shape, 1)[:3]
        draw = self._draw((channels, height, width), draw_seed)
        labels = _channels_first(mask)
        warped = warp_labels(labels, draw, ignore_index=self.augment.ignore_index)
        return _channels_last(warped, mask)

    def apply_to_bboxes(self, bboxes: Array, **params: Any) -> Array:
        """Boxes or key points as they are; where labels shall warp, they raise an error."""
        if self.augment.labels == "warp":
            raise ProRandConvError.about(
                "labels",
                "warp",
                '"fixed" beside boxes and key points; those of torchvision warp with '
                "prorandconv.ProRandConv",
            )
        return bboxes

    def apply_to_keypoints(self, keypoints: Array, **params: Any) -> Array:
        """Likewise."""
        return self.apply_to_bboxes(keypoints)

    def _draw(self, shape: tuple[int, ...], seed: int) -> Draw:
        like = torch.empty(()).expand(shape)  # takes no memory
        return self.augment.draw(like, torch.Generator().manual_seed(seed))


def _channels_first(picture: Array) -> torch.Tensor:
    """(H, W) or (H, W, C) as (C, H, W)."""
    return torch.from_numpy(np.atleast_3d(picture)).permute(2, 0, 1)


def _channels_last(picture: torch.Tensor, like: Array) -> Array:
    """(C, H, W) as numpy has it."""
    return np.ascontiguousarray(picture.permute(1, 2, 0).numpy()).reshape(like.shape)
