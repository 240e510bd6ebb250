"""How robust a classifier is: its accuracy on images changed in ways that are always the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from .. import checks
from ..errors import ProRandConvError
from .cases import COMPONENTS, ORIGINAL, REPEATS, Case, cases, stressed
from .shifts import STRENGTHS


@dataclass(frozen=True)
class Robustness:
    """Predictions of a network on changed images. All accuracies are in per cent."""

    labels: Tensor
    """the right classes, int64 ``(N,)``"""
    predicted: Mapping[Case, Tensor]
    """the network's, for each case"""
    draws: int
    """how many draws of Pro-RandConv there were"""
    seed: int
    """of the first draw"""

    def accuracy(self, case: Case) -> float:
        """Accuracy in one case."""
        return 100 * float((self.predicted[case] == self.labels).double().mean())

    @property
    def repeats(self) -> dict[int, float]:
        """Accuracy by the number L of repetitions, the mean over draws; 0 are the originals."""
        counts = range(1, REPEATS + 1)
        return {0: self.accuracy(ORIGINAL)} | {c: self._mean("repeats", str(c)) for c in counts}

    @property
    def components(self) -> dict[str, float]:
        """Accuracy by the parts of the block that are on, the mean over draws."""
        return {name: self._mean("components", name) for name in COMPONENTS}

    @property
    def shifts(self) -> dict[str, tuple[float, ...]]:
        """Accuracy by family of shifts: weak, medium and strong."""
        return {
            name: tuple(self.accuracy(Case("shifts", name, i)) for i in range(len(strengths)))
            for name, strengths in STRENGTHS.items()
        }

    @property
    def averages(self) -> dict[str, float]:
        """One figure each: originals, L = 1 to 10, and all shifts."""
        original, *repeated = self.repeats.values()
        shifted = [value for own in self.shifts.values() for value in own]
        return {"original": original, "repeats": _mean(repeated), "shifts": _mean(shifted)}

    def to_mapping(self) -> dict[str, Any]:
        """Everything but the single predictions, as plain values for JSON."""
        return {
            "images": len(self.labels),
            "draws": self.draws,
            "seed": self.seed,
            "averages": self.averages,
            "repeats": {str(count): value for count, value in self.repeats.items()},
            "components": self.components,
            "shifts": {
                name: {"strengths": list(STRENGTHS[name]), "accuracy": list(own)}
                for name, own in self.shifts.items()
            },
        }

    def __str__(self) -> str:
        """Tables of at most 80 columns."""
        averages, (_, *repeated) = self.averages, self.repeats.values()
        draws = f"{self.draws} draw{'s' if self.draws > 1 else ''}"
        return "\n".join(
            [
                f"accuracy in %, {len(self.labels):,} images",
                _line("original", [averages["original"]]),
                "",
                f"Pro-RandConv, L repetitions, mean of {draws}",
                _line("  L", range(1, REPEATS + 1), width=8),
                _line("", repeated, width=8),
                _line("  average", [averages["repeats"]]),
                "",
                f"parts of its block that are on, mean of {draws}",
                *(_line(f"  {name}", [value]) for name, value in self.components.items()),
                "",
                _line("shifts", ["weak", "medium", "strong"]),
                *(_line(f"  {name}", own) for name, own in self.shifts.items()),
                _line("  average", [averages["shifts"]]),
            ]
        )

    def _mean(self, kind: Literal["repeats", "components"], name: str) -> float:
        return _mean([self.accuracy(Case(kind, name, draw)) for draw in range(self.draws)])


def stress(
    network: nn.Module | Callable[[Tensor], Tensor],
    loader: Iterable[tuple[Tensor, Tensor]],
    *,
    mean: float | Sequence[float],
    std: float | Sequence[float],
    draws: int = 5,
    seed: int = 0,
    device: torch.device | str | None = None,
    progress: Callable[[int], None] = lambda images: None,
) -> Robustness:
    """Measure a classifier on images under Pro-RandConv and under shifts.

    Every network sees the same images: the draws are those of the seeds ``seed``,
    ``seed + 1`` and so on, whatever the size of batches, and noise depends on an image's position
    in the loader alone. So networks can be compared, if the loader keeps its order, also those of
    another normalisation: the block works on pixels in [-1, 1], and the result is normalised as the
    images were. Nothing is drawn from torch's global generators.

    Args:
        network: takes normalised images ``(N, C, H, W)`` and returns logits ``(N, classes)``. A
            module is in evaluation mode meanwhile, and in its own mode afterwards.
        loader: yields images of one or three channels, normalised, and their classes ``(N,)``.
        mean: of the normalisation that the images went through, a number or one per channel.
        std: likewise.
        draws: how many draws of Pro-RandConv; accuracies are means over them.
        seed: of the first draw.
        device: where images go; by default to the network's parameters.
        progress: called with the number of images just classified; altogether, each image is
            classified ``len(cases(draws))`` times.

    Example:
        >>> def is_bright(x):
        ...     share = (x.mean((1, 2, 3)) + 1) / 2
        ...     return torch.stack((1 - share, share), 1)
        >>> x = torch.tensor([-0.5, 0.5]).view(2, 1, 1, 1).expand(2, 3, 8, 8)
        >>> result = stress(is_bright, [(x, torch.tensor([0, 1]))], mean=0.5, std=0.5)
        >>> result.repeats[0], result.shifts["invert"]
        (100.0, (100.0, 0.0, 0.0))
    """
    checks.integer("draws", draws)
    checks.integer("seed", seed, None)
    means, stds = (
        checks.normalisation(name, checks.to_python(value))
        for name, value in (("mean", mean), ("std", std))
    )
    place = _device_of(network) if device is None else torch.device(device)
    labels: list[Tensor] = []
    predicted: dict[Case, list[Tensor]] = {case: [] for case in cases(draws)}
    count = 0
    with torch.inference_mode(), _evaluating(network):
        for x, y in _checked(loader):
            x = x if place is None else x.to(place)
            index = torch.arange(count, count + len(x))
            for case, images in stressed(x, index, mean=means, std=stds, draws=draws, seed=seed):
                logits = network(images)
                _check_logits(logits, y)
                predicted[case].append(logits.argmax(1).cpu())
                progress(len(x))
            labels.append(y.cpu())
            count += len(x)
    if not count:
        raise ProRandConvError.about("loader", "no images", "batches of images and their classes")
    found = {case: torch.cat(parts) for case, parts in predicted.items()}
    return Robustness(torch.cat(labels), found, draws, seed)


@contextmanager
def _evaluating(network: object) -> Iterator[None]:
    """A module in evaluation mode; each of its modules gets its own mode back."""
    modules = list(network.modules()) if isinstance(network, nn.Module) else []
    modes = [(module, module.training) for module in modules if hasattr(module, "training")]
    try:
        if isinstance(network, nn.Module):
            # A program of torch.export has the mode it was exported in, and no other.
            with suppress(NotImplementedError):
                network.eval()
        yield
    finally:
        for module, training in modes:
            module.training = training


def _device_of(network: object) -> torch.device | None:
    """Where a module's parameters are; None for a function, or a module without any."""
    if not isinstance(network, nn.Module):
        return None
    tensors = (tensor for part in (network.parameters(), network.buffers()) for tensor in part)
    return next((tensor.device for tensor in tensors), None)


def _checked(loader: Iterable[Any]) -> Iterator[tuple[Tensor, Tensor]]:
    """Batches of a loader, once they are known to be images and classes."""
    for batch in loader:
        if not isinstance(batch, list | tuple) or len(batch) != 2:
            kind = type(batch).__name__
            raise ProRandConvError.about("loader", kind, "batches (images, labels)")
        x, y = batch
        if not isinstance(x, Tensor) or x.dim() != 4 or x.shape[1] not in (1, 3):
            got = tuple(x.shape) if isinstance(x, Tensor) else type(x).__name__
            raise ProRandConvError.about("loader", got, "images (N, 1 or 3, H, W)")
        checks.images(x)
        integers = isinstance(y, Tensor) and not (y.is_floating_point() or y.is_complex())
        if not integers or y.shape != x.shape[:1]:
            labels = (tuple(y.shape), y.dtype) if isinstance(y, Tensor) else type(y).__name__
            raise ProRandConvError.about("loader", labels, f"integer labels ({len(x)},)")
        if len(x):
            yield x, y


def _check_logits(logits: object, labels: Tensor) -> None:
    if not isinstance(logits, Tensor) or logits.dim() != 2 or len(logits) != len(labels):
        got = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
        raise ProRandConvError.about(
            "network",
            f"an output {got}",
            f"logits ({len(labels)}, classes); wrap it in a function that returns them",
        )
    if logits.isnan().any():
        raise ProRandConvError.about("network", "logits that are NaN", "numbers")
    low, high = int(labels.min()), int(labels.max())
    if low < 0 or high >= logits.shape[1]:
        raise ProRandConvError.about(
            "loader",
            f"labels from {low} to {high}",
            f"from 0 to {logits.shape[1] - 1}: the network has {logits.shape[1]} outputs",
        )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _line(name: str, values: Iterable[object], width: int = 34) -> str:
    cells = (f"{value:.1f}" if isinstance(value, float) else str(value) for value in values)
    return f"{name:{width}}" + "".join(f"{cell:>6} " for cell in cells).rstrip()
