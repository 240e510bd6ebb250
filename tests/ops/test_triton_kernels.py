"""The kernels as they are launched, compiled for GPUs that are not there."""

import re

import pytest
import torch

from prorandconv.ops import triton_engine

pytest.importorskip("triton", reason="there is no Triton for this system")
if triton_engine.INTERPRETED:
    pytest.skip("what is interpreted is not compiled", allow_module_level=True)

from triton.backends.compiler import GPUTarget
from triton.runtime import driver

from prorandconv.ops import triton_kernels


class AbsentDevice:
    """What Triton asks a device for before it compiles for it."""

    def __init__(self, capability):
        self.capability = capability

    def get_current_device(self):
        return self.capability

    def get_current_stream(self, device):
        return 0

    def get_current_target(self):
        return GPUTarget("cuda", self.capability, 32)


class Launches:
    """Stands for a kernel, and notes what it is launched with."""

    def __init__(self, kernel):
        self.kernel, self.noted = kernel, []

    def __getitem__(self, grid):
        return lambda *args, **options: self.noted.append((grid, args, options))

    def compiled(self, capability):
        """What Triton would run at the first launch."""
        grid, args, options = self.noted[0]
        self.kernel.device_caches.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(driver, "_active", AbsentDevice(capability))
            return self.kernel.warmup(*args, grid=grid, **options)


@pytest.fixture
def launched(monkeypatch):
    """Both kernels, launched for images that hold no values."""
    originals = (triton_kernels.convolve, triton_kernels.contrast)

    def launch(
        repeats,
        *,
        count=64,
        channels=3,
        size=(224, 224),
        kernel_size=3,
        padding="zeros",
    ):
        kernels = [Launches(kernel) for kernel in originals]
        for name, kernel in zip(("convolve", "contrast"), kernels, strict=True):
            monkeypatch.setattr(triton_kernels, name, kernel)
        own = (count,) if len(repeats) > 1 else ()
        with torch.device("meta"):
            images = torch.empty(count, channels, *size)
            weight = torch.empty(*own, channels, channels, kernel_size, kernel_size)
            fields = torch.empty(*own, 2 * kernel_size**2, *size)
            affine = torch.empty(2, *own, channels)
        result = triton_engine._run(
            images, weight, fields, *affine, True, True, 1e-5, repeats, padding
        )
        assert result.shape == images.shape
        return kernels

    return launch


def test_launching_needs_no_value_on_the_host(launched):
    """Meta tensors hold no values: reading one would raise."""
    for kernel in launched([3]) + launched([2, 0, 3, 1], count=4):
        assert len(kernel.noted) == 3


def test_a_program_takes_a_tile_of_four_images(launched):
    convolve, contrast = launched([1])
    assert convolve.noted[0][0] == (56 * 7 * 16, 1)
    assert contrast.noted[0][0] == (64 * 3 * 25,)


def test_later_repetitions_take_only_images_that_have_them(launched):
    convolve, _ = launched([2, 0, 3, 1], count=4)
    assert [grid for grid, _, _ in convolve.noted] == [(392 * n, 1) for n in (3, 2, 1)]


@pytest.mark.parametrize("capability", [80, 90])
@pytest.mark.parametrize(
    "options",
    [
        {"repeats": [2]},
        pytest.param({"repeats": [2, 1], "count": 2, "padding": "reflect"}, marks=pytest.mark.slow),
        pytest.param({"repeats": [1], "channels": 16, "kernel_size": 7}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_kernels_compile_without_spilling_registers(
    launched, options, capability, monkeypatch, tmp_path, capsys
):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TRITON_DUMP_PTXAS_LOG", "1")
    for kernel in launched(**options):
        compiled = kernel.compiled(capability)
        assert f".target sm_{capability}" in compiled.asm["ptx"]
        assert compiled.asm["cubin"].startswith(b"\x7fELF")
        log = capsys.readouterr().out
        (spilt,) = re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads", log)
        assert spilt == ("0", "0"), log


def test_a_single_pixel_compiles(launched, monkeypatch, tmp_path):
    """Triton makes a constant of an argument that is 1 unless it is told not to."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    for kernel in launched([1], count=1, channels=1, size=(1, 1), kernel_size=1):
        assert kernel.compiled(80).asm["cubin"].startswith(b"\x7fELF")
