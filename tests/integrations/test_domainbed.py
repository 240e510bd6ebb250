"""The recipe for DomainBed, on a stand-in for the algorithm that it extends."""

import re
from pathlib import Path

import pytest
import torch


class ERM(torch.nn.Module):
    """What the recipe needs of DomainBed's: the signatures, and the mini-batches."""

    def __init__(self, input_shape, num_classes, num_domains, hparams):
        super().__init__()

    def update(self, minibatches, unlabeled=None):
        self.learned = minibatches
        return {"loss": 0.5}


@pytest.fixture(scope="module")
def algorithm():
    page = (Path(__file__).parents[2] / "docs" / "integrations.md").read_text()
    (block,) = re.findall(r"```py\n([^`]*class ProRandConv\(ERM\)[^`]*)```", page)
    assert len(block.splitlines()) < 40
    exec(block, space := {"ERM": ERM})
    return space["ProRandConv"]


def test_each_domain_has_originals_and_augmented_images_of_a_draw_of_its_own(algorithm):
    made = algorithm((3, 28, 28), 2, 3, {})
    x, y = torch.rand(4, 3, 28, 28), torch.arange(4)
    assert made.update([(x, y), (x, y)]) == {"loss": 0.5}
    (first, labels), (second, _) = made.learned
    assert torch.equal(first[:4], x)
    assert torch.equal(second[:4], x)
    assert labels.tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
    assert not torch.isclose(first[4:], second[4:]).all()


@pytest.mark.parametrize(
    ("size", "low", "high"), [(28, (0.0,) * 3, (1.0,) * 3), (224, (-2.118, -2.036, -1.805), None)]
)
def test_augmented_images_have_the_range_of_the_data_set(algorithm, size, low, high):
    high = high or (2.249, 2.429, 2.641)
    made = algorithm((3, size, size), 2, 3, {})
    learned = []
    for _ in range(8):
        made.update([(torch.rand(2, 3, size, size), torch.arange(2))])
        learned.append(made.learned[0][0][2:])
    images = torch.cat(learned)
    span = torch.tensor(high) - torch.tensor(low)
    lowest, highest = images.amin((0, 2, 3)), images.amax((0, 2, 3))
    assert (lowest >= torch.tensor(low) - 1e-3).all()
    assert (highest <= torch.tensor(high) + 1e-3).all()
    assert (highest - lowest > 0.7 * span).all()


def test_checkpoints_are_those_of_the_algorithm(algorithm):
    assert list(algorithm((3, 28, 28), 2, 3, {}).state_dict()) == []
