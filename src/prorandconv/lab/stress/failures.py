"""A sheet of the pictures that a model fails on."""

from __future__ import annotations

import torch
from PIL import Image
from torch import Tensor

from ...stress import Robustness
from ...stress.cases import ORIGINAL, Case, stressed
from ...stress.shifts import FAMILIES
from ..data import Images
from ..data.pixels import normalise
from ..gallery.sheet import Row, Sheet
from ..methods.pixels import to_pixels
from ..pictures import even

PER_ROW = 8
TILE = 128
LONGEST = 7
"""Letters of a class in a caption."""

ROWS = {
    "original": ORIGINAL,
    **{f"L = {count}": Case("repeats", str(count)) for count in (1, 4, 10)},
    **{f"{family}, medium": Case("shifts", family, 1) for family in FAMILIES},
}


def failures(found: Robustness, images: Images, title: str, margin: str) -> Image.Image | None:
    """Rows of pictures with their class and what they were taken for; None if there are none.

    Originals first; below them, pictures whose originals were known.

    Args:
        found: what the model took the images for.
        images: the same images.
        title: above the sheet.
        margin: below it, such as the command that makes it again.
    """
    chosen = {name: _chosen(found, case) for name, case in ROWS.items()}
    index = torch.unique(torch.cat(list(chosen.values())))
    if not len(index):
        return None
    form = images.format
    (stored,) = images.stored([index])
    x = normalise(stored, form.mean, form.std)
    made = stressed(x, index, mean=form.mean, std=form.std, draws=1, seed=found.seed)
    wanted = set(ROWS.values())
    changed = {case: batch for case, batch in made if case in wanted}
    rows = []
    for name, own in chosen.items():
        if len(own):
            batch = changed[ROWS[name]][torch.searchsorted(index, own)]
            taken_for = found.predicted[ROWS[name]][own]
            pairs = zip(found.labels[own].tolist(), taken_for.tolist(), strict=True)
            captions = [f"{_short(images, a)} › {_short(images, b)}" for a, b in pairs]
            rows.append(Row(name, [_picture(one, images) for one in batch], captions))
    notes = [
        'class › what it was taken for; in all rows but "original", the unchanged picture was known'
    ]
    return Sheet(title, rows, notes).drawn(margin)


def _chosen(found: Robustness, case: Case) -> Tensor:
    """Positions of images to show, at even distances among those that were not known."""
    wrong = found.predicted[case] != found.labels
    if case != ORIGINAL:
        wrong &= found.predicted[ORIGINAL] == found.labels
    positions = wrong.nonzero().squeeze(1)
    return positions[even(len(positions), PER_ROW)]


def _picture(image: Tensor, images: Images) -> Image.Image:
    pixels = to_pixels(image[None], images.format)[0]
    way = Image.Resampling.NEAREST if image.shape[-1] < TILE else Image.Resampling.BOX
    return Image.fromarray(pixels.permute(1, 2, 0).numpy()).resize((TILE, TILE), way)


def _short(images: Images, label: int) -> str:
    name = images.classes[label]
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
