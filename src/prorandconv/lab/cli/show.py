"""The command that turns results into tables, plots and a page."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console

from ...errors import ProRandConvError
from ..options import OrDefault


@dataclass(frozen=True)
class Report:
    """Turn result directories into tables (terminal, Markdown, CSV, LaTeX), plots and a page."""

    directory: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="DIR")]
    """a folder with studies or runs in it, at any depth"""
    output: OrDefault[Path] = None
    """folder to write to (default: report, in the directory)"""
    full: bool = False
    """print intervals, the paper's figures and gains too; the files always have them"""
    samples: bool = True
    """show images of the data sets; without them, a report goes where the images may not"""
    data_root: OrDefault[Path] = None
    """folder of data sets, for sample images (default: the runs')"""

    index: OrDefault[Path] = None
    """write no report, but into this Markdown file a table of the paper's tables and their state"""

    def run(self, out: Console) -> int:
        """Print the tables and write everything."""
        if self.index is not None:
            from ..report.summary import write_index

            write_index(self.directory, self.index)
            out.print(str(self.index), soft_wrap=True)
            return 0
        from ..report.formats import print_tables
        from ..report.page import write_report

        output = self.output or self.directory / "report"
        sections = write_report(
            self.directory, output, samples=self.samples, data_root=self.data_root
        )
        for section in sections:
            print_tables(out, (shown.table for shown in section.tables), full=self.full)
            if section.verdict:
                out.print(section.verdict)
            for line in section.study.problems:
                out.print(line, soft_wrap=True)
        out.print(str(output / "index.html"), soft_wrap=True)
        return 0


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
        from ..sheets import read_picture

        for picture, targets in paths.items():
            image = read_picture(picture, self.size)
            sheet = FIGURES[self.figure](image, self.seed).drawn(self._command(picture))
            for path in targets:
                with replacing(path) as temporary:
                    sheet.save(temporary, quality=78, method=6)  # of WebP; PNG has no such options
                out.print(str(path), soft_wrap=True)
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


@dataclass(frozen=True)
class Playground:
    """Open the playground in the browser: one picture, every setting, computed in the page."""

    port: int = 8642
    """of 127.0.0.1; 0 takes any free one"""
    open: bool = True
    """open the browser; --no-open prints the address only"""

    def run(self, out: Console) -> int:
        """Serve until interrupted."""
        import webbrowser

        from ...play import server

        with server(self.port) as playground:
            address = f"http://127.0.0.1:{playground.server_port}/"
            out.print(f"{address} (Ctrl+C ends it)")
            if self.open:
                webbrowser.open(address)
            try:
                playground.serve_forever()
            except KeyboardInterrupt:
                out.print("ended")
        return 0


@dataclass(frozen=True)
class Quickstart:
    """Train ERM and Pro-RandConv on digits-mini and show both on four unseen domains (minutes)."""

    output: Path = Path("quickstart")
    """folder for the table, the plot, the sheet of augmented digits, and the runs"""
    epochs: int = 12
    """number of epochs of each run"""
    seeds: tuple[int, ...] = (0,)
    """a pair of runs for each seed; figures are means"""

    def run(self, out: Console) -> int:
        """Train, print and write."""
        from ..quickstart import quickstart

        return quickstart(out, self.output, epochs=self.epochs, seeds=self.seeds)
