"""Progressive Random Convolutions: an augmentation for models that must survive new domains."""

from . import functional
from .errors import ProRandConvError
from .fields import gaussian_random_field
from .ops import engines
from .params import ProRandConvParams, RandConvParams
from .selection import select
from .transforms import ProRandConv, RandConv

__version__ = "0.1.0"

__all__ = [
    "ProRandConv",
    "ProRandConvError",
    "ProRandConvParams",
    "RandConv",
    "RandConvParams",
    "__version__",
    "engines",
    "functional",
    "gaussian_random_field",
    "select",
]
