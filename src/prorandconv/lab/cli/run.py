"""Commands on the network of a run: evaluate, predict, export."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro
from rich.console import Console

from ...errors import ProRandConvError
from ..options import OrDefault
from ..study.table import mean_of_all

if TYPE_CHECKING:  # commands import what they call when they run: --help must not wait for torch
    from ..paper import PaperRow
    from ..report.grid import Grid, Line
    from ..run.predict import Prediction, SegmentedFile
    from ..run.trained import Trained

Run = Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
"""The directory of a run: ``runs/<benchmark>/<method>/<source>/<hash>``."""


@dataclass(frozen=True)
class Loading:
    """Which network of a run is loaded, and how."""

    which: Literal["best", "last"] = "best"
    """the weights that the run has selected, or the last ones"""
    trust_code: bool = False
    """import a method or network that the run's config.json names as package.module:function"""

    def load(self, run: Path, accelerator: str, data_root: Path | None = None) -> Trained:
        """The network of a run's directory."""
        from ..run.trained import load_trained

        return load_trained(
            run,
            self.which,
            data_root=data_root,
            accelerator=accelerator,
            trust_code=self.trust_code,
        )


LoadingOptions = Annotated[Loading, tyro.conf.arg(name="")]


@dataclass(frozen=True)
class Evaluate:
    """Measure a run's network on every target that is present, in the run's numeric precision."""

    run_directory: Run
    """the run's directory: runs/<benchmark>/<method>/<source>/<hash>"""
    loading: LoadingOptions = field(default_factory=Loading)
    data_root: OrDefault[Path] = None
    """folder of data sets (default: the run's)"""
    accelerator: str = "auto"
    """auto, cpu, cuda or mps"""
    json: bool = False
    """print everything as JSON, confusion counts included"""

    def run(self, out: Console) -> int:
        """Measure and print."""
        from ..paper import paper_row
        from ..report.formats import print_grid

        trained = self.loading.load(self.run_directory, self.accelerator, self.data_root)
        found = {name: one.to_mapping() for name, one in trained.evaluate().items()}
        if self.json:
            print(json.dumps(found))
            return 0
        result = {
            "config": trained.config.to_mapping(),
            "averaged": [name for name in trained.benchmark.domains if name in found],
            "absent": [n for n in trained.benchmark.missing() if n not in trained.config.source],
            self.loading.which: {"targets": found},
        }
        print_grid(out, targets_grid(result, paper_row(trained.config)))
        return 0


@dataclass(frozen=True)
class Predict:
    """Classify images with a run's network, or segment them if the run has that task.

    Segmented images are written to --output: NAME-labels.png, whose pixels are the numbers of
    classes, and NAME-overlay.png. A file that cannot be read is reported, the others are done, and
    the exit code is 1.
    """

    run_directory: Run
    """the run's directory: runs/<benchmark>/<method>/<source>/<hash>"""
    images: Annotated[
        tyro.conf.Positional[tuple[Path, ...]],
        tyro.conf.arg(metavar="IMAGE ...", help_behavior_hint="(required)"),
    ]
    """image files, and folders of them at any depth"""
    loading: LoadingOptions = field(default_factory=Loading)
    top: int = 1
    """number of classes for each image, the likeliest or largest first"""
    output: Path = Path("predictions")
    """folder for label files and overlays of segmented images"""
    format: Literal["text", "json", "csv"] = "text"
    """what to print"""
    accelerator: str = "auto"
    """auto, cpu, cuda or mps"""

    def run(self, out: Console) -> int:
        """Predict and print."""
        if not self.images:
            raise ProRandConvError.about("images", "nothing", "image files or folders of them")
        from ..progress import progress
        from ..run.predict import image_files

        trained = self.loading.load(self.run_directory, self.accelerator)
        files = image_files(self.images)
        found: list[Prediction | SegmentedFile] = []
        answers: Iterator[Prediction | SegmentedFile] = (
            trained.segment(files, self.output)
            if trained.config.task == "segmentation"
            else trained.predict(files, top=self.top)
        )
        with progress("predicting", len(files), unit="images") as advance:
            for one in answers:
                found.append(one)
                advance(1)
        _print_found(found, self.format, self.top, out)
        bad = {one.path: one.problem for one in found if one.problem}
        for path, problem in bad.items():
            print(f"prorandconv: {path}: {problem}", file=sys.stderr)
        return 1 if bad else 0


def _print_found(
    found: Sequence[Prediction | SegmentedFile], format: str, top: int, out: Console
) -> None:
    """Print what was found of each image; a text leaves out files without an answer."""
    if format == "json":
        print(json.dumps([one.to_mapping() for one in found], indent=1))
    elif format == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(found[0].COLUMNS)
        for one in found:
            writer.writerows(one.rows)
    else:
        for one in found:
            if not one.problem:
                out.print(f"{one.path}: {one.answer(top)}", soft_wrap=True)


@dataclass(frozen=True)
class Export:
    """Write a run's network as a file that other programs load.

    The file holds the classes, the image size and the normalisation as metadata. A graph
    (TorchScript, ONNX) takes float32 batches (N, 3, S, S) of any N, normalised as the metadata
    says, or with --with-normalisation pixels in [0, 1], and returns logits.
    """

    run_directory: Run
    """the run's directory: runs/<benchmark>/<method>/<source>/<hash>"""
    format: Literal["safetensors", "torchscript", "onnx"] = "safetensors"
    """safetensors (weights only), torchscript or onnx (weights and graph)"""
    output: OrDefault[Path] = None
    """file to write (default: model.safetensors, model.pt or model.onnx in the run's directory)"""
    with_normalisation: bool = False
    """let the graph normalise, so that it takes pixels in [0, 1]"""
    loading: LoadingOptions = field(default_factory=Loading)

    def run(self, out: Console) -> int:
        """Load and write."""
        from ..run.export import ENDINGS, export

        path = self.output or self.run_directory / f"model{ENDINGS[self.format]}"
        trained = self.loading.load(self.run_directory, "cpu")
        export(trained, path, self.format, with_normalisation=self.with_normalisation)
        out.print(str(path), soft_wrap=True)
        return 0


CHOICES = {
    "best_validation": "best validation",
    "best_shifted": "best shifted validation",
    "best": "selected weights",
    "last": "last epoch",
    "oracle": "oracle: best target",
}


def targets_grid(result: Mapping[str, Any], paper: PaperRow | None) -> Grid:
    """Scores on the targets by choice of weights, beside the paper's."""
    from ..report.grid import Grid, Line
    from ..run.stored import evaluation_of

    choices = [name for name in CHOICES if result.get(name)]
    evaluation = evaluation_of(result["config"])
    averaged = tuple(result["averaged"])

    def shown(value: float | None) -> str:
        return "" if value is None else f"{value:.2f}"

    def line(
        label: str, values: Sequence[str], published: float | None, ruled: bool = False
    ) -> Line:
        return Line(label, (*values, *([] if paper is None else [shown(published)])), ruled=ruled)

    def published(name: str) -> float | None:
        return None if paper is None else paper.targets.get(name)

    scores = [
        {name: one[evaluation.metric] for name, one in result[choice]["targets"].items()}
        for choice in choices
    ]
    names = dict.fromkeys([*averaged, *(scores[0] if scores else ())])
    lines = [
        line(
            name if name in averaged else f"{name} (extra)",
            [shown(own[name]) for own in scores],
            published(name),
        )
        for name in names
    ]
    lines += [line(n, ["absent"] * len(choices), published(n)) for n in result["absent"]]
    means = [shown(mean_of_all([own[name] for name in averaged])) for own in scores]
    average = None if paper is None else paper.average_over(averaged)
    label = "average of these" if result["absent"] else "average"
    epochs = (result[choice].get("epoch") for choice in choices)
    heads = [
        CHOICES[choice] + (f"\n(epoch {epoch})" if epoch else "")
        for choice, epoch in zip(choices, epochs, strict=True)
    ]
    theirs = [] if paper is None else [f"paper: {paper.row}\n({paper.table})"]
    return Grid(
        ("target", *heads, *theirs),
        (*lines, line(label, means, average, ruled=True)),
        f"{evaluation.title} on unseen domains, %",
    )
