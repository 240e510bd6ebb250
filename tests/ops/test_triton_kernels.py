"""The kernels as they are launched, compiled for GPUs that are not there."""

import re

import pytest
import torch

from prorandconv.ops import triton_engine

triton = pytest.importorskip("triton", reason="there is no Triton for this system")
if triton_engine.INTERPRETED:
    pytest.skip("what is interpreted is not compiled", allow_module_level=True)

from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402

from prorandconv.ops import triton_kernels  # noqa: E402

TYPES = {torch.float32: "*fp32", torch.int32: "*i32", int: "i32", float: "fp32"}


class Launches:
    """Stands for a kernel, and notes what it is launched with."""

    def __init__(self, kernel):
        self.kernel, self.noted = kernel, []

    def __getitem__(self, grid):
        return lambda *args, **constants: self.noted.append((grid, args, constants))

    def source(self):
        """What Triton compiles for the first launch."""
        _, args, constants = self.noted[0]
        given = dict(zip(self.kernel.arg_names, args, strict=False)) | constants
        constants = {
            name: given[name]
            for name in self.kernel.arg_names
            if name.isupper() or given[name] is None
        }
        signature = {
            name: "constexpr" if name in constants else TYPES[getattr(value, "dtype", type(value))]
            for name, value in given.items()
            if name in self.kernel.arg_names
        }
        aligned = {  # as every tensor that torch allocates
            (place,): [["tt.divisibility", 16]]
            for place, name in enumerate(self.kernel.arg_names)
            if isinstance(given[name], torch.Tensor)
        }
        return ASTSource(self.kernel, signature, constants, aligned)


@pytest.fixture
def launched(monkeypatch):
    """Both kernels, launched for images of 224 pixels that hold no values."""

    convolve, contrast = triton_kernels.convolve, triton_kernels.contrast

    def launch(repeats, *, count=64, channels=3, kernel_size=3, padding="zeros", offsets=True):
        kernels = [Launches(convolve), Launches(contrast)]
        for name, kernel in zip(("convolve", "contrast"), kernels, strict=True):
            monkeypatch.setattr(triton_kernels, name, kernel)
        own = (count,) if len(repeats) > 1 else ()
        with torch.device("meta"):
            images = torch.empty(count, channels, 224, 224)
            weight = torch.empty(*own, channels, channels, kernel_size, kernel_size)
            fields = torch.empty(*own, 2 * kernel_size**2, 224, 224) if offsets else None
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
        pytest.param({"repeats": [2, 1], "count": 2}, marks=pytest.mark.slow),
        pytest.param({"repeats": [1], "padding": "reflect"}, marks=pytest.mark.slow),
        pytest.param({"repeats": [1], "channels": 16, "kernel_size": 7}, marks=pytest.mark.slow),
        pytest.param({"repeats": [1], "channels": 1, "offsets": False}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_kernels_compile_without_spilling_registers(
    launched, options, capability, monkeypatch, tmp_path, capsys
):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TRITON_DUMP_PTXAS_LOG", "1")
    for kernel in launched(**options):
        target = GPUTarget("cuda", capability, 32)
        compiled = triton.compile(kernel.source(), target=target, options=triton_engine.OPTIONS)
        assert f".target sm_{capability}" in compiled.asm["ptx"]
        assert compiled.asm["cubin"].startswith(b"\x7fELF")
        log = capsys.readouterr().out
        assert re.search("Used [0-9]+ registers", log), log
        assert "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in log
