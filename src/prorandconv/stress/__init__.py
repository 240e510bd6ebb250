"""How robust any classifier is: ``prorandconv.stress(network, loader, mean=..., std=...)``.

The package can be called: it is the function :func:`prorandconv.stress.robustness.stress`.
"""

import sys
from types import ModuleType
from typing import Any

from .robustness import Robustness, stress

__all__ = ["Robustness", "stress"]


class _CallablePackage(ModuleType):
    def __call__(self, *arguments: Any, **options: Any) -> Robustness:
        return stress(*arguments, **options)


sys.modules[__name__].__class__ = _CallablePackage
