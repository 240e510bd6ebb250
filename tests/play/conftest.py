"""Draw files for tests of the playground, and its code run by Node."""

from __future__ import annotations

import base64
import json
import math
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import prorandconv as prc
from prorandconv import functional, play

NODE = shutil.which("node")
OPTIONS = {
    "contrast": ["standardise", "affine", "tanh"],
    "eps": 1e-5,
    "padding": "zeros",
    "bound": None,
    "output": "tanh",
    "mean": [0.5],
    "std": [0.5],
}


@dataclass(frozen=True)
class DrawFile:
    """A draw file's text, read and applied by Python."""

    text: str

    def applied(self, picture: np.ndarray) -> np.ndarray:
        """The result (3, H, W) on a picture of bytes (H, W, 3), in float64 by the formulas."""
        file = json.loads(self.text)
        params = params_from(file)
        options = dict(file["options"])
        mean, std = (torch.tensor(options[name]).view(-1, 1, 1) for name in ("mean", "std"))
        pixels = torch.from_numpy(picture.copy()).permute(2, 0, 1).double() / 255
        x = (pixels - mean) / std
        if file["transform"] == "ProRandConv":
            result = functional.pro_rand_conv(x, params, **options, engine="reference")
        else:
            options = {name: options[name] for name in ("contrast", "eps", "padding")}
            result = functional.rand_conv(x, params, **options, engine="reference")
        return result.numpy()


def params_from(file: dict[str, Any]) -> prc.ProRandConvParams | prc.RandConvParams:
    """The draw in a draw file, by the file's definition."""
    height, width = file["size"]
    offsets = None
    if file["offsets"] is not None:
        assert file["offsets"]["kind"] == "waves"
        coefficients = _tensor(file["offsets"]["coefficients"]).double()
        side = file["offsets"]["side"]
        down, along = (
            _waves(coefficients.shape[axis], side)[:, :length]
            for axis, length in ((1, height), (2, width))
        )
        offsets = torch.einsum("nrc,ry,cx->nyx", coefficients, down, along)
    parts = {name: _tensor(file[name]) for name in ("weight", "gamma", "beta")}
    parts |= {"offsets": offsets, "repeats": file["repeats"], "layered": file["layered"]}
    if file["transform"] == "RandConv":
        return prc.RandConvParams(**parts, mix=_tensor(file["mix"]))
    return prc.ProRandConvParams(**parts)


def text_of(
    params: prc.ProRandConvParams | prc.RandConvParams,
    size: tuple[int, int],
    offsets: dict[str, Any] | None = None,
    **options: Any,
) -> str:
    """A draw file of a draw without offsets, plus the given ones."""
    file = {
        "format": "prorandconv.draw",
        "version": 1,
        "transform": type(params).__name__.removesuffix("Params"),
        "options": {**OPTIONS, **options},
        "size": list(size),
        "repeats": params.repeats,
        "layered": params.layered,
        "chosen": None,
        "batch": None,
        "weight": stored(params.weight),
        "gamma": stored(params.gamma),
        "beta": stored(params.beta),
        "mix": stored(getattr(params, "mix", None)),
        "offsets": offsets,
    }
    return json.dumps(file)


def stored(tensor: torch.Tensor | None) -> dict[str, Any] | None:
    """A tensor as the file holds it."""
    if tensor is None:
        return None
    data = base64.b64encode(tensor.float().numpy().astype("<f4").tobytes()).decode()
    return {"dtype": "float32", "shape": list(tensor.shape), "data": data}


def _tensor(given: dict[str, Any] | None) -> torch.Tensor | None:
    if given is None:
        return None
    data = np.frombuffer(base64.b64decode(given["data"]), dtype="<f4").astype("f4")
    return torch.from_numpy(data).view(given["shape"])


def _waves(count: int, side: int) -> torch.Tensor:
    """Waves 0 to count - 1 over the side, one row each."""
    t = torch.arange(side, dtype=torch.float64)
    rows = [torch.ones_like(t)]
    for r in range(1, count):
        angle = 2 * math.pi * ((r + 1) // 2) * t / side
        rows.append(math.sqrt(2) * (angle.cos() if r % 2 else angle.sin()))
    return torch.stack(rows)


def waves(taps: int, side: int, count: int = 7, scale: float = 0.3) -> dict[str, Any]:
    """Random offsets of a draw file: ``count`` waves each way, about ``scale`` pixels."""
    coefficients = scale * torch.randn(2 * taps, count, count) / count
    return {"kind": "waves", "side": side, "coefficients": stored(coefficients)}


class Playground:
    """The playground's code, run by Node."""

    def ask(self, requests: list[dict[str, Any]]) -> list[Any]:
        """The answers of ``operate.js``, one for each request."""
        script = Path(__file__).with_name("operate.js")
        done = subprocess.run(
            [str(NODE), str(script), str(play.FOLDER)],
            input=json.dumps(requests),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        answers: list[Any] = json.loads(done.stdout)
        return answers

    def applied(self, cases: list[tuple[str, np.ndarray]]) -> list[np.ndarray]:
        """The results (3, H, W) of draw files on pictures of bytes (H, W, 3)."""
        requests = [
            {
                "task": "applied",
                "text": text,
                "height": picture.shape[0],
                "width": picture.shape[1],
                "rgb": base64.b64encode(picture.tobytes()).decode(),
            }
            for text, picture in cases
        ]
        return [
            np.frombuffer(base64.b64decode(answer), dtype="<f8").reshape(3, *picture.shape[:2])
            for answer, (_, picture) in zip(self.ask(requests), cases, strict=True)
        ]


@pytest.fixture(scope="session")
def playground() -> Playground:
    """The playground's code in Node."""
    if NODE is None:
        pytest.skip("needs Node (the command `node`) to run the playground's code")
    return Playground()


@pytest.fixture(scope="session")
def draw_files() -> Any:
    """What makes and reads draw files."""
    return DrawFiles


class DrawFiles:
    """Draw files by their definition."""

    text_of = staticmethod(text_of)
    stored = staticmethod(stored)
    waves = staticmethod(waves)
    params = staticmethod(params_from)
    read = DrawFile


@pytest.fixture(scope="session")
def picture() -> Any:
    """A maker of pictures (H, W, 3) of bytes, smooth with some noise, like a photo."""

    def make(height: int, width: int) -> np.ndarray:
        y, x = np.mgrid[:height, :width] / max(height, width)
        smooth = [128 + 90 * np.sin(9 * x + 5 * y * c + c) for c in range(3)]
        noise = np.random.default_rng(height * width).normal(0, 12, (height, width, 3))
        return (np.stack(smooth, -1) + noise).clip(0, 255).astype(np.uint8)

    return make


@pytest.fixture
def draw_api(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give Python what copied code calls, where the library does not have it yet."""
    for kind in (prc.ProRandConvParams, prc.RandConvParams):
        if not hasattr(kind, "from_json"):
            from_json = staticmethod(lambda text: params_from(json.loads(text)))
            load = staticmethod(lambda path: params_from(json.loads(Path(path).read_text())))
            monkeypatch.setattr(kind, "from_json", from_json, raising=False)
            monkeypatch.setattr(kind, "load", load, raising=False)
