"""What both tasks must do alike."""

import pytest
import torch
import torch.nn.functional as F

from prorandconv.errors import ProRandConvError
from prorandconv.lab.data import get_benchmark
from prorandconv.lab.run.evaluation import evaluate
from prorandconv.lab.tasks import TASKS, get_task

NETWORKS = {"classification": "lenet", "segmentation": "deeplabv3plus-resnet18"}


def test_an_unknown_task_is_refused_with_the_nearest_one():
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
    scenes = get_benchmark("shapes-mini").load("plain", "test").limited(4)
    scenes.scenes.scenes[:, 3] = (scenes.scenes.scenes[:, 0] > 123).byte()
    scenes.classes = ("dark", "bright")
    found = evaluate(Fixed(True), scenes, get_task("segmentation"))
    assert found.score == 100
    assert found.counted == 4 * 64 * 64
