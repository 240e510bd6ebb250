"""The methods of the paper's tables, others of the literature, and whatever a user brings."""

from __future__ import annotations

from ...lazy import named
from ..errors import unknown_name
from .contract import EARLIER_DEFAULT, Method

METHODS = {
    "erm": "contract:ERM",
    "randconv": "randconv:RandConvMethod",
    "progressive": "pro_randconv:Progressive",
    "pro-randconv": "pro_randconv:ProRandConvMethod",
    "ours-a": "pro_randconv:OursA",
    "ours-b": "pro_randconv:OursB",
    "ours-c": "pro_randconv:OursC",
    "ours-d": "pro_randconv:OursD",
    "ours-move": "pro_randconv:OursMove",
    "ours-shared": "pro_randconv:OursShared",
    "color-jitter": "traditional:ColorJitter",
    "grayscale": "traditional:Grayscale",
    "perspective": "traditional:Perspective",
    "rotate": "traditional:Rotate",
    "autoaugment": "traditional:AutoAugment",
    "randaugment": "traditional:RandAugment",
    "augmix": "augmix:AugMix",
    "mixstyle": "mixstyle:MixStyle",
    "efdmix": "efdmix:EFDMix",
    "dsu": "dsu:DSU",
    "rsc": "rsc:RSC",
    "ada": "ada:ADA",
    "me-ada": "ada:MEADA",
    "m-ada": "m_ada:MADA",
    "l2d": "l2d:L2D",
    "jigen": "jigen:JiGen",
    "sagnet": "sagnet:SagNet",
    "fact": "fact:FACT",
    "pden": "pden:PDEN",
    "alt": "alt:ALT",
    "advst": "advst:AdvST",
    "aaua": "aaua:AAUA",
    "ibn": "whitening:IBNNet",
    "iternorm": "whitening:IterNormNet",
    "sw": "whitening:SWNet",
    "isw": "whitening:ISW",
}
"""Where each method is: a module beside this one, and the class in it."""

__all__ = ["EARLIER_DEFAULT", "METHODS", "Method", "method_class"]


def method_class(name: str) -> type[Method]:
    """A method by its name, or by ``package.module:function``.

    Example:
        >>> method_class("pro-randconv")().max_repeats
        10
    """
    if name in METHODS:
        found: type[Method] = named(METHODS[name], __name__)
        return found
    if ":" in name:
        from .custom import custom_method  # only here: it waits for torch

        return custom_method(name)
    raise unknown_name("method", name, METHODS, also=", or package.module:function")
