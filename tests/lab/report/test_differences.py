"""Differences of two methods: paired by image and by seed."""

import math

import pytest
import torch
from scipy.stats import norm, ttest_rel

from prorandconv import ProRandConvError
from prorandconv.lab.report.paired import Judged, by_class, by_target


def judged(*seeds, labels=None):
    right = torch.tensor(seeds, dtype=torch.bool)
    return Judged(
        right, torch.zeros(right.shape[1], dtype=torch.long) if labels is None else labels
    )


def test_accuracies_and_their_difference_are_in_percent():
    (row,) = by_target({"svhn": judged([1, 0, 0, 0])}, {"svhn": judged([1, 1, 1, 0])}, ["svhn"])
    assert (row.name, row.images, row.first, row.second) == ("svhn", 4, 25.0, 75.0)
    assert row.difference == 50.0


def test_the_interval_by_image_is_that_of_bonett_and_price():
    # 40 images both right, 15 only the second, 5 only the first, 40 neither.
    first = [1] * 40 + [0] * 15 + [1] * 5 + [0] * 40
    second = [1] * 40 + [1] * 15 + [0] * 5 + [0] * 40
    (row,) = by_target({"a": judged(first)}, {"a": judged(second)}, ["a"])
    more, less = 16 / 102, 6 / 102
    half = norm.ppf(0.975) * math.sqrt((more + less - (more - less) ** 2) / 102)
    assert row.by_image == pytest.approx((100 * (more - less - half), 100 * (more - less + half)))


def test_the_interval_by_image_covers_the_true_difference():
    generator = torch.Generator().manual_seed(0)
    covered = 0
    for _ in range(400):
        draw = torch.rand(120, generator=generator)
        first = (draw < 0.6) | (draw > 0.95)  # right in 65 %
        second = draw < 0.75
        (row,) = by_target(
            {"a": Judged(first[None], torch.zeros(120))},
            {"a": Judged(second[None], torch.zeros(120))},
            [],
        )
        covered += row.by_image[0] <= 10.0 <= row.by_image[1]
    assert 0.92 <= covered / 400 <= 0.985


def test_pairing_by_image_is_narrower_than_two_independent_samples():
    first = [1] * 60 + [0] * 40
    second = [1] * 65 + [0] * 35
    (row,) = by_target({"a": judged(first)}, {"a": judged(second)}, [])
    independent = 196 * math.sqrt((0.6 * 0.4 + 0.65 * 0.35) / 100)
    assert row.by_image[1] - row.by_image[0] < independent


def test_the_interval_by_seed_is_that_of_a_paired_t_test():
    first = [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0]]
    second = [[1, 1, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0]]
    (row,) = by_target({"a": judged(*first)}, {"a": judged(*second)}, [])
    assert row.by_seed == (25.0, 50.0, 25.0)
    test = ttest_rel([50, 100, 25], [25, 50, 0]).confidence_interval(0.95)
    assert row.seed_interval == pytest.approx((test.low, test.high))


def test_below_three_seeds_there_are_single_differences_only():
    (row,) = by_target({"a": judged([1, 0], [0, 0])}, {"a": judged([1, 1], [0, 1])}, [])
    assert row.by_seed == (50.0, 50.0)
    assert row.seed_interval is None


def test_in_the_average_every_target_counts_the_same():
    first = {"small": judged([0, 0]), "large": judged([1] * 8)}
    second = {"small": judged([1, 1]), "large": judged([1] * 8)}
    average = by_target(first, second, ["small", "large"])[-1]
    assert (average.name, average.images) == ("average", 10)
    assert (average.first, average.second) == (50.0, 100.0)


def test_classes_are_compared_over_all_targets_and_empty_ones_left_out():
    labels = torch.tensor([0, 0, 2])
    first = {"a": judged([0, 1, 1], labels=labels), "b": judged([0, 0, 1], labels=labels)}
    second = {"a": judged([1, 1, 1], labels=labels), "b": judged([1, 0, 0], labels=labels)}
    rows = by_class(first, second, ["cat", "dog", "yak"])
    assert [(row.name, row.images, row.first, row.second) for row in rows] == [
        ("cat", 4, 25.0, 75.0),
        ("yak", 2, 100.0, 50.0),
    ]


def test_other_images_are_refused():
    with pytest.raises(ProRandConvError, match=r"svhn: got \(1, 3\)"):
        by_target({"svhn": judged([1, 0])}, {"svhn": judged([1, 0, 1])}, [])
