"""What the engine for GPUs has to prove outside of Triton's interpreter."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from prorandconv import ProRandConv, ProRandConvError, functional, ops
from prorandconv.ops import triton_engine

HERE = Path(__file__).parent
CHECKED = "checked in Triton's interpreter and compiled for sm_80 and sm_90; never run on hardware"
pytestmark = pytest.mark.skipif(
    triton_engine.INTERPRETED, reason="Triton's interpreter has tests of its own"
)
without_triton = pytest.mark.skipif(
    not triton_engine._INSTALLED, reason="there is no Triton for this system"
)


@without_triton
def test_kernels_pass_their_tests_in_the_interpreter():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    result = subprocess.run(
        [*command, HERE / "interpreter"],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout
    assert " passed" in result.stdout


class TestAvailability:
    """Where the engine is, and what is said where it is not."""

    def test_how_far_it_is_proven_is_told(self):
        assert ops.engines()["triton"].endswith(f"; {CHECKED}")

    def test_is_there_with_triton_and_a_cuda_device(self, monkeypatch):
        monkeypatch.setattr(triton_engine, "_INSTALLED", True)
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        assert ops.engines()["triton"] == f"available; {CHECKED}"

    @pytest.mark.parametrize(
        ("installed", "cuda", "reason"),
        [
            (False, True, "Triton is not installed"),
            (True, False, "there is no CUDA device"),
        ],
    )
    def test_a_transform_names_what_is_missing(self, monkeypatch, installed, cuda, reason):
        monkeypatch.setattr(triton_engine, "_INSTALLED", installed)
        monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
        assert ops.engines()["triton"] == f"{reason}; {CHECKED}"
        message = f"^engine: got 'triton', expected 'auto' or 'eager': {reason}"
        with pytest.raises(ProRandConvError, match=message):
            ProRandConv(engine="triton")

    @without_triton
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    def test_images_on_the_cpu_raise_an_error(self, dtype):
        x = torch.zeros(1, 1, 4, 4, dtype=dtype)
        message = r"^engine: got 'triton', expected 'eager' or 'auto': triton is float32 on cuda"
        with pytest.raises(ProRandConvError, match=message):
            functional.apply(x, ProRandConv().draw(x), "triton")

    def test_the_package_works_where_triton_is_missing(self):
        code = (
            "import sys; sys.modules['triton'] = None\n"
            "import torch, prorandconv as prc\n"
            "print(prc.ProRandConv()(torch.zeros(1, 3, 8, 8)).shape, prc.engines()['triton'])"
        )
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        expected = f"torch.Size([1, 3, 8, 8]) Triton is not installed; {CHECKED}\n"
        assert result.stdout == expected, result.stderr


@without_triton
class TestOnCuda:
    """Fake tensors say what happens to tensors on a GPU that is not there."""

    def test_it_computes_only_where_it_is_asked_for_and_gives_the_shape(self):
        with FakeTensorMode():
            x = torch.empty(4, 3, 8, 9, device="cuda")
            draw = ProRandConv(repeats=2).draw(x)
            assert ops.select_engine(x, draw, "auto") == "eager"
            assert ops.select_engine(x, draw, "triton") == "triton"
            result = ops.apply(x, draw, "triton")
        assert (result.shape, result.device.type) == ((4, 3, 8, 9), "cuda")


@pytest.mark.parametrize(
    ("count", "tiles", "images"),
    [(64, 392, 4), (64, 8, 1), (8, 200, 2), (3, 10**6, 2), (1, 10**6, 1)],
)
def test_programs_share_images_where_there_are_enough_of_them(count, tiles, images):
    assert triton_engine.images_of_a_program(count, tiles) == images
