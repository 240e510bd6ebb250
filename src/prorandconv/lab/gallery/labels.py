"""Labels that stay while the picture moves, and labels that move with it."""

from __future__ import annotations

from dataclasses import replace

import torch
import torch.nn.functional as F
from PIL import Image
from torch import Tensor
from torchvision.transforms.v2 import functional as tvf

from ... import ProRandConv
from ...functional import warp_labels
from .picture import shown
from .sheet import Row, Sheet

REPEATS = 10
"""As many as there are: displacements add up."""
DRAWS = 3
SCALE = 1.0
"""σ_Δ in pixels: twice the paper's largest for photos, so that one sees it at this size."""
OUTLINE = (255, 0, 200)


def labels(image: Tensor, seed: int) -> Sheet:
    """Outlines of the labels on the augmented picture: fixed, moved, and with shared offsets."""
    classes = shades(image)
    augment = ProRandConv(repeats=REPEATS, offsets=(SCALE, SCALE))
    shared = ProRandConv(repeats=REPEATS, offsets=(SCALE, SCALE), shared_offsets=True)
    generator = torch.Generator().manual_seed(seed)
    rows = []
    for number in range(DRAWS):
        draw = augment.draw(image, generator)
        bent = shared.draw(image, torch.Generator().manual_seed(seed + number))
        bent = replace(bent, weight=draw.weight, gamma=draw.gamma, beta=draw.beta)
        own, whole = augment(image, draw=draw), shared(image, draw=bent)
        pictures = {
            "original": outlined(image, classes),
            "labels fixed": outlined(own, classes),
            "labels moved": outlined(own, warp_labels(classes, draw)),
            "shared, fixed": outlined(whole, classes),
            "shared, moved": outlined(whole, warp_labels(classes, bent)),
        }
        captions = () if number else tuple(pictures)
        rows.append(Row(f"draw {number}\nL = {REPEATS}", list(pictures.values()), captions))
    notes = [
        "The labels are the dark and the bright half of the original; lines are their borders. "
        "With one field of offsets per tap, as in the paper, labels move by the mean over the "
        "taps; with shared offsets, by the field itself. Kernel, γ and β of a row are the same. "
        f"σ_Δ = {SCALE:g}, twice the paper's largest, so that one sees it."
    ]
    return Sheet("Labels that stay, and labels that move", rows, notes)


def shades(image: Tensor) -> Tensor:
    """Labels ``(H, W)`` for a picture that has none: its dark half is 0, its bright half 1."""
    grey: Tensor = tvf.gaussian_blur(image, [9, 9], [2.0, 2.0]).mean(0)
    return (grey > grey.median()).byte()


def outlined(image: Tensor, classes: Tensor) -> Image.Image:
    """The picture with lines where the class changes."""
    padded = F.pad(classes[None].float(), (0, 1, 0, 1), mode="replicate")[0]
    border = (padded[1:, :-1] != classes) | (padded[:-1, 1:] != classes)
    pixels = torch.tensor(OUTLINE)[:, None, None] / 127.5 - 1
    return shown(torch.where(border, pixels, image))
