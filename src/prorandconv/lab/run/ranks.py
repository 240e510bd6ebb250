"""The processes that train together, as one of them sees the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
import torch.distributed
from torch import Tensor, nn

from ..fabric import Fabric

T = TypeVar("T")


class Ranks:
    """What processes have to agree on; with one process, everything is as it is here.

    Args:
        device: what this process computes on.
        own: the number of this process, from 0.
        count: how many processes there are.
    """

    def __init__(self, device: torch.device, own: int = 0, count: int = 1) -> None:
        self.device, self.own, self.count = device, own, count
        self.first = own == 0
        """whether this process is the one that measures and writes"""

    @classmethod
    def of(cls, fabric: Fabric) -> Ranks:
        """The processes that a fabric connects."""
        return cls(fabric.device, fabric.global_rank, fabric.world_size)

    def summed(self, values: Sequence[float]) -> list[float]:
        """The sums of some numbers over all processes."""
        if self.count == 1:
            return list(values)
        total = torch.tensor(values, dtype=torch.float64, device=self.device)
        torch.distributed.all_reduce(total)
        found: list[float] = total.tolist()
        return found

    def first_says(self, question: Callable[[], T]) -> T:
        """The answer of the first process; the others wait for it."""
        answer = [question() if self.first else None]
        if self.count > 1:
            torch.distributed.broadcast_object_list(answer, device=self.device)
        return answer[0]  # type: ignore[return-value]

    def all_say(self, own: T) -> list[T]:
        """The values of all processes, by rank."""
        everyone: list[Any] = [own]
        if self.count > 1:
            everyone = [None] * self.count
            torch.distributed.all_gather_object(everyone, own)
        return everyone

    def gather(self, tensor: Tensor) -> Tensor:
        """The tensors of all processes, of one shape, joined along the first dimension."""
        if self.count == 1:
            return tensor
        parts = [torch.empty_like(tensor) for _ in range(self.count)]
        torch.distributed.all_gather(parts, tensor.contiguous())
        return torch.cat(parts)

    def mean_gradients(
        self, parameters: Sequence[Tensor], gradients: Sequence[Tensor | None]
    ) -> list[Tensor | None]:
        """Gradients averaged over all processes; None where no process has one."""
        if self.count == 1:
            return list(gradients)
        pairs = list(zip(parameters, gradients, strict=True))
        present = torch.tensor([float(one is not None) for one in gradients], device=self.device)
        parts = [(torch.zeros_like(p) if g is None else g).reshape(-1) for p, g in pairs]
        flat = torch.cat([*parts, present])
        torch.distributed.all_reduce(flat)
        *sums, counts = torch.split(flat, [*(len(part) for part in parts), len(present)])
        return [
            (total / self.count).view_as(parameter) if count else None
            for parameter, total, count in zip(parameters, sums, counts.tolist(), strict=True)
        ]

    def share_buffers(self, module: nn.Module) -> None:
        """Give all processes the first one's buffers, such as statistics of batch normalisation."""
        if self.count == 1:
            return
        kinds: dict[torch.dtype, list[Tensor]] = {}
        for buffer in module.buffers():
            kinds.setdefault(buffer.dtype, []).append(buffer)
        for buffers in kinds.values():
            flat = torch.cat([buffer.reshape(-1) for buffer in buffers])
            torch.distributed.broadcast(flat, 0)
            parts = torch.split(flat, [buffer.numel() for buffer in buffers])
            for buffer, part in zip(buffers, parts, strict=True):
                buffer.copy_(part.view_as(buffer))
