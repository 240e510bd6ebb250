"""The range that the network is fed with, and consistency of its predictions."""

import pytest
import torch
import torch.nn.functional as F

from prorandconv import ProRandConvError
from prorandconv.lab.data import ImageFormat
from prorandconv.lab.data.benchmarks.digits import FORMAT
from prorandconv.lab.methods import method_class


class Linear(torch.nn.Module):
    """A network that keeps what it is given."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(3 * 16 * 16, 4)

    def forward(self, images):
        self.images = images
        return self.layer(images.flatten(1))


@pytest.fixture
def learnt(loss_of):
    """Loss, network and labels of one mini-batch, always of the same draws."""

    def learn(**options):
        generator = torch.Generator().manual_seed(0)
        images, labels = torch.rand(6, 3, 16, 16, generator=generator) * 2 - 1, torch.arange(6) % 4
        network, method = Linear(), method_class("pro-randconv")(**options)
        return loss_of(method, network, images, labels, generator, FORMAT), network, labels

    return learn


@pytest.mark.parametrize("views", [1, 2])
def test_the_loss_adds_the_jensen_shannon_divergence_of_all_views(learnt, views):
    loss, network, labels = learnt(consistency=3.0, views=views)
    logits = network(network.images)
    chances = logits.softmax(1).chunk(1 + views)
    average = sum(chances) / len(chances)
    apart = [(one * (one / average).log()).sum(1).mean() for one in chances]
    expected = F.cross_entropy(logits, labels.repeat(1 + views)) + 3 * sum(apart) / len(apart)
    torch.testing.assert_close(loss, expected)


def test_a_second_view_has_draws_of_its_own(learnt):
    _, network, _ = learnt(views=2)
    original, first, second = network.images.chunk(3)
    assert not torch.equal(first, second)
    _, plain, _ = learnt()
    assert torch.equal(plain.images, torch.cat([original, first]))


def test_without_consistency_the_loss_is_the_papers_bit_for_bit(learnt):
    paper, network, labels = learnt()
    assert torch.equal(paper, F.cross_entropy(network(network.images), labels.repeat(2)))


def test_left_to_the_images_the_result_has_the_range_of_normalised_pixels():
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    images = torch.zeros(2, 3, 16, 16)

    def augmented(form, **options):
        augment = method_class("pro-randconv")(**options).augmentation(form)
        return augment(images + torch.arange(16) / 16, torch.Generator().manual_seed(0))

    imagenet = ImageFormat(16, mean, std, base_augmentation=False)
    in_tanh = augmented(imagenet, output="tanh")
    lowest, spread = torch.tensor(mean).view(3, 1, 1), torch.tensor(std).view(3, 1, 1)
    torch.testing.assert_close(augmented(imagenet), ((in_tanh + 1) / 2 - lowest) / spread)
    assert torch.equal(augmented(FORMAT), augmented(FORMAT, output="tanh"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"consistency": -1.0}, "consistency: got -1.0, expected a number from 0"),
        ({"consistency": float("nan")}, "consistency: got nan"),
        ({"views": 3}, "views: got 3, expected 1 or 2"),
        ({"consistency": 1.0, "selection": "uniform"}, "selection: got 'uniform', expected both"),
    ],
)
def test_what_cannot_be_compared_raises_an_error(options, message):
    with pytest.raises(ProRandConvError, match=message):
        method_class("pro-randconv")(**options)
