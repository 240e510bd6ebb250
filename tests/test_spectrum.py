import math

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from prorandconv import spectrum

CPU = torch.device("cpu")
SIDES = [1, 2, 3, 5, 9, 32, 33, 224]


@pytest.mark.parametrize("alpha", [6.0, 7.0, 8.0, 10.0, 12.0])
@pytest.mark.parametrize("side", SIDES)
def test_waves_leave_out_a_millionth_of_the_variance_at_most(side, alpha):
    frequency = torch.fft.fftfreq(side, dtype=torch.float64)
    k = torch.hypot(frequency[:, None], frequency)
    k[0, 0] = math.inf
    total = (k / k.min()).pow(-alpha).nan_to_num().sum()
    amplitude = spectrum.wave_amplitudes(side, 2, alpha, torch.float64, CPU)
    # both sums count every mode of the full spectrum once
    assert -1e-12 <= total - amplitude.square().sum() <= 1e-6 * total


@pytest.mark.parametrize("length", [1, 2, 3, 8, 31])
def test_all_waves_together_are_an_orthonormal_basis(length):
    basis = spectrum.wave_basis(length, orthonormal=True)
    torch.testing.assert_close(basis.t() @ basis / length, torch.eye(length).double())


@pytest.mark.parametrize("length", [1, 2, 3, 8, 31])
def test_plain_waves_have_amplitude_one_or_root_two(length):
    basis = spectrum.wave_basis(length, orthonormal=False)
    t = torch.arange(length).double()
    for wave in range(length):
        angle = 2 * math.pi * ((wave + 1) // 2) * t / length
        expected = math.sqrt(2) * (angle.cos() if wave % 2 else angle.sin())
        torch.testing.assert_close(basis[:, wave], expected if wave else torch.ones_like(t))


def test_steep_fields_need_few_random_numbers():
    amplitude = spectrum.wave_amplitudes(224, 2, 10.0, torch.float32, CPU)
    assert amplitude.numel() <= 81


def test_no_inference_tensor_is_remembered():
    # no other test takes this size: nothing is remembered of it
    wanted = ((62, 62), (9, 9), True, torch.float32, CPU)
    with torch.inference_mode():
        spectrum.waves(*wanted)
    scale = torch.ones(9, 62, requires_grad=True)
    by_row, _ = spectrum.waves(*wanted)
    (by_row @ scale).sum().backward()
    torch.testing.assert_close(scale.grad[:, 0], by_row.sum(0), atol=1e-4, rtol=0)


@pytest.mark.parametrize("alpha", [6.0, 10.0])
@pytest.mark.parametrize("side", [8, 33, 224])
def test_the_first_waves_are_those_of_all(side, alpha):
    amplitude = spectrum.wave_amplitudes(side, 2, alpha, torch.float32, CPU)
    count = len(amplitude)
    whole = spectrum.wave_basis(side, True)[:, :count].float()
    by_row, by_column = spectrum.waves((side, side), (count, count), True, torch.float32, CPU)
    assert torch.equal(by_row, whole)
    assert torch.equal(by_column, whole.t())


class Largest(TorchDispatchMode):
    """Notes the most numbers that an operator has returned."""

    numbers = 0

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        result = operator(*args, **(kwargs or {}))
        self.numbers = max(self.numbers, result.numel())
        return result


def test_a_large_size_needs_no_table_of_all_its_waves():
    with Largest() as largest:
        spectrum.waves((5000, 1), (9, 9), True, torch.float32, CPU)
    assert largest.numbers == 5000 * 9
