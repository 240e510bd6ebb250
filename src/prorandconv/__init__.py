"""Progressive Random Convolutions: an augmentation for models that must survive new domains."""

from typing import TYPE_CHECKING

from .errors import ProRandConvError

if TYPE_CHECKING:
    from . import functional
    from .fields import gaussian_random_field
    from .ops import engines
    from .params import ProRandConvParams, RandConvParams
    from .robustness import Robustness, stress
    from .selection import select
    from .transforms import ProRandConv, RandConv
else:
    from .lazy import on_first_use

    __getattr__, __dir__ = on_first_use(
        __name__,
        {
            "ProRandConv": "transforms",
            "ProRandConvParams": "params",
            "RandConv": "transforms",
            "RandConvParams": "params",
            "Robustness": "robustness",
            "engines": "ops",
            "functional": "functional",
            "gaussian_random_field": "fields",
            "select": "selection",
            "stress": "robustness",
        },
    )

__version__ = "0.1.0"

__all__ = [
    "ProRandConv",
    "ProRandConvError",
    "ProRandConvParams",
    "RandConv",
    "RandConvParams",
    "Robustness",
    "__version__",
    "engines",
    "functional",
    "gaussian_random_field",
    "select",
    "stress",
]
