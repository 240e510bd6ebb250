"""The command that asks how robust a model is."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.console import Console

from ...errors import ProRandConvError
from ..options import OrDefault
from .run import Loading, LoadingOptions

if TYPE_CHECKING:  # commands import what they call when they run: --help must not wait for torch
    from ...stress import Robustness
    from ..data import Images
    from ..stress.model import Model

RESULT, CURVE, FAILURES = "stress.json", "curve.png", "failures.png"
PARTS = {"title", "averages", "repeats", "shifts"}
"""What is read of an earlier result."""


@dataclass(frozen=True)
class Stress:
    """Test how robust a classifier is, on your own images.

    Its accuracy under Pro-RandConv by number of repetitions and by parts of the block, and under
    shifts that training never used. Every model gets the same changed images. No target data is
    needed. Writes stress.json, curve.png and failures.png, the pictures that it fails on.
    """

    model: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="MODEL")]
    """a run's directory, a TorchScript file, a program of torch.export (.pt2), or
    package.module:function, which is imported, called without arguments and returns the network"""
    data: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="DATA")]
    """a folder <class>/<image>; for a run also val, its validation images, or a domain of its
    benchmark"""
    output: Path = Path("stress")
    """folder to write to"""
    image_size: OrDefault[int] = None
    """side of the images in pixels, if MODEL does not bring it"""
    mean: OrDefault[tuple[float, ...]] = None
    """of the normalisation of pixels in [0, 1], one number or three, if MODEL does not bring it"""
    std: OrDefault[tuple[float, ...]] = None
    """likewise"""
    classes: OrDefault[Path] = None
    """text file with a class a line, in the order of the outputs (default: MODEL's, else the
    folders of DATA by name)"""
    images: int = 1000
    """number of images at most, always the same ones"""
    draws: int = 5
    """number of draws of Pro-RandConv; accuracies are means over them"""
    seed: int = 0
    """of the first draw; models are compared with the same"""
    against: OrDefault[Path] = None
    """an earlier stress.json, or its folder, to compare with"""
    loading: LoadingOptions = field(default_factory=Loading)
    data_root: OrDefault[Path] = None
    """folder of data sets (default: the run's)"""
    accelerator: str = "auto"
    """auto, cpu, cuda or mps"""
    json: bool = False
    """print everything as JSON instead of tables"""

    def run(self, out: Console) -> int:
        """Measure, write and print."""
        earlier = None if self.against is None else _read(self.against)
        from ..stress.images import images_for

        model = self._model()
        images = images_for(model, self.data, self.images)
        about: dict[str, Any] = {
            "title": _title(model),
            "model": self.model,
            "data": self.data,
            "classes": list(images.classes),
            "fingerprint": images.fingerprint,
            "image_size": images.format.image_size,
            "mean": list(images.format.mean),
            "std": list(images.format.std),
        }
        if earlier is not None:
            _refuse_other(earlier, about | {"draws": self.draws, "seed": self.seed})
        found = self._measured(model, images)
        result = about | found.to_mapping()
        before = {} if earlier is None else {_earlier(earlier, about["title"]): earlier}
        written = self._write(result, before, found, images)
        if self.json:
            print(json.dumps(result))
            return 0
        print(found)
        for name, other in before.items():
            print(f"\n{_compared(name, other['averages'], result['title'], found.averages)}")
        print(f"\nwritten to {self.output}/: {', '.join(written)}")
        return 0

    def _measured(self, model: Model, images: Images) -> Robustness:
        from ...stress import stress
        from ...stress.cases import cases
        from ..progress import progress
        from ..tasks import get_task

        form = images.format
        total = len(images) * len(cases(self.draws))
        with progress("classifying", total, unit="images") as advance:
            return stress(
                model.network,
                images.batches(get_task("classification").batch_size(form)),
                mean=form.mean,
                std=form.std,
                draws=self.draws,
                seed=self.seed,
                device=model.device,
                progress=advance,
            )

    def _write(
        self,
        result: Mapping[str, Any],
        before: Mapping[str, Mapping[str, Any]],
        found: Robustness,
        images: Images,
    ) -> list[str]:
        """Write the files; returns their names."""
        from ..files import replacing, write_bytes, write_text
        from ..report.curves import render
        from ..stress.figures import curve, failures

        title = result["title"]
        plot = render(curve({**before, title: result}), "png")
        sheet = failures(found, images, f"What {title} fails on", self._command())
        write_text(self.output / RESULT, json.dumps(result, indent=1) + "\n")
        write_bytes(self.output / CURVE, plot)
        if sheet is None:
            (self.output / FAILURES).unlink(missing_ok=True)  # of an earlier model
            return [RESULT, CURVE]
        with replacing(self.output / FAILURES) as temporary:
            sheet.save(temporary)
        return [RESULT, CURVE, FAILURES]

    def _model(self) -> Model:
        from ..stress.model import InputSpec, load_model

        return load_model(
            self.model,
            InputSpec(self.image_size, self.mean, self.std, self._class_names()),
            which=self.loading.which,
            data_root=self.data_root,
            accelerator=self.accelerator,
            trust_code=self.loading.trust_code,
        )

    def _class_names(self) -> tuple[str, ...] | None:
        if self.classes is None:
            return None
        lines = self.classes.read_text(encoding="utf-8").splitlines()
        names = tuple(line.strip() for line in lines if line.strip())
        if len(set(names)) < len(names) or not names:
            raise ProRandConvError.about(
                "--classes", str(self.classes), "a file with a different name in each line"
            )
        return names

    def _command(self) -> str:
        words = ("stress", self.model, self.data, "--images", self.images, "--seed", self.seed)
        return shlex.join(["prorandconv", *map(str, words)])


def _title(model: Model) -> str:
    from ..paper import label

    return Path(model.name).name if model.trained is None else label(model.trained.config.method)


def _read(path: Path) -> dict[str, Any]:
    path = path / RESULT if path.is_dir() else path
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        stored = None
    if not isinstance(stored, dict) or not set(stored) >= PARTS:
        raise ProRandConvError.about("--against", str(path), f"an intact {RESULT} of this command")
    return stored


def _refuse_other(earlier: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Only figures of the same images and draws are compared."""
    for name in ("fingerprint", "draws", "seed"):
        if earlier.get(name) != now[name]:
            raise ProRandConvError.about(
                "--against", f"{name} {earlier.get(name)}", f"a test with {name} {now[name]}"
            )


def _earlier(earlier: Mapping[str, Any], title: str) -> str:
    name = str(earlier["title"])
    return f"{name}, before" if name == title else name


def _compared(name: str, before: Mapping[str, float], title: str, now: Mapping[str, float]) -> str:
    """A line for each average; the columns are as wide as the names, within 80 columns."""
    name, title = name[:28], title[:28]
    lines = [f"{'average':12} {name:>{max(len(name), 6)}} {title:>{max(len(title), 6)}}"]
    for part, value in now.items():
        cells = f"{before[part]:>{max(len(name), 6)}.1f} {value:>{max(len(title), 6)}.1f}"
        lines.append(f"{part:12} {cells} {value - before[part]:+7.1f}")
    return "\n".join(lines)
