import os
from pathlib import Path

import measuring
import pytest
import torch
import torchvision
from limits import bytes_moved, merged_multiply_adds
from measuring import slope, spread, timed, write_json

import prorandconv as prc
from prorandconv.draw import Draw


def test_slope_is_the_exponent_of_a_power_law():
    x = [1, 16, 64, 256]
    assert slope(x, [3 * value**1.25 for value in x]) == pytest.approx(1.25)
    assert slope(x, [7.0] * 4) == pytest.approx(0)


def test_spread_gives_median_and_quartiles():
    found = spread([5.0, 1.0, 2.0, 4.0, 3.0])
    assert found == {"median": 3.0, "lower_quartile": 2.0, "upper_quartile": 4.0}
    assert spread([2.0])["median"] == spread([2.0])["upper_quartile"] == 2.0


def test_timed_repeats_short_calls_only():
    calls = []
    timed(lambda: calls.append(1), calls=5, until=1.0)
    assert len(calls) == 5
    timed(lambda: calls.append(1))
    assert len(calls) == 6


@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="the system does not tell")
def test_disturbance_counts_what_others_take_and_not_ourselves(monkeypatch):
    ours = iter([(1.0, 1.0, 0.0, 0.0), (4.0, 2.0, 0.0, 0.0)])
    ticks = os.sysconf("SC_CLK_TCK")
    stat = iter(
        [f"cpu {10 * ticks} 0 0 99 0 0 0 0 0 0\n", f"cpu {15 * ticks} 0 0 99 0 0 0 {ticks}"]
    )
    clock = iter([100.0, 110.0])
    monkeypatch.setattr(measuring.os, "times", lambda: next(ours))
    monkeypatch.setattr(measuring.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(measuring.Path, "read_text", lambda self: next(stat))
    monkeypatch.setattr(measuring.time, "perf_counter", lambda: next(clock))
    with measuring.Disturbance() as disturbance:
        pass
    # all took 5 + 1 stolen, we took 4; of two processors for ten seconds
    assert disturbance.share == pytest.approx(2 / 20)


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path):
    path = tmp_path / "speed.json"
    write_json(path, {"a": 1})
    with pytest.raises(TypeError):
        write_json(path, {"a": object()})
    assert path.read_text() == '{\n "a": 1\n}\n'
    assert list(tmp_path.iterdir()) == [path]


def _draw(offsets, weight):
    return Draw(weight=weight, offsets=offsets)


def test_without_offsets_the_merged_operator_is_the_convolution():
    size = 6
    draw = _draw(torch.zeros(18, size, size), torch.ones(3, 3, 3, 3))
    taps_inside = (3 * size - 2) ** 2
    assert merged_multiply_adds(draw) == 9 * taps_inside


def test_merged_operator_counts_the_pixels_that_a_result_depends_on():
    size = 7
    draw = prc.ProRandConv(offsets=(0.4, 0.4), smoothing=None).draw(torch.empty(1, 3, size, size))
    image = torch.zeros(1, 3, size, size, dtype=torch.float64, requires_grad=True)
    offsets, weight = draw.offsets.dense().double()[None], draw.weight.double()
    result = torchvision.ops.deform_conv2d(image, offsets, weight, padding=1)[0, 0]
    depends = 0
    for value in result.flatten():
        (gradient,) = torch.autograd.grad(value, image, retain_graph=True)
        depends += int(gradient[0, 0].count_nonzero())
    assert merged_multiply_adds(draw) == 9 * depends


def test_bytes_that_must_move_are_four_times_the_batch():
    assert bytes_moved(32, 64) == 4 * torch.empty(64, 3, 32, 32).nbytes
