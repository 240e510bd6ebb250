"""The paper's versions for segmentation, and labels that move."""

import pytest
import torch

from prorandconv import ProRandConvError
from prorandconv.lab.data import ImageFormat
from prorandconv.lab.methods import augmenting, method_class
from prorandconv.lab.run.config import RunConfig

FORMAT = ImageFormat(64, (0.5,) * 3, (0.5,) * 3, base_augmentation=True)


class Seen(torch.nn.Module):
    """Keeps what it is shown."""

    def forward(self, x):
        self.images = x
        return torch.zeros(len(x), 2, *x.shape[-2:], requires_grad=True)


def test_they_are_the_versions_of_the_paper_and_two_more():
    names = ("ours-a", "ours-b", "ours-c", "ours-d", "ours-move", "ours-shared")
    parts = {
        name: (own.contrast, own.smoothing is not None, own.offsets is not None, own.labels)
        for name in names
        for own in [method_class(name)()]
    }
    assert parts == {
        "ours-a": (False, False, False, "fixed"),
        "ours-b": (True, False, False, "fixed"),
        "ours-c": (True, True, False, "fixed"),
        "ours-d": (True, True, True, "fixed"),
        "ours-move": (True, True, True, "move"),
        "ours-shared": (True, True, True, "move"),
    }
    assert [name for name in names if method_class(name)().shared_offsets] == ["ours-shared"]


@pytest.mark.parametrize(("name", "moved"), [("ours-d", 0), ("ours-move", 4), ("ours-shared", 4)])
def test_half_of_the_images_are_augmented_and_only_their_labels_move(
    loss_of, name, moved, monkeypatch
):
    learnt = []
    monkeypatch.setattr(
        augmenting.F, "cross_entropy", lambda logits, labels: learnt.append(labels) or logits.sum()
    )
    x, y, network = torch.rand(8, 3, 64, 64), torch.randint(2, (8, 64, 64)), Seen()
    loss_of(method_class(name)(offsets=(3.0, 3.0)), network, x, y, format=FORMAT)
    bent = [not torch.equal(*pair) for pair in zip(x, network.images, strict=True)]
    other = [not torch.equal(*pair) for pair in zip(y, learnt.pop(), strict=True)]
    assert sum(bent) == 4
    assert sum(other) == moved
    assert not moved or bent == other


def test_with_both_kinds_of_images_the_originals_keep_their_labels(loss_of, monkeypatch):
    learnt = []
    monkeypatch.setattr(
        augmenting.F, "cross_entropy", lambda logits, labels: learnt.append(labels) or logits.sum()
    )
    x, y = torch.rand(4, 3, 64, 64), torch.randint(2, (4, 64, 64))
    own = method_class("ours-shared")(offsets=(3.0, 3.0), p=1.0, selection="both")
    loss_of(own, Seen(), x, y, format=FORMAT)
    (labels,) = learnt
    assert torch.equal(labels[:4], y)
    assert not any(torch.equal(*pair) for pair in zip(y, labels[4:], strict=True))


def test_labels_that_move_are_for_segmentation_only():
    with pytest.raises(ProRandConvError, match="a method for classification"):
        RunConfig.paper("digits", options={"labels": "move"})


def test_labels_that_move_cannot_be_compared_pixel_by_pixel():
    with pytest.raises(ProRandConvError, match="labels"):
        method_class("ours-move")(selection="both", consistency=1.0)
