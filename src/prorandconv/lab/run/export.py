"""A trained network as a file that other programs load, with all they must know about it."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn

from ...errors import ProRandConvError
from ..data import ImageFormat
from ..errors import RunError
from ..files import replacing
from ..tasks import get_task
from .directory import METADATA
from .trained import Trained

ExportFormat = Literal["safetensors", "torchscript", "onnx"]
ENDINGS: dict[ExportFormat, str] = {
    "safetensors": ".safetensors",
    "torchscript": ".pt",
    "onnx": ".onnx",
}
INPUT, OUTPUT = "images", "logits"
TOLERANCE = 1e-4


def export(
    trained: Trained, path: Path, format: ExportFormat, *, with_normalisation: bool = False
) -> None:
    """Write a network; a graph is read back and compared with the network before it gets its name.

    Args:
        trained: the network, loaded with ``accelerator="cpu"``.
        path: the file.
        format: ``"safetensors"`` (weights only), ``"torchscript"`` or ``"onnx"`` (weights and
            graph, for batches of any size).
        with_normalisation: let the graph take pixels in [0, 1] and normalise them itself.
    """
    if format not in WRITERS:
        raise ProRandConvError.about("format", format, f"one of {', '.join(WRITERS)}")
    if with_normalisation and format == "safetensors":
        raise ProRandConvError.about(
            "with_normalisation", True, "False with safetensors, which holds weights and no graph"
        )
    images = trained.config.format
    network = trained.network.eval()
    if with_normalisation:
        network = nn.Sequential(Normalise(images), network).eval()
    notes = {METADATA: json.dumps(metadata(trained, with_normalisation=with_normalisation))}
    with replacing(path) as temporary:
        WRITERS[format](network, temporary, notes, images.image_size)


class Normalise(nn.Module):
    """Pixels in [0, 1] to what the network was trained with."""

    mean: Tensor
    std: Tensor

    def __init__(self, format: ImageFormat) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(format.mean).view(1, 3, 1, 1))
        self.register_buffer("std", torch.tensor(format.std).view(1, 3, 1, 1))

    def forward(self, pixels: Tensor) -> Tensor:
        """Subtract the mean of each channel and divide by its standard deviation."""
        return (pixels - self.mean) / self.std


def metadata(trained: Trained, *, with_normalisation: bool) -> dict[str, Any]:
    """What a user of the file must know, as JSON values."""
    images, classes = trained.config.format, trained.classes
    size = images.image_size
    shape = get_task(trained.config.task).output_shape(len(classes), size)
    pixels = f"float32 (N, 3, {size}, {size}), RGB, pixels in [0, 1]"
    return {
        "network": trained.config.network,
        "classes": list(classes),
        "image_size": size,
        "mean": list(images.mean),
        "std": list(images.std),
        "input": pixels if with_normalisation else f"{pixels}, then (pixels - mean) / std",
        "output": f"float32 {shape}, logits in the order of the classes",
    }


def _safetensors(network: nn.Module, path: Path, notes: dict[str, str], size: int) -> None:
    import safetensors.torch

    weights = {name: value.contiguous() for name, value in network.state_dict().items()}
    safetensors.torch.save_file(weights, path, notes)


def _torchscript(network: nn.Module, path: Path, notes: dict[str, str], size: int) -> None:
    with warnings.catch_warnings():
        # TorchScript is deprecated, and still what C++ and mobile programs load.
        warnings.simplefilter("ignore")
        try:
            traced = torch.jit.trace(  # type: ignore[no-untyped-call]
                network, torch.zeros(2, 3, size, size)
            )
        except Exception as error:  # whatever a user's network may raise when it is traced
            raise _impossible(network, "TorchScript", error) from error
        torch.jit.save(traced, path, _extra_files=notes)
        loaded = torch.jit.load(path)  # type: ignore[no-untyped-call]
    _compare(network, size, lambda images: cast(Tensor, loaded(images)))


def _onnx(network: nn.Module, path: Path, notes: dict[str, str], size: int) -> None:
    try:
        onnxruntime = import_module("onnxruntime")
        import_module("onnxscript")  # which torch's exporter needs
    except ImportError as error:
        raise ProRandConvError.about(
            "format", "onnx", f"the extra onnx: pip install 'prorandconv[onnx]' ({error})"
        ) from error
    batch = torch.export.Dim("batch")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = torch.onnx.export(
                network,
                (torch.zeros(2, 3, size, size),),
                input_names=[INPUT],
                output_names=[OUTPUT],
                dynamic_shapes=({0: batch},),
                dynamo=True,
                verbose=False,
            )
    except Exception as error:  # as above
        raise _impossible(network, "ONNX", error) from error
    assert program is not None
    program.model.metadata_props.update(notes)
    program.save(str(path), external_data=False)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    _compare(
        network,
        size,
        lambda images: torch.from_numpy(session.run([OUTPUT], {INPUT: images.numpy()})[0]),
    )


def _impossible(network: nn.Module, format: str, error: Exception) -> RunError:
    reason = str(error).strip().partition("\n")[0]
    return RunError(
        f"{type(network).__name__} cannot be exported to {format} ({type(error).__name__}: "
        f"{reason}); --format safetensors exports the weights alone"
    )


def _compare(network: nn.Module, size: int, exported: Callable[[Tensor], Tensor]) -> None:
    """Refuse a graph that differs from the network, on a batch of another size than its own."""
    images = torch.rand(3, 3, size, size, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        own, other = network(images), exported(images)
    apart = float((own - other).abs().max() / own.abs().max().clamp_min(1e-6))
    if not apart < TOLERANCE:
        raise RunError(
            f"the exported graph differs from the network by {apart:.1e} of its largest output; "
            "--format safetensors exports the weights alone"
        )


WRITERS: dict[ExportFormat, Callable[[nn.Module, Path, dict[str, str], int], None]] = {
    "safetensors": _safetensors,
    "torchscript": _torchscript,
    "onnx": _onnx,
}
