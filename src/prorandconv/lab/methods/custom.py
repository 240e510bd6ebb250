"""A method of the user's own: any function or class that can be imported."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass, field, fields, make_dataclass
from typing import Any, get_type_hints

from torch import nn

from ...errors import ProRandConvError
from ..models import importable
from .contract import Method
from .learner import Learner, Loss, OneLoss, RunInfo

ARGUMENTS = 4
FUNCTION = "a function (network, images, labels, generator, *, options) -> loss, or a Method"


@dataclass(frozen=True)
class CustomMethod(Method):
    """The loss is a function (network, images, labels, generator, *, options) -> loss."""

    def learner(self, network: nn.Module, info: RunInfo) -> Learner:
        """The function with its options, as the one loss."""
        function: Loss = importable("method", type(self).__name__)
        return OneLoss(network, functools.partial(function, **self._options()))

    def _options(self) -> dict[str, Any]:
        return {option.name: getattr(self, option.name) for option in fields(self)}

    def __reduce__(self) -> tuple[Any, ...]:
        # The class is made on demand: another process has to make it again.
        return _with_options, (type(self).__name__, self._options())


def custom_method(name: str) -> type[Method]:
    """A method of the function ``package.module:function``; or the class of that name itself.

    Keyword-only parameters of the function, which need a default, are the options.
    """
    found = importable("method", name)
    if isinstance(found, type) and issubclass(found, Method):
        return found
    if not callable(found):
        raise ProRandConvError.about("method", name, FUNCTION)
    try:
        signature = inspect.signature(found)
        signature.bind(*range(ARGUMENTS))
    except (TypeError, ValueError) as error:
        raise ProRandConvError.about("method", name, f"{FUNCTION} ({error})") from error
    hints = get_type_hints(found)
    options: list[Any] = []
    for option in signature.parameters.values():
        if option.kind is inspect.Parameter.KEYWORD_ONLY:
            kind = hints.get(option.name, type(option.default))
            options.append((option.name, kind, field(default=option.default)))
    return make_dataclass(name, options, bases=(CustomMethod,), frozen=True)


def _with_options(name: str, options: dict[str, Any]) -> Method:
    return custom_method(name)(**options)
