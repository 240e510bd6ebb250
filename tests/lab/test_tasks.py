"""What both tasks must do alike, and mean intersection over union."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torchmetrics.classification import MulticlassJaccardIndex

from prorandconv.errors import ProRandConvError
from prorandconv.lab.data import get_benchmark
from prorandconv.lab.data.samples import ImageFormat
from prorandconv.lab.data.scenes import IGNORED, Scenes
from prorandconv.lab.run.evaluation import evaluate
from prorandconv.lab.tasks import TASKS, Overlap, Segmentation, get_task

NETWORKS = {"classification": "lenet", "segmentation": "deeplabv3plus-resnet18"}


def test_an_unknown_task_raises_an_error_with_the_nearest_one():
    with pytest.raises(ProRandConvError, match="did you mean 'segmentation'"):
        get_task("segmentaton")


@pytest.mark.parametrize("name", TASKS)
def test_labels_fit_the_cross_entropy_of_the_network(name):
    task = get_task(name)
    network = task.build(NETWORKS[name], classes=4, image_size=32)
    labels = task.labels(2, 4, 32)
    loss = F.cross_entropy(network(torch.zeros(2, 3, 32, 32)), labels)
    assert loss.dim() == 0
    assert set(labels.unique().tolist()) <= set(range(4))


@pytest.mark.parametrize("name", TASKS)
def test_an_evaluation_survives_being_stored(name):
    kind = get_task(name).evaluation
    one = kind(((5, 1, 0), (2, 7, 0), (0, 0, 0)))
    stored = one.to_mapping()
    assert kind.from_mapping(stored) == one
    assert stored[kind.metric] == one.score
    assert stored["per_class"][2] is None


class Fixed(torch.nn.Module):
    """Takes every pixel, or the whole image, for what its red channel says."""

    def __init__(self, pixelwise):
        super().__init__()
        self.pixelwise = pixelwise

    def forward(self, x):
        red = x[:, 0] if self.pixelwise else x[:, 0].mean((1, 2))
        return torch.stack([-red, red], 1)


def test_a_perfect_segmentation_scores_100(monkeypatch):
    plain = get_benchmark("shapes-mini").load("plain", "test").subset(4)
    plain.store.pixels[:, 3] = (plain.store.pixels[:, 0] > 123).byte()
    scenes = replace(plain, classes=("dark", "bright"))
    found = evaluate(Fixed(True), scenes, get_task("segmentation"))
    assert found.score == 100
    assert found.counted == 4 * 64 * 64


def test_intersections_over_unions_by_hand():
    found = Overlap(((6, 2), (1, 3)))
    assert found.per_class == (pytest.approx(100 * 6 / 9), pytest.approx(100 * 3 / 6))
    assert found.score == pytest.approx(100 * (6 / 9 + 3 / 6) / 2)


def test_a_class_without_pixels_is_absent_and_not_counted_as_0():
    found = Overlap(((6, 2, 1), (1, 3, 0), (0, 0, 0)))
    assert found.per_class[2] is None
    assert found.score == pytest.approx((found.per_class[0] + found.per_class[1]) / 2)


class Drawn(torch.nn.Module):
    """Logits that were drawn beforehand, whatever the image."""

    def __init__(self, logits):
        super().__init__()
        self.logits = iter(logits)

    def forward(self, x):
        return next(self.logits)[None]


def test_a_whole_set_is_measured_as_torchmetrics_does():
    generator = torch.Generator().manual_seed(0)
    masks = torch.randint(5, (6, 20, 30), generator=generator, dtype=torch.uint8)
    masks[:, :4] = 255
    logits = torch.randn(6, 5, 20, 30, generator=generator)
    logits[range(6), :, 5:] += torch.nn.functional.one_hot(masks[:, 5:].long() % 5, 5).permute(
        0, 3, 1, 2
    )
    scenes = torch.cat([torch.zeros(6, 3, 20, 30, dtype=torch.uint8), masks[:, None]], 1)
    form = ImageFormat(16, (0.5,) * 3, (0.5,) * 3, base_augmentation=True)
    own = Scenes.in_memory(scenes, classes=tuple("abcde"), split="test", format=form)
    found = evaluate(Drawn(logits), own, Segmentation())
    theirs = MulticlassJaccardIndex(5, average=None, ignore_index=IGNORED)
    labels = masks.long()
    labels[labels == 255] = IGNORED
    theirs.update(logits.argmax(1), labels)
    expected = 100 * theirs.compute().double()
    assert torch.allclose(torch.tensor(found.per_class, dtype=torch.float64), expected, atol=1e-4)
    assert found.score == pytest.approx(float(expected.mean()), abs=1e-4)
    assert found.counted == 6 * 16 * 30
