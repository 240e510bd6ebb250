"""Labels that fit a picture have its contrast at their borders."""

import label_fit
import pytest
import torch

LABELS = torch.zeros(1, 20, 24, dtype=torch.uint8)
LABELS[:, 8:, :12], LABELS[:, :, 18:] = 1, 2
PICTURES = torch.stack([LABELS.float(), -2 * LABELS.float()], 1)


def test_the_fit_by_hand():
    labels = torch.zeros(1, 4, 6, dtype=torch.uint8)
    labels[..., 3:] = 1
    neighbours, across = 4 * 5 + 3 * 6, 4
    found = label_fit.fit(labels[:, None].float(), labels, margin=0)
    assert found == pytest.approx(neighbours / across)


def test_shifted_labels_fit_less():
    exact = label_fit.fit(PICTURES, LABELS, margin=0)
    assert label_fit.fit(PICTURES, LABELS.roll(2, 1).roll(2, 2), margin=0) < exact / 2


@pytest.mark.parametrize("outside", [False, True])
def test_borders_to_what_has_no_class_do_not_count(outside):
    labels = LABELS.clone()
    labels[:, 14:, :6] = label_fit.OUTSIDE if outside else 3  # no border in the picture
    exact = label_fit.fit(PICTURES, LABELS, margin=0)
    found = label_fit.fit(PICTURES, labels, margin=0)
    assert (found == pytest.approx(exact)) == outside


def test_what_is_at_the_edge_does_not_count():
    pictures = PICTURES.clone()
    pictures[..., :2, :] = 99
    assert label_fit.fit(pictures, LABELS, margin=3) == label_fit.fit(PICTURES, LABELS, margin=3)
