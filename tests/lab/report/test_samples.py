import numpy as np
import pytest
import torch

from prorandconv.lab.data import get_benchmark
from prorandconv.lab.errors import DataError
from prorandconv.lab.report.sheets import DRAWS, sample_sheet
from prorandconv.lab.run.config import RunConfig


def config(method, **changes):
    return RunConfig.paper("digits-mini", "mnist", method, **changes)


def row(sheet, number):
    """The images of a row of the sheet, side by side."""
    return np.asarray(sheet)[4 + 68 * number : 68 + 68 * number, 90:]


def test_the_first_row_is_the_source_and_the_others_are_draws(mini):
    sheet = sample_sheet(config("pro-randconv"))
    assert sheet.size == (90 + 10 * 68, (1 + DRAWS) * 68 + 4)
    images = get_benchmark("digits-mini").load("mnist", "train")
    zero = (images.labels == 0).nonzero()[0]
    stored = images.stacked(zero)
    assert np.array_equal(row(sheet, 0)[::2, :64:2, 0], stored[0, 0].numpy())
    shown = [row(sheet, number) for number in range(1 + DRAWS)]
    assert all(np.abs(shown[0] - one.astype(float)).mean() > 1 for one in shown[1:])
    assert not np.array_equal(shown[1], shown[2])


def test_samples_follow_the_options_of_the_run(mini):
    one, two = (sample_sheet(config("pro-randconv", options={"repeats": n})) for n in (1, 9))
    assert not np.array_equal(np.asarray(one), np.asarray(two))
    again = sample_sheet(config("pro-randconv", options={"repeats": 1}))
    assert np.array_equal(np.asarray(one), np.asarray(again))


@pytest.mark.parametrize("method", ["randconv", "progressive", "rotate"])
def test_draws_that_change_nothing_are_not_shown(mini, method):
    sheet = sample_sheet(config(method))
    originals = row(sheet, 0)
    assert not any(np.array_equal(originals, row(sheet, n)) for n in range(1, 1 + DRAWS))


@pytest.mark.parametrize("method", ["erm", "own_lab:weighted"])
def test_a_method_that_leaves_images_alone_has_no_samples(mini, method):
    assert sample_sheet(config(method)) is None


def test_drawing_samples_leaves_the_global_generator_alone(mini):
    before = torch.get_rng_state()
    sample_sheet(config("rotate"))
    assert torch.equal(before, torch.get_rng_state())


def test_an_absent_source_is_an_error_that_says_so(tmp_path):
    absent = RunConfig.paper("digits", "mnist", "pro-randconv", data_root=tmp_path)
    with pytest.raises(DataError, match="missing"):
        sample_sheet(absent)
