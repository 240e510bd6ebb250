"""The command that shows on a picture what the augmentation does."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console

from ...errors import ProRandConvError

SUFFIXES = (".png", ".webp")


@dataclass(frozen=True)
class Gallery:
    """Show on a picture what the augmentation does: sheets at twice the pixels, PNG and WebP.

    The columns of a row share their random numbers, so that a row shows its parameter and nothing
    else. Rows are the first draws of the seed. The command is in the margin.
    """

    pictures: Annotated[
        tyro.conf.Positional[tuple[Path, ...]],
        tyro.conf.arg(metavar="PICTURE ...", help_behavior_hint="(required)"),
    ]
    """image files; of each, the middle square is taken"""
    figure: Literal[
        "overview", "steps", "contrast", "smoothing", "offsets", "receptive", "labels", "draws"
    ] = "overview"
    """Fig. 2; one repetition by its steps; Fig. 7 (a) to (c), (d), (e) and (f);
    receptive fields by gradients; labels that move; random draws"""
    seed: int = 0
    """another seed has other draws"""
    size: int = 160
    """side of the pictures in pixels, at which the augmentation works and they are drawn"""
    output: Path = Path("gallery")
    """a folder for PICTURE-FIGURE.png and .webp, or, for one picture, a file of either kind"""

    def run(self, out: Console) -> int:
        """Draw and write the sheets."""
        paths = self._paths()
        if self.size < 32:
            raise ProRandConvError.about("--size", self.size, "32 pixels or more")
        from ..files import replacing
        from ..gallery import FIGURES
        from ..gallery.picture import read_picture

        for picture, targets in paths.items():
            image = read_picture(picture, self.size)
            sheet = FIGURES[self.figure](image, self.seed).drawn(self._command(picture))
            for path in targets:
                with replacing(path) as temporary:
                    sheet.save(temporary, quality=78, method=6)  # of WebP; PNG has no such options
                out.print(str(path), highlight=False, soft_wrap=True)
        return 0

    def _paths(self) -> dict[Path, list[Path]]:
        """Where the sheets of each picture go."""
        if not self.pictures:
            raise ProRandConvError.about("PICTURE", "none", "one image file or more")
        if self.output.suffix.lower() in SUFFIXES:
            if len(self.pictures) > 1:
                raise ProRandConvError.about(
                    "--output", self.output, f"a folder, for {len(self.pictures)} pictures"
                )
            return {self.pictures[0]: [self.output]}
        names = [picture.stem for picture in self.pictures]
        if len(set(names)) < len(names):
            raise ProRandConvError.about("PICTURE", names, "files of different names")
        return {
            picture: [self.output / f"{picture.stem}-{self.figure}{end}" for end in SUFFIXES]
            for picture in self.pictures
        }

    def _command(self, picture: Path) -> str:
        """What makes the sheet again."""
        return (
            f"prorandconv gallery {shlex.quote(str(picture))} --figure {self.figure} "
            f"--seed {self.seed} --size {self.size}"
        )
