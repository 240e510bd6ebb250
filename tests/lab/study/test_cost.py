"""What a step costs, and which runs share an estimate."""

import pytest
import torch

from prorandconv.lab.run.config import Execution, RunConfig
from prorandconv.lab.run.training import train
from prorandconv.lab.study.estimate import Estimator, Pace, Step


@pytest.mark.parametrize(
    ("precision", "kind"), [("32-true", torch.float32), ("bf16-mixed", torch.bfloat16)]
)
def test_steps_are_timed_in_the_precision_of_the_run(mini, precision, kind):
    config = RunConfig.paper("digits-mini", method="erm", precision=precision)
    step = Step(config, torch.device("cpu"), 4)
    seen = []
    convolution = next(m for m in step.network.modules() if isinstance(m, torch.nn.Conv2d))
    convolution.register_forward_hook(lambda module, inputs, output: seen.append(output.dtype))
    assert step.train() > 0
    assert step.infer() > 0
    assert seen == [kind, kind]


def test_runs_of_other_precision_are_timed_by_themselves(mini, tmp_path, monkeypatch):
    paces = {"32-true": Pace(2.0, 0.0), "bf16-mixed": Pace(1.0, 0.0)}
    monkeypatch.setattr(Estimator, "_pace", lambda self, config: paces[config.precision])
    configs = [
        RunConfig.paper("digits-mini", method="erm", epochs=1, precision=name) for name in paces
    ]
    slow, fast = Estimator(tmp_path, torch.device("cpu"), 1).seconds(configs)
    assert slow == 2 * fast > 0


def test_a_run_needs_its_weights_and_up_to_three_checkpoints_until_it_is_done(small_run, tmp_path):
    config = small_run("erm", epochs=1, train_images=64, test_images=40)
    train(config, Execution(runs=tmp_path, quiet=True, keep_checkpoint=True))
    folder = config.directory(tmp_path)
    estimator = Estimator(tmp_path, torch.device("cpu"), 1)
    estimator.seconds([config])
    (disk,) = (pace.disk for pace in estimator._paces.values())
    assert disk.weights == pytest.approx((folder / "best.safetensors").stat().st_size, abs=2000)
    assert disk.checkpoint == pytest.approx((folder / "state.pt").stat().st_size, abs=30_000)
    assert disk.checkpoint > 2 * disk.weights
    assert estimator.disk([config], 1, keep=False) == disk.weights + 3 * disk.checkpoint
    assert estimator.disk([config] * 5, 2, keep=False) == 5 * disk.weights + 6 * disk.checkpoint
    assert estimator.disk([config] * 5, 2, keep=True) == 5 * disk.weights + 12 * disk.checkpoint
