"""Mean intersection over union."""

import pytest
import torch
from torchmetrics.classification import MulticlassJaccardIndex

from prorandconv.lab.data.samples import ImageFormat
from prorandconv.lab.data.scenes import IGNORED, InMemoryScenes
from prorandconv.lab.run.evaluation import evaluate
from prorandconv.lab.tasks.segmentation import Overlap, Segmentation


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
    own = InMemoryScenes(scenes, classes=tuple("abcde"), split="test", format=form)
    found = evaluate(Drawn(logits), own, Segmentation())
    theirs = MulticlassJaccardIndex(5, average=None, ignore_index=IGNORED)
    labels = masks.long()
    labels[labels == 255] = IGNORED
    theirs.update(logits.argmax(1), labels)
    expected = 100 * theirs.compute().double()
    assert torch.allclose(torch.tensor(found.per_class, dtype=torch.float64), expected, atol=1e-4)
    assert found.score == pytest.approx(float(expected.mean()), abs=1e-4)
    assert found.counted == 6 * 16 * 30
