"""Networks by name: the paper's LeNet, torchvision's classifiers, segmenters, or your own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
import torch.nn.functional as F
import torchvision
from torch import Tensor, nn

from ..errors import ProRandConvError
from .errors import did_you_mean

TWO_HEADED = ("googlenet", "inception_v3")
"""Classifiers with auxiliary heads for training, which are left out: one network, one output."""


class LeNet(nn.Sequential):
    """The paper's network for Digits: two convolutions, three linear layers.

    Example:
        >>> LeNet(10)(torch.zeros(2, 3, 32, 32)).shape
        torch.Size([2, 10])
    """

    def __init__(self, classes: int, image_size: int = 32) -> None:
        side = ((image_size - 4) // 2 - 4) // 2
        if side < 1:
            raise ProRandConvError.about("image_size", image_size, "at least 16 pixels for lenet")
        super().__init__(
            nn.Conv2d(3, 64, 5),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Conv2d(64, 128, 5),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(128 * side * side, 1024),
            nn.ReLU(inplace=True),
            nn.Linear(1024, 1024),
            nn.ReLU(inplace=True),
            nn.Linear(1024, classes),
        )


def build_classifier(
    name: str,
    *,
    classes: int,
    image_size: int,
    pretrained: bool = False,
    weights: Path | None = None,
) -> nn.Module:
    """Make a network; its first weights come from torch's global generator.

    Args:
        name: ``"lenet"``, a classifier of torchvision such as ``"resnet18"``, or
            ``"package.module:function"``, which is called with ``classes`` and ``image_size``.
        classes: number of classes.
        image_size: side of an image in pixels.
        pretrained: start from torchvision's first ImageNet weights (IMAGENET1K_V1).
        weights: start from this file instead, .safetensors or .pth.
    """
    network = _maker(name)(classes, image_size)
    if weights is not None:
        load_weights(network, read_weights(weights), origin=str(weights))
    elif pretrained:
        load_weights(network, published_weights(name), origin=f"torchvision's weights of {name}")
    return network


def _maker(name: str) -> Callable[[int, int], nn.Module]:
    if name == "lenet":
        return LeNet
    if ":" in name:
        made: Callable[[int, int], nn.Module] = importable("network", name)
        return made
    known = torchvision.models.list_models(module=torchvision.models)
    if name not in known:
        hint = did_you_mean(name, ["lenet", *known])
        raise ProRandConvError.about(
            "network",
            name,
            f"lenet, a classifier of torchvision, or package.module:function{hint}",
        )
    extra: dict[str, Any] = {"aux_logits": False, "init_weights": True}
    options = extra if name in TWO_HEADED else {}
    return lambda classes, _: torchvision.models.get_model(
        name, weights=None, num_classes=classes, **options
    )


def importable(argument: str, name: str) -> Any:
    """What ``package.module:attribute`` names."""
    module, _, attribute = name.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ProRandConvError.about(
            argument, name, f"package.module:attribute that can be imported ({error})"
        ) from error


def read_weights(path: Path) -> dict[str, Tensor]:
    """Read a state dict, or the one under the key ``state_dict`` or ``model``."""
    if not path.is_file():
        raise ProRandConvError.about("weights", str(path), "a file that exists")
    try:
        if path.suffix == ".safetensors":
            return safetensors.torch.load_file(path)
        stored = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # both readers raise a dozen kinds for a damaged file
        raise ProRandConvError.about(
            "weights", str(path), f"an intact .safetensors or .pth file ({error})"
        ) from error
    for key in ("state_dict", "model"):
        if isinstance(stored, dict) and isinstance(stored.get(key), dict):
            stored = stored[key]
    if not isinstance(stored, dict) or not all(isinstance(v, Tensor) for v in stored.values()):
        raise ProRandConvError.about("weights", str(path), "a state dict: names and tensors")
    return {name.removeprefix("module."): value for name, value in stored.items()}


def published_weights(name: str) -> dict[str, Tensor]:
    """Torchvision's first ImageNet weights of a classifier, downloaded where they are missing."""
    try:
        published = torchvision.models.get_model_weights(name)["IMAGENET1K_V1"]
    except (KeyError, ValueError) as error:
        raise ProRandConvError.about(
            "pretrained", True, f"False, or weights=PATH: torchvision has no weights of {name!r}"
        ) from error
    try:
        stored: dict[str, Tensor] = published.get_state_dict(progress=False, check_hash=True)
    except OSError as error:
        raise ProRandConvError.about(
            "pretrained",
            True,
            f"a connection to download {published.url}, or weights=PATH with that file ({error})",
        ) from error
    if name in TWO_HEADED:
        return {k: v for k, v in stored.items() if not k.lower().startswith("aux")}
    return stored


def load_weights(
    network: nn.Module,
    stored: Mapping[str, Tensor],
    *,
    origin: str,
    other_classes: bool = True,
    of: str = "this network",
) -> None:
    """Load weights strictly.

    Args:
        network: what to load into.
        stored: the weights by name.
        origin: where they come from, for the message.
        other_classes: whether the classifier may differ; it then keeps its initial weights.
        of: what is loaded into, for the message.
    """
    own = network.state_dict()
    head = f"{classifier(network)}." if other_classes else None
    free = {name for name in own if head is not None and name.startswith(head)}
    chosen = {
        name: value
        for name, value in stored.items()
        if not (name in free and own[name].shape != value.shape)
    }
    problems = [f"{name} is missing" for name in sorted(set(own) - free - set(stored))]
    problems += [f"{name} is unknown" for name in sorted(set(stored) - set(own))]
    problems += [
        f"{name} has shape {tuple(value.shape)}, not {tuple(own[name].shape)}"
        for name, value in chosen.items()
        if name in own and value.shape != own[name].shape
    ]
    if problems:
        shown = "; ".join(problems[:3]) + (f"; {len(problems) - 3} more" if problems[3:] else "")
        but = ", but for the classifier" if other_classes else ""
        raise ProRandConvError.about("weights", origin, f"weights of {of}{but}: {shown}")
    network.load_state_dict(chosen, strict=False)


def classifier(network: nn.Module) -> str:
    """Name of the last layer with weights, which turns features into classes."""
    layers: list[str] = [
        name
        for name, module in network.named_modules()
        if isinstance(module, nn.Linear | nn.Conv2d)
    ]
    if not layers:
        raise ProRandConvError.about("network", type(network).__name__, "a network with layers")
    return layers[-1]


@contextmanager
def hooked(
    network: nn.Module, layers: Sequence[str], function: Callable[[Tensor], Tensor]
) -> Iterator[None]:
    """Put what these layers give through a function, meanwhile."""
    names = dict(network.named_modules())
    for layer in layers:
        if layer not in names:
            known = ", ".join(name for name, _ in network.named_children())
            raise ProRandConvError.about("layers", layer, f"layers of the network, such as {known}")
    hooks = [
        names[layer].register_forward_hook(lambda module, inputs, output: function(output))
        for layer in layers
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def features(network: nn.Module, images: Tensor) -> tuple[Tensor, Tensor]:
    """What enters the last layer with weights, and the logits, in one forward pass.

    Args:
        network: any; names of its weights stay as they are.
        images: normalised, ``(N, 3, S, S)``.

    Returns:
        Features, ``(N, F)`` or ``(N, F, H, W)`` as the last layer takes them, and the output.
    """
    entered: list[Tensor] = []
    layer = network.get_submodule(classifier(network))
    hook = layer.register_forward_pre_hook(lambda module, inputs: entered.append(inputs[0]))
    try:
        logits: Tensor = network(images)
    finally:
        hook.remove()
    return entered[-1], logits


def last_linear(network: nn.Module) -> nn.Linear:
    """The layer that turns features into classes, if it is a linear one."""
    layer = network.get_submodule(classifier(network))
    if not isinstance(layer, nn.Linear):
        given = f"{type(network).__name__}, whose last layer is a {type(layer).__name__}"
        raise ProRandConvError.about("network", given, "a network that ends in a linear layer")
    return layer


def macs(network: nn.Module, image_size: int) -> int:
    """Multiply-accumulates of one image, counted the way the paper's 28.77 M for LeNet is.

    Convolutions and linear layers count each product and each bias, normalisations two operations
    and activations one for each element, poolings one for each element they read.

    Args:
        network: what to count; functions that are no modules are not seen.
        image_size: side of the image in pixels.
    """
    total = 0

    def count(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        nonlocal total
        if isinstance(module, nn.Linear | nn.Conv2d):
            products = module.weight[0].numel() + (module.bias is not None)
            total += output.numel() * products
        elif isinstance(module, nn.BatchNorm2d | nn.LayerNorm):
            total += 2 * output.numel()
        elif isinstance(module, nn.ReLU | nn.ReLU6 | nn.GELU | nn.SiLU | nn.Hardswish):
            total += output.numel()
        elif isinstance(module, nn.MaxPool2d | nn.AvgPool2d | nn.AdaptiveAvgPool2d):
            total += inputs[0].numel()

    hooks = [module.register_forward_hook(count) for module in network.modules()]
    was_training = network.training
    try:
        device = next(network.parameters()).device
        with torch.no_grad():
            network.eval()(torch.zeros(1, 3, image_size, image_size, device=device))
    finally:
        network.train(was_training)
        for hook in hooks:
            hook.remove()
    return total


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


def build_segmenter(
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
