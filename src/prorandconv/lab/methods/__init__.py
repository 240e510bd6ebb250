"""The methods of the paper's tables, one file each, and whatever a user brings."""

from __future__ import annotations

from importlib import import_module

from ..errors import unknown_name
from .contract import Loss, Method
from .custom import own_method

METHODS = {
    "erm": "erm:ERM",
    "randconv": "randconv:RandConvMethod",
    "progressive": "progressive:Progressive",
    "pro-randconv": "pro_randconv:ProRandConvMethod",
    "color-jitter": "color_jitter:ColorJitter",
    "grayscale": "grayscale:Grayscale",
    "perspective": "perspective:Perspective",
    "rotate": "rotate:Rotate",
    "autoaugment": "autoaugment:AutoAugment",
    "randaugment": "randaugment:RandAugment",
}
"""Where each method is: a module beside this one, and the class in it."""

__all__ = ["METHODS", "Loss", "Method", "method_class"]


def method_class(name: str) -> type[Method]:
    """A method by its name, or by ``package.module:function``.

    Example:
        >>> method_class("pro-randconv")().max_repeats
        10
    """
    if name in METHODS:
        module, _, attribute = METHODS[name].partition(":")
        found: type[Method] = getattr(import_module(f".{module}", __package__), attribute)
        return found
    if ":" in name:
        return own_method(name)
    raise unknown_name("method", name, METHODS, also=", or package.module:function")
