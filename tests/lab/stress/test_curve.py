"""The plot has every figure of every model."""

import torch

from prorandconv import stress
from prorandconv.lab.stress.figures import curve


def test_a_line_has_the_accuracies_of_a_model():
    x, y = torch.rand(4, 3, 8, 8) * 2 - 1, torch.arange(4)
    results = {
        name: stress(
            lambda x, label=label: torch.eye(4)[label].expand(len(x), 4),
            [(x, y if label else y * 0 + 1)],
            mean=0.5,
            std=0.5,
            draws=1,
        ).to_mapping()
        for label, name in enumerate(("ERM", "mine"))
    }
    left, right = curve(results).axes
    assert [line.get_label() for line in left.get_lines()] == ["ERM", "mine"]
    assert [list(line.get_ydata()) for line in left.get_lines()] == [[0.0] * 11, [25.0] * 11]
    assert [list(line.get_ydata()) for line in right.get_lines()] == [[0.0] * 7, [25.0] * 7]
