"""The command that turns results into tables, plots and a page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

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
            from ..report.index import write_index

            write_index(self.directory, self.index)
            out.print(str(self.index), highlight=False, soft_wrap=True)
            return 0
        from ..report.formats.terminal import print_tables
        from ..report.write import write_report

        output = self.output or self.directory / "report"
        sections = write_report(
            self.directory, output, samples=self.samples, data_root=self.data_root
        )
        for section in sections:
            print_tables(out, (shown.table for shown in section.tables), full=self.full)
            if section.verdict:
                out.print(section.verdict, highlight=False, markup=False)
            for line in section.study.problems:
                out.print(line, highlight=False, soft_wrap=True)
        out.print(str(output / "index.html"), highlight=False, soft_wrap=True)
        return 0
