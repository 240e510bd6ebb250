"""The playground's code run by Node, and Python beside it."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import prorandconv as prc
from prorandconv import functional, play

NODE = shutil.which("node")


def applied_by_python(text: str, picture: np.ndarray) -> np.ndarray:
    """The result (3, H, W) of a draw file on a picture of bytes (H, W, 3), by the formulas."""
    file = json.loads(text)
    mean, std = (torch.tensor(file["options"][name]).view(-1, 1, 1) for name in ("mean", "std"))
    pixels = torch.from_numpy(picture.copy()).permute(2, 0, 1).double() / 255
    draw = prc.Draw.from_json(text)
    return functional.apply((pixels - mean) / std, draw, engine="reference").numpy()


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
def by_python() -> Any:
    """What applies draw files in Python."""
    return applied_by_python


@pytest.fixture(scope="session")
def picture() -> Any:
    """A maker of pictures (H, W, 3) of bytes, smooth with some noise, like a photo."""

    def make(height: int, width: int) -> np.ndarray:
        y, x = np.mgrid[:height, :width] / max(height, width)
        smooth = [128 + 90 * np.sin(9 * x + 5 * y * c + c) for c in range(3)]
        noise = np.random.default_rng(height * width).normal(0, 12, (height, width, 3))
        return (np.stack(smooth, -1) + noise).clip(0, 255).astype(np.uint8)

    return make
