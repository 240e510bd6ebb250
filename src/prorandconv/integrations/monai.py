"""MONAI: the augmentation of channel-first images and volumes, alone or in dictionaries."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..draw import Draw
from ..errors import ProRandConvError
from ..labels import warp_labels
from ..transforms import ProRandConv
from .extras import requires_extra

with requires_extra("monai"):
    from monai.config import KeysCollection
    from monai.data.meta_obj import get_track_meta
    from monai.transforms import MapTransform, RandomizableTransform
    from monai.utils import TransformBackends, convert_to_dst_type, convert_to_tensor, ensure_tuple

UNSUPPORTED_OPTIONS = {
    "mode": "nothing: a sample is one image, and each has a draw of its own",
    "p": "prob",
    "spatial_dims": "nothing: (C, H, W) is an image, (C, D, H, W) a volume",
    "lazy": "nothing: the augmentation is not lazy, MONAI applies what is pending before it",
}
"""Options that MONAI has in its own way."""


class RandProRandConv(RandomizableTransform):  # type: ignore[misc]
    """Pro-RandConv of a channel-first image ``(C, H, W)`` or volume ``(C, D, H, W)``.

    Random numbers come from MONAI's ``set_random_state``. A ``MetaTensor`` keeps its meta data. An
    ``inverse`` passes over it, as over MONAI's own changes of intensity.

    Args:
        prob: probability that a sample is augmented; the network should see originals, too.
        options: of :class:`ProRandConv`, such as ``mean`` and ``std`` of the normalisation.
    """

    backend = [TransformBackends.TORCH]  # noqa: RUF012 (as MONAI has it)

    def __init__(self, prob: float = 0.5, **options: Any) -> None:
        RandomizableTransform.__init__(self, prob)
        for name in options.keys() & UNSUPPORTED_OPTIONS.keys():
            raise ProRandConvError.about(name, options[name], UNSUPPORTED_OPTIONS[name])
        if options.get("labels", "fixed") != "fixed":
            raise ProRandConvError.about(
                "labels", options["labels"], "'fixed', or RandProRandConvd with label_keys"
            )
        self._options = options
        self._by_dims = {2: ProRandConv(**options)}
        self.params: Draw | None = None
        """the last draw"""

    def randomize(self, img: Tensor) -> None:
        """Decide whether to augment, and draw for images like ``img``."""
        super().randomize(None)
        if self._do_transform:
            seed = int(self.R.randint(2**32, dtype=np.uint64))
            self.params = self._of(img).draw(_plain(img), torch.Generator().manual_seed(seed))

    def __call__(self, img: Any, randomize: bool = True) -> Tensor:
        """Augment an image or volume.

        Args:
            img: floating point tensor or array, normalised as the network expects.
            randomize: whether to draw anew, instead of replaying the last draw.
        """
        given: Tensor = convert_to_tensor(img, track_meta=get_track_meta())
        if randomize:
            self.randomize(given)
        if not self._do_transform:
            return given
        augmented = self._of(given)(_plain(given), draw=self.params)
        result: Tensor = convert_to_dst_type(augmented, given)[0]
        return result

    def _of(self, img: Tensor) -> ProRandConv:
        """The transform for as many axes as a sample has."""
        dims = img.dim() - 1
        if dims not in (2, 3):
            raise ProRandConvError.about(
                "img", tuple(img.shape), "an image (C, H, W) or a volume (C, D, H, W)"
            )
        if dims not in self._by_dims:
            self._by_dims[dims] = ProRandConv(**self._options, spatial_dims=3)
        return self._by_dims[dims]


class RandProRandConvd(RandomizableTransform, MapTransform):  # type: ignore[misc]
    """:class:`RandProRandConv` for dictionaries: all keys share one draw, and labels can warp.

    Args:
        keys: of the images.
        prob: probability that a sample is augmented.
        label_keys: of maps of labels ``(1 or more, ...)``, which stay, or with ``labels="warp"``
            warp with the image by nearest neighbour. Labels may be floating point, if they are
            integers.
        allow_missing_keys: whether keys may be missing.
        options: of :class:`ProRandConv`. ``labels="warp"`` needs an ``ignore_index``, the label of
            what comes from outside of the image.
    """

    backend = RandProRandConv.backend

    def __init__(
        self,
        keys: KeysCollection,
        prob: float = 0.5,
        label_keys: KeysCollection = (),
        allow_missing_keys: bool = False,
        **options: Any,
    ) -> None:
        MapTransform.__init__(self, keys, allow_missing_keys)
        RandomizableTransform.__init__(self, prob)
        self.label_keys = ensure_tuple(label_keys)
        self.warps = options.pop("labels", "fixed") == "warp"
        self.ignore_index = options.pop("ignore_index", None)
        if self.warps and not self.label_keys:
            raise ProRandConvError.about(
                "label_keys", label_keys, "keys of what labels='warp' warps"
            )
        if self.warps and type(self.ignore_index) is not int:
            raise ProRandConvError.about(
                "ignore_index",
                self.ignore_index,
                "the label of what comes from outside, e.g. 0 for the background",
            )
        self.augment = RandProRandConv(1.0, **options)

    def set_random_state(
        self, seed: int | None = None, state: np.random.RandomState | None = None
    ) -> RandProRandConvd:
        """Make what follows repeatable."""
        super().set_random_state(seed, state)
        self.augment.set_random_state(seed, state)
        return self

    def __call__(self, data: Mapping[Hashable, Any]) -> dict[Hashable, Any]:
        """Augment the images of a sample with one draw, and warp its labels."""
        sample = dict(data)
        self.randomize(None)
        images = list(self.key_iterator(sample))
        for number, key in enumerate(images):
            sample[key] = convert_to_tensor(sample[key], track_meta=get_track_meta())
            if self._do_transform:
                sample[key] = self.augment(sample[key], randomize=number == 0)
        if self._do_transform and self.warps and images:
            for key in self.label_keys:
                if key in sample or not self.allow_missing_keys:
                    sample[key] = self._warped(sample[key])
        return sample

    def _warped(self, labels: Any) -> Tensor:
        labels = convert_to_tensor(labels, track_meta=get_track_meta())
        plain = _plain(labels)
        integers = plain
        if plain.is_floating_point():
            integers = plain.long()
            if not torch.equal(integers.to(plain.dtype), plain):
                raise ProRandConvError.about(
                    "label_keys", "labels that are not integers", "classes, or labels='fixed'"
                )
        assert self.augment.params is not None
        warped = warp_labels(integers, self.augment.params, ignore_index=self.ignore_index)
        result: Tensor = convert_to_dst_type(warped, labels, dtype=labels.dtype)[0]
        return result


def _plain(img: Tensor) -> Tensor:
    """The numbers of a MetaTensor, which must not wait for operations."""
    pending = getattr(img, "pending_operations", None)
    if pending:
        raise ProRandConvError.about(
            "img",
            f"{len(pending)} pending operations (lazy evaluation)",
            "a tensor to which they were applied, as in Compose or by apply_pending_transforms",
        )
    return img.as_tensor() if hasattr(img, "as_tensor") else img
