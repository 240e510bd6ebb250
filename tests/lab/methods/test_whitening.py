"""IBN-Net, IterNorm, SW and ISW against their formulas, written with loops."""

import itertools

import pytest
import torch

from prorandconv.lab.methods import normalisations, whitening

EPS = 1e-5


def _mean_and_covariance(columns):
    """Of vectors that are the columns of a matrix."""
    size, count = columns.shape
    mean = sum(columns.unbind(1)) / count
    rows = []
    for i in range(size):
        row = []
        for j in range(size):
            products = [(columns[i, k] - mean[i]) * (columns[j, k] - mean[j]) for k in range(count)]
            row.append(sum(products) / count)
        rows.append(torch.stack(row))
    return mean, torch.stack(rows)


def _softmax(values):
    total = sum(torch.exp(one) for one in values)
    return [torch.exp(one) / total for one in values]


def _inverse_root(covariance, steps=5):
    """Newton's iteration: P ← 1.5 P - .5 P³ Σ / tr Σ."""
    size = len(covariance)
    trace = sum(covariance[i, i] for i in range(size))
    root = torch.eye(size, dtype=covariance.dtype)
    for _ in range(steps):
        root = 1.5 * root - 0.5 * root @ root @ root @ covariance / trace
    return root / torch.sqrt(trace)


def reference_whitening(x, scale, shift, group, weights=None, batch=None):
    """Groups of channels are whitened by moments of the batch, blended with each image's own.

    ``weights``: of the means and of the covariances, each (batch, image); None: the batch's alone.
    ``batch``: moments (mean, covariance) of each group in place of the mini-batch's.
    """
    count, channels, height, width = x.shape
    images = [[] for _ in range(count)]
    for number, first in enumerate(range(0, channels, group)):
        part = x[:, first : first + group]
        columns = torch.cat([one.reshape(group, -1) for one in part], 1)
        mean, covariance = batch[number] if batch else _mean_and_covariance(columns)
        for image in range(count):
            own = part[image].reshape(group, -1)
            mixed_mean, mixed = mean, covariance
            if weights is not None:
                own_mean, own_covariance = _mean_and_covariance(own)
                means, covariances = _softmax(weights[0]), _softmax(weights[1])
                mixed_mean = means[0] * mean + means[1] * own_mean
                mixed = covariances[0] * covariance + covariances[1] * own_covariance
            root = _inverse_root(mixed + EPS * torch.eye(group, dtype=x.dtype))
            white = root @ (own - mixed_mean[:, None])
            for i in range(group):
                channel = first + i
                images[image].append(white[i].view(height, width) * scale[channel] + shift[channel])
    return torch.stack([torch.stack(one) for one in images])


def reference_instance_norm(x, scale=None, shift=None):
    images = []
    for image in x:
        channels = []
        for number, channel in enumerate(image):
            mean = sum(v for row in channel for v in row) / channel.numel()
            variance = sum((v - mean) ** 2 for row in channel for v in row) / channel.numel()
            new = (channel - mean) / torch.sqrt(variance + EPS)
            channels.append(new if scale is None else new * scale[number] + shift[number])
        images.append(torch.stack(channels))
    return torch.stack(images)


def reference_covariance(x):
    """f fᵀ / (HW - 1) + ε I of each image."""
    images = []
    for image in x:
        size, places = len(image), [one.flatten() for one in image]
        rows = []
        for i in range(size):
            row = []
            for j in range(size):
                total = sum(a * b for a, b in zip(places[i], places[j], strict=True))
                row.append(total / (len(places[0]) - 1) + (EPS if i == j else 0))
            rows.append(torch.stack(row))
        images.append(torch.stack(rows))
    return torch.stack(images)


def reference_sensitivity(plain, changed):
    """Mean over images of the variance of each entry between an image and its change."""
    total = torch.zeros(plain.shape[1:], dtype=plain.dtype)
    for one, other in zip(plain, changed, strict=True):
        for i in range(len(total)):
            for j in range(len(total)):
                middle = (one[i, j] + other[i, j]) / 2
                total[i, j] += (one[i, j] - middle) ** 2 + (other[i, j] - middle) ** 2
    return total / len(plain)


def reference_mask(sensitivity):
    """Entries above the diagonal that are not in the lowest of three clusters: the split of the
    sorted values with the smallest sum of squared distances from the clusters' means."""
    size = len(sensitivity)
    places = [(i, j) for i in range(size) for j in range(i + 1, size)]
    values = sorted(float(sensitivity[place]) for place in places)

    def cost(part):
        mean = sum(part) / len(part)
        return sum((value - mean) ** 2 for value in part)

    splits = itertools.combinations(range(1, len(values)), 2)
    first, _ = min(
        splits,
        key=lambda s: cost(values[: s[0]]) + cost(values[s[0] : s[1]]) + cost(values[s[1] :]),
    )
    mask = torch.zeros(size, size)
    for place in places:
        mask[place] = float(sensitivity[place]) >= values[first]
    return mask


def reference_loss(outputs, masks):
    """Mean over layers and images of Σ |masked covariance| / number of masked entries."""
    total = 0.0
    for x, mask in zip(outputs, masks, strict=True):
        for covariance in reference_covariance(x):
            size = len(covariance)
            entries = [(i, j) for i in range(size) for j in range(size) if mask[i, j]]
            total = total + sum(covariance[place].abs() for place in entries) / (
                len(entries) * len(x) * len(outputs)
            )
    return total


def _whitening(kind, channels):
    made = {"sw": normalisations.SwitchableWhitening, "iternorm": normalisations.IterNorm}[kind]
    return made(channels, group=4).double()


@pytest.mark.parametrize("kind", ["sw", "iternorm"])
def test_whitening_is_its_formula(agree, kind):
    layer, switched = _whitening(kind, 8), kind == "sw"
    names = ["weight", "bias", *(["mean_weights", "covariance_weights"] if switched else [])]

    def found(x, *values):
        parameters = dict(zip(names, values, strict=True))
        return torch.func.functional_call(layer, parameters, (x,))

    agree(
        found,
        lambda x, scale, shift, *weights: reference_whitening(x, scale, shift, 4, weights or None),
        torch.randn(3, 8, 3, 4) * 2 + 1,
        torch.randn(8),
        torch.randn(8),
        *([torch.randn(2), torch.randn(2)] if switched else []),
    )


@pytest.mark.parametrize("kind", ["sw", "iternorm"])
def test_evaluation_uses_running_moments(kind):
    layer = _whitening(kind, 8)
    batches = torch.randn(4, 3, 8, 3, 4).double() * 2 + 1
    means = [torch.zeros(4).double() for _ in range(2)]
    covariances = [torch.eye(4).double() for _ in range(2)]
    for x in batches[:3]:
        layer(x)
        for number in range(2):
            part = x[:, 4 * number : 4 * number + 4]
            columns = torch.cat([one.reshape(4, -1) for one in part], 1)
            mean, covariance = _mean_and_covariance(columns)
            means[number] = 0.99 * means[number] + 0.01 * mean
            covariances[number] = 0.99 * covariances[number] + 0.01 * covariance
    before = {name: value.clone() for name, value in layer.state_dict().items()}
    found = layer.eval()(batches[3])
    weights = (torch.ones(2).double(), torch.ones(2).double()) if kind == "sw" else None
    moments = list(zip(means, covariances, strict=True))
    scale, shift = torch.ones(8).double(), torch.zeros(8).double()
    expected = reference_whitening(batches[3], scale, shift, 4, weights, moments)
    torch.testing.assert_close(found, expected)
    assert all(torch.equal(value, before[name]) for name, value in layer.state_dict().items())


def test_channels_must_fill_the_groups():
    from prorandconv import ProRandConvError

    with pytest.raises(ProRandConvError, match="group"):
        normalisations.IterNorm(24, group=16)


def _block(kind):
    from torchvision.models.resnet import BasicBlock, Bottleneck

    block = BasicBlock(8, 8) if kind == "basic" else Bottleneck(8, 2)
    return block.double().eval()


@pytest.mark.parametrize("kind", ["basic", "bottleneck"])
def test_a_block_normalises_between_sum_and_last_relu(kind):
    block, x = _block(kind), torch.randn(2, 8, 5, 6).double()
    out, last = x, 2 if kind == "basic" else 3
    for number in range(1, last + 1):
        out = getattr(block, f"bn{number}")(getattr(block, f"conv{number}")(out))
        out = out.relu() if number < last else out
    expected = reference_instance_norm(out + x).relu()
    keys = set(block.state_dict())
    changed = normalisations.NormalisedBlock(block, torch.nn.InstanceNorm2d(8))
    torch.testing.assert_close(changed(x), expected)
    assert set(changed.state_dict()) == keys  # weights keep their names


def test_covariances_and_sensitivities_are_their_formulas(agree):
    agree(whitening.covariances, reference_covariance, torch.randn(3, 4, 3, 5))
    plain, changed = torch.randn(2, 3, 4, 4).double()
    torch.testing.assert_close(
        whitening.sensitivity(plain, changed), reference_sensitivity(plain, changed)
    )


@pytest.mark.parametrize("seed", range(5))
def test_masked_entries_are_outside_of_the_lowest_of_three_clusters(seed):
    generator = torch.Generator().manual_seed(seed)
    sensitivity = torch.rand(7, 7, generator=generator).double() ** 4
    found = whitening.sensitive_entries(sensitivity)
    assert torch.equal(found.float(), reference_mask(sensitivity))
    assert 0 < found.sum() < 21


def test_the_loss_is_its_formula(agree):
    masks = [torch.rand(4, 4).triu(1) > 0.3, torch.rand(6, 6).triu(1) > 0.5]
    agree(
        lambda *outputs: whitening.isw_loss(outputs, masks),
        lambda *outputs: reference_loss(outputs, masks),
        torch.randn(2, 4, 3, 5),
        torch.randn(2, 6, 3, 2),
    )


def _network(name="deeplabv3plus-resnet18"):
    from prorandconv.lab.models import build_segmenter

    return build_segmenter(name, classes=5, image_size=64)


def _info(epochs=4):
    from prorandconv.lab.data.samples import ImageFormat
    from prorandconv.lab.methods.learner import RunInfo

    form = ImageFormat(64, (0.5, 0.5, 0.5), (0.25, 0.25, 0.25), True)
    return RunInfo(form, 5, 1, epochs, 2, None, lambda tensor: tensor)


@pytest.mark.parametrize(
    ("name", "channels"),
    [("deeplabv3plus-resnet18", [64, 64, 128]), ("unet-resnet50", [64, 256, 512])],
)
def test_three_places_of_an_encoder_are_normalised(name, channels):
    network = _network(name)
    found = normalisations.normalise(
        network, lambda count: torch.nn.InstanceNorm2d(count, affine=True)
    )
    last = {"deeplabv3plus-resnet18": (1, 1), "unet-resnet50": (2, 3)}[name]
    names = ["bn1", *(f"layer{stage + 1}.{block}.norm" for stage, block in enumerate(last))]
    assert found == dict(zip([f"model.encoder.{one}" for one in names], channels, strict=True))
    norms = [m for m in network.modules() if isinstance(m, torch.nn.InstanceNorm2d)]
    assert [norm.num_features for norm in norms] == channels
    assert network(torch.rand(2, 3, 64, 64)).shape == (2, 5, 64, 64)


def test_a_network_without_a_resnet_is_named():
    from prorandconv import ProRandConvError
    from prorandconv.lab.models import LeNet

    with pytest.raises(ProRandConvError, match=r"network.*LeNet.*ResNet"):
        whitening.IBNNet().learner(LeNet(10), _info())


class Scenes:
    """Images in the stored order, as a learner goes through them."""

    def __init__(self, images):
        self.images = images

    def batches(self, size, *, shard, device):
        for image in self.images[shard[0] :: shard[1]].split(size):
            yield image.to(device), torch.zeros(len(image), 64, 64).long()


def test_covariances_are_chosen_once_and_then_driven_to_0():
    from prorandconv.lab.data.samples import Batch

    method = whitening.ISW(start=1, trials=2, images=3)
    learner = method.learner(_network().eval(), _info())
    source, generator = Scenes(torch.randn(5, 3, 64, 64)), torch.Generator().manual_seed(0)
    stops = []
    labels = torch.randint(5, (2, 64, 64))
    batch = Batch(source.images[:2], labels, torch.zeros(2, dtype=torch.long))

    def loss():
        learner.eval()
        (losses,) = learner.step(batch, generator)
        return losses["network"].item()

    plain = torch.nn.functional.cross_entropy(learner.network(batch.images), labels).item()
    learner.begin_epoch(0, source, generator, lambda: stops.append(0))
    assert loss() == pytest.approx(plain)
    learner.begin_epoch(1, source, generator, lambda: stops.append(0))
    assert len(stops) == 2 * 3
    masks = [mask.clone() for mask in learner.masks]
    assert all(mask.any() and not mask.tril().any() for mask in masks)
    outputs = []
    hooks = [
        learner.network.get_submodule(name).register_forward_hook(
            lambda module, inputs, output: outputs.append(output)
        )
        for name in learner.layers
    ]
    learner.network(batch.images)
    for hook in hooks:
        hook.remove()
    assert loss() == pytest.approx(
        plain + 0.6 * whitening.isw_loss(outputs, masks).item(), rel=1e-5
    )
    learner.begin_epoch(2, source, generator, lambda: stops.append(0))
    assert len(stops) == 6
    resumed = method.learner(_network(), _info())
    resumed.load_state_dict(learner.state_dict())
    assert resumed.chosen
    assert all(torch.equal(*pair) for pair in zip(resumed.masks, masks, strict=True))


def test_the_lowest_cluster_of_many_values_is_found():
    generator = torch.Generator().manual_seed(0)
    groups = [torch.randn(5000, generator=generator) * 0.1 + middle for middle in (0, 2, 5)]
    values = torch.cat(groups).double().sort().values.numpy()
    assert whitening.lowest_cluster(values) == 5000


def test_a_run_trains_and_its_stored_network_is_the_evaluated_one(tmp_path):
    from prorandconv.lab.run.config import Execution, RunConfig
    from prorandconv.lab.run.trained import load_trained
    from prorandconv.lab.run.training import train

    options = {"start": 1, "trials": 1, "images": 2}
    config = RunConfig.paper("shapes-mini", method="isw", options=options, epochs=2)
    config = config.with_changes(train_images=8, test_images=2, target_every=0)
    train(config, Execution(runs=tmp_path, quiet=True))
    network = load_trained(config.directory(tmp_path)).network
    norms = [m for m in network.modules() if isinstance(m, torch.nn.InstanceNorm2d)]
    assert [norm.num_features for norm in norms] == [64, 64, 128]
