"""Segmentation networks by name: architecture and encoder, or a function of your own."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from ..errors import ProRandConvError
from .errors import did_you_mean
from .models import importable, load_weights, published_weights, read_weights

OWN_STRIDE = 32
"""Scenes for a function of a user's own are padded to multiples of this."""
CLASSIFIER = ("fc.", "classifier.")
"""What names of a classifier's last layers begin with, which an encoder does without."""


class Segmenter(nn.Module):
    """A network that gives logits ``(N, classes, H, W)`` for images of any size.

    Args:
        model: what is trained; it takes sides that are multiples of a stride.
        stride: that stride.
    """

    def __init__(self, model: nn.Module, stride: int) -> None:
        super().__init__()
        self.model = model
        self.stride = stride

    def forward(self, images: Tensor) -> Tensor:
        """Pad at the right and bottom, segment, cut off; logits are in full precision."""
        height, width = images.shape[-2:]
        padded = F.pad(images, (0, -width % self.stride, 0, -height % self.stride))
        logits: Tensor = self.model(padded)
        return logits[..., :height, :width].float()


def build(
    name: str,
    *,
    classes: int,
    image_size: int,
    pretrained: bool = False,
    weights: Path | None = None,
) -> nn.Module:
    """Make a network; its first weights come from torch's global generator.

    Args:
        name: ``"<architecture>-<encoder>"`` of segmentation-models-pytorch, such as
            ``"deeplabv3plus-resnet50"`` (output stride 16), or ``"package.module:function"``, which
            is called with ``classes`` and ``image_size``.
        classes: number of classes.
        image_size: side of a training image in pixels.
        pretrained: start with torchvision's first ImageNet weights (IMAGENET1K_V1) in the encoder.
        weights: start from this file instead, .safetensors or .pth: those of the encoder, or of the
            whole network.
    """
    if ":" in name:
        network = Segmenter(importable("network", name)(classes, image_size), OWN_STRIDE)
    else:
        network = _from_package(name, classes)
    if weights is not None:
        _load(network, name, read_weights(weights), str(weights))
    elif pretrained:
        encoder = name.partition("-")[2]
        _load(network, name, published_weights(encoder), f"torchvision's weights of {encoder}")
    return network


def _from_package(name: str, classes: int) -> Segmenter:
    try:
        package: Any = import_module("segmentation_models_pytorch")
    except ImportError as error:
        raise ProRandConvError.about(
            "network", name, f"the extra seg: pip install 'prorandconv[seg]' ({error})"
        ) from error
    architectures = sorted(package.MODEL_ARCHITECTURES_MAPPING)
    encoders = package.encoders.get_encoder_names()
    architecture, _, encoder = name.partition("-")
    expected = "<architecture>-<encoder> of segmentation-models-pytorch, or package.module:function"
    if architecture not in architectures:
        raise ProRandConvError.about(
            "network",
            name,
            f"{expected}; architectures: {', '.join(architectures)}"
            f"{did_you_mean(architecture, architectures)}",
        )
    if encoder not in encoders and not encoder.startswith("tu-"):
        raise ProRandConvError.about(
            "network", name, f"{expected}, e.g. resnet50{did_you_mean(encoder, encoders)}"
        )
    try:
        # Weights never come from here: what is not on disk would be downloaded.
        model = package.create_model(architecture, encoder, None, classes=classes)
    except Exception as error:  # whatever an encoder that does not fit raises
        raise ProRandConvError.about("network", name, f"{expected} ({error})") from error
    return Segmenter(model, int(model.encoder.output_stride))


def _load(network: Segmenter, name: str, stored: Mapping[str, Tensor], origin: str) -> None:
    """Load weights of the whole network, or of its encoder alone."""
    if any(key.startswith("model.") for key in stored):
        load_weights(network, stored, origin=origin)
        return
    encoder = getattr(network.model, "encoder", None)
    if not isinstance(encoder, nn.Module):
        raise ProRandConvError.about(
            "weights", origin, f"weights of the whole network: {name} has no encoder"
        )
    own = {key: value for key, value in stored.items() if not key.startswith(CLASSIFIER)}
    load_weights(encoder, own, origin=origin, other_classes=False, of=f"the encoder of {name}")
