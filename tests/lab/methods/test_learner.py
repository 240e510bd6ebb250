"""The contract of methods: whatever a learner owns is trained, resumed and equal everywhere."""

import pytest
import torch
import torch.nn.functional as F

from prorandconv.lab.methods import METHODS
from prorandconv.lab.run.config import Execution
from prorandconv.lab.run.distributed import Ranks, run_on_ranks

NAMES = ("Simple", "Teacher", "ThreeLosses", "TwoRounds", "Memory")
ONE = Ranks(torch.device("cpu"))


@pytest.fixture
def own(mini):
    import own_learners

    return own_learners


@pytest.mark.parametrize("kind", [*NAMES, *(m for m in METHODS if not m.startswith("ours-"))])
def test_four_steps_a_checkpoint_and_four_more_are_eight_steps_bit_for_bit(
    own, small_run, tmp_path, kind
):
    through, resumed = own.resumed(kind, small_run("erm"), ONE, tmp_path)
    assert through.state() == resumed.state()
    assert through.weights() != own.Trial(kind, small_run("erm"), ONE, tmp_path).weights()


def test_one_loss_is_the_plain_loop_bit_for_bit(own, small_run, tmp_path):
    config = small_run("erm")
    trial = own.Trial("Simple", config, ONE, tmp_path)
    trial.steps(0, 4)
    torch.manual_seed(0)
    network = own.network().train()
    torch.manual_seed(own.derive_seed(0, "network", 0))
    optimiser = torch.optim.SGD(network.parameters(), config.learning_rate, config.momentum)
    for number in range(4):
        generator = torch.Generator().manual_seed(number)
        images = torch.rand(own.BATCH, 3, 32, 32, generator=generator) * 2 - 1
        labels = torch.randint(10, (own.BATCH,), generator=generator)
        optimiser.zero_grad()
        F.cross_entropy(network(images), labels).backward()
        optimiser.step()
    for name, value in trial.learner.network.state_dict().items():
        assert torch.equal(value, network.state_dict()[name]), name


def test_code_after_a_round_sees_the_new_weights(own, small_run, tmp_path):
    trial = own.Trial("Teacher", small_run("erm"), ONE, tmp_path)
    before = trial.learner.network[0].weight.detach().clone()
    trial.steps(0, 1)
    after = trial.learner.network[0].weight
    assert not torch.equal(before, after)
    assert torch.allclose(trial.learner.teacher[0].weight, (before + after) / 2)


def test_all_gradients_of_a_round_are_taken_before_its_first_step(own, small_run, tmp_path):
    trials = [own.Trial("ThreeLosses", small_run("erm"), ONE, tmp_path) for _ in range(2)]
    for group in trials[1].optimisers["style"].param_groups:
        group["lr"] = 0.0  # its step, the first of the round, then changes nothing
    for trial in trials:
        torch.manual_seed(own.derive_seed(0, "network", 0))
        trial.steps(0, 1)
    styles, networks = ([getattr(t.learner, n) for t in trials] for n in ("style", "network"))
    assert not torch.equal(styles[0].weight, styles[1].weight)
    assert own.checksum(networks[0].state_dict()) == own.checksum(networks[1].state_dict())


@pytest.mark.slow
def test_two_processes_keep_equal_weights_and_resume_bit_for_bit(own, small_run, tmp_path):
    execution = Execution(runs=tmp_path, accelerator="cpu", quiet=True)
    found = run_on_ranks(own.in_each_process, small_run("erm", devices=2), execution)
    assert found.keys() == {*NAMES, *own.CLASSIFYING}
    for kind, (same, weights) in found.items():
        assert same == [True, True], kind
        assert weights[0] == weights[1], kind
