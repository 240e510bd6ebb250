import pytest
import torch
import torch.nn.functional as F

from prorandconv import ProRandConvError
from prorandconv.lab.methods import METHODS, method_class
from prorandconv.lab.methods.augmenting import divergence
from prorandconv.lab.methods.contract import Classifying
from prorandconv.lab.methods.whitening import Normalising
from prorandconv.lab.models import LeNet

CLASSIFYING = [
    name
    for name in METHODS
    if not name.startswith("ours-")
    and not issubclass(method_class(name), Classifying | Normalising)
]
"""Versions of pro-randconv for segmentation are tested in test_ours.py, methods with learners of
their own in test_rivals.py, and normalisations of a ResNet in test_whitening.py."""

VARIANTS = [
    *((name, {}) for name in CLASSIFYING),
    ("randconv", {"consistency": False}),
    ("randconv", {"mix": True}),
    ("progressive", {"weights": "different"}),
    ("pro-randconv", {"smoothing": None, "offsets": None}),
    ("pro-randconv", {"selection": "uniform"}),
]


class Seen(torch.nn.Module):
    """A network that keeps what it is given and cannot tell classes apart."""

    def __init__(self):
        super().__init__()
        self.pool = torch.nn.AvgPool2d(2)

    def forward(self, images):
        self.images = images
        brightness = self.pool(images).mean((1, 2, 3))[:, None]
        return torch.zeros(len(images), 10, requires_grad=True) + brightness


def batch():
    generator = torch.Generator().manual_seed(0)
    return torch.rand(6, 3, 32, 32, generator=generator) * 2 - 1, torch.arange(6)


@pytest.fixture
def seen_by(loss_of):
    """What a method shows the network of a mini-batch, and its loss."""

    def see(method, seed=0, **options):
        network, (images, labels) = Seen(), batch()
        loss = loss_of(method_class(method)(**options), network, images, labels, seed)
        return images, network.images, loss

    return see


@pytest.mark.parametrize(("method", "options"), VARIANTS)
def test_each_method_but_erm_learns_something_else_than_erm(method, options, loss_of):
    torch.manual_seed(0)
    network, (images, labels) = LeNet(10), batch()
    own = method_class(method)(**options)
    losses = [loss_of(own, network, images, labels, seed) for seed in range(6)]
    erm = F.cross_entropy(network(images), labels)
    assert all(loss.requires_grad for loss in losses)
    assert all(torch.equal(loss, erm) for loss in losses) == (method == "erm")


def test_each_method_that_is_drawn_has_a_label_of_its_own():
    labels = [method_class(name)().style for name in METHODS]
    shown = [style.label for style in labels if style is not None]
    assert len(set(shown)) == len(shown)
    assert method_class("progressive")(weights="different").style.label == "Progressive (Diff)"


@pytest.mark.parametrize("method", CLASSIFYING)
def test_a_state_of_the_generator_decides_the_loss(seen_by, method):
    torch.manual_seed(1)
    _, once, loss = seen_by(method)
    torch.manual_seed(1)
    _, again, same = seen_by(method)
    assert torch.equal(once, again)
    assert torch.equal(loss, same)


@pytest.mark.parametrize("method", CLASSIFYING)
def test_no_method_draws_from_the_networks_generator(loss_of, method):
    before = torch.get_rng_state()
    network, generator = Seen(), torch.Generator().manual_seed(0)
    loss_of(method_class(method)(), network, torch.zeros(6, 3, 32, 32), torch.arange(6), generator)
    assert torch.equal(torch.get_rng_state(), before)


def test_erm_learns_from_the_images_as_they_are(seen_by):
    images, seen, _ = seen_by("erm")
    assert torch.equal(images, seen)


def test_pro_randconv_learns_from_original_and_augmented_images_in_one_pass(seen_by):
    images, seen, _ = seen_by("pro-randconv")
    assert seen.shape[0] == 12
    assert torch.equal(seen[:6], images)
    assert not torch.equal(seen[6:], images)


@pytest.mark.parametrize(("selection", "count"), [("augmented", 6), ("both", 12), (0.5, 6)])
def test_every_selection_strategy_is_an_option(seen_by, selection, count):
    assert seen_by("pro-randconv", selection=selection)[1].shape[0] == count


def test_the_components_can_be_switched_off(seen_by):
    _, seen, _ = seen_by(
        "pro-randconv",
        contrast=False,
        smoothing=None,
        offsets=None,
        repeats=1,
        selection="augmented",
    )
    _, plain, _ = seen_by("progressive", repeats=1, selection="augmented")
    assert torch.equal(seen, plain)


def test_randconv_takes_three_views_of_the_original(seen_by):
    assert seen_by("randconv")[1].shape[0] == 18
    assert seen_by("randconv", consistency=False)[1].shape[0] == 6


def test_mixing_never_leaves_images_as_they_are(seen_by):
    for seed in range(20):
        images, seen, _ = seen_by("randconv", seed, consistency=False, mix=True)
        assert not torch.equal(images, seen)


def test_without_mixing_half_of_the_views_are_the_original(seen_by):
    same = [torch.equal(*seen_by("randconv", s, consistency=False)[:2]) for s in range(200)]
    assert 70 < sum(same) < 130


def test_equal_predictions_do_not_diverge_and_others_do_by_the_definition():
    one, other, third = torch.randn(3, 5, 10)
    assert divergence((one, one, one)).item() == pytest.approx(0, abs=1e-6)
    p = torch.stack([one, other, third]).softmax(-1)
    mean = p.mean(0)
    expected = sum(F.kl_div(mean.log(), q, reduction="batchmean") for q in p) / 3
    assert divergence((one, other, third)).item() == pytest.approx(expected.item(), rel=1e-5)


def test_lambda_is_5_and_with_mixing_10(seen_by):
    def at(weight, mix):
        return seen_by("randconv", 3, consistency_weight=weight, mix=mix)[2]

    for mix, weight in ((False, 5.0), (True, 10.0)):
        assert torch.equal(at(None, mix), at(weight, mix))


def test_grayscale_makes_channels_equal(seen_by):
    seen = seen_by("grayscale", p=1.0)[1]
    assert torch.allclose(seen[:, 0], seen[:, 1])


def test_a_users_function_is_a_method_and_its_keywords_are_options(loss_of, mini):
    images, labels = batch()
    network, method = Seen(), method_class("own_lab:weighted")(weight=3.0)
    expected = 3 * F.cross_entropy(network(images), labels)
    assert torch.allclose(loss_of(method, network, images, labels), expected)


def test_a_function_that_cannot_be_imported_is_named():
    with pytest.raises(ProRandConvError, match="nowhere:loss"):
        method_class("nowhere:loss")
