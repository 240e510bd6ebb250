"""A method of the user's own: any function that can be imported."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass, field, fields, make_dataclass
from typing import TYPE_CHECKING, Any, get_type_hints

from ...errors import ProRandConvError
from ..models import importable
from .contract import Loss, Method

if TYPE_CHECKING:
    from ..data import ImageFormat


@dataclass(frozen=True)
class OwnFunction(Method):
    """The loss is a function (network, images, labels, generator, *, options) -> loss."""

    def loss(self, format: ImageFormat) -> Loss:
        """The function with its options."""
        function: Loss = importable("method", type(self).__name__)
        options = {option.name: getattr(self, option.name) for option in fields(self)}
        return functools.partial(function, **options)


def own_method(name: str) -> type[Method]:
    """A method of the function ``package.module:function``; or the class of that name itself.

    Keyword-only parameters of the function, which need a type and a default, are the options.
    """
    found = importable("method", name)
    if isinstance(found, type) and issubclass(found, Method):
        return found
    if not callable(found):
        raise ProRandConvError.about(
            "method", name, "a function (network, images, labels, generator) -> loss, or a Method"
        )
    hints = get_type_hints(found)
    options: list[Any] = []
    for option in inspect.signature(found).parameters.values():
        if option.kind is not inspect.Parameter.KEYWORD_ONLY:
            continue
        if option.default is inspect.Parameter.empty:
            raise ProRandConvError.about("method", name, f"a default for its {option.name!r}")
        kind = hints.get(option.name, type(option.default))
        options.append((option.name, kind, field(default=option.default)))
    return make_dataclass(name, options, bases=(OwnFunction,), frozen=True)
