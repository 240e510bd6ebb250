"""What must not depend on the mode that torch happens to be in: cached tensors, and precision."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

import torch
from torch import Tensor
from torch.utils._python_dispatch import is_in_torch_dispatch_mode

Built = TypeVar("Built", Tensor, tuple[Tensor, ...])


def cached(maxsize: int) -> Callable[[Callable[..., Built]], Callable[..., Built]]:
    """``functools.lru_cache`` for functions that make constant tensors of plain arguments.

    What is kept is made outside ``inference_mode``, whose tensors autograd refuses for ever. Under
    a fake mode, where tensors have no values, and in compiled graphs, which keep their constants
    anyway, nothing is kept or taken from the cache.
    """

    def decorate(build: Callable[..., Built]) -> Callable[..., Built]:
        keep = functools.lru_cache(maxsize)(build)

        @functools.wraps(build)
        def built(*arguments: Hashable) -> Built:
            if torch.compiler.is_compiling() or type(torch.empty(0)) is not Tensor:
                return build(*arguments)
            if not torch.is_inference_mode_enabled():
                return keep(*arguments)
            with torch.inference_mode(False):
                return keep(*arguments)

        return built

    return decorate


def without_autocast(device: torch.device) -> AbstractContextManager[object]:
    """Compute as it is written: under autocast, products of matrices would have few bits."""
    kind = device.type
    enabled = torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)
    return torch.autocast(kind, enabled=False) if enabled else nullcontext()


def outside_inference_mode() -> AbstractContextManager[object]:
    """Make what autograd can use later: it cannot use tensors made in inference mode."""
    if torch.compiler.is_compiling() or not torch.is_inference_mode_enabled():
        return nullcontext()
    return torch.inference_mode(False)


def is_recorded() -> bool:
    """Whether operators are traced, transformed or watched instead of just computed."""
    return (
        is_traced()
        or torch.jit.is_tracing()  # type: ignore[attr-defined, no-untyped-call]
        or is_in_torch_dispatch_mode()
        or is_in_functorch()
    )


def is_traced() -> bool:
    """Whether tensors stand for others, so that their values must not be read."""
    proxies = torch._C._TorchDispatchModeKey.PROXY
    return torch.compiler.is_compiling() or torch._C._get_dispatch_mode(proxies) is not None


def readable(tensor: Tensor) -> bool:
    """Whether there are values, and reading them costs no synchronisation."""
    plain = type(tensor) in (Tensor, torch.nn.Parameter) and not is_traced()
    return plain and tensor.device.type == "cpu"


def is_in_functorch() -> bool:
    """Whether a transform of torch.func is at work, such as vmap."""
    return torch._C._functorch.peek_interpreter_stack() is not None
