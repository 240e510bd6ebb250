import pytest
import torch

from prorandconv.lab.run.distributed import Ranks
from prorandconv.lab.run.optimisation import (
    NotFiniteError,
    learning_rate,
    optimiser_maker,
    read_losses,
    set_learning_rates,
    update,
)

ONE = Ranks(torch.device("cpu"))


@pytest.fixture
def make(small_run):
    return optimiser_maker(small_run(learning_rate=0.1, momentum=0.5, weight_decay=0.01))


def parameter(value=1.0):
    return torch.nn.Parameter(torch.tensor([value]))


def test_optimisers_are_the_configs_but_for_what_a_learner_changes(make):
    (group,) = make([parameter()], lr=0.3).param_groups
    assert (group["lr"], group["momentum"], group["weight_decay"]) == (0.3, 0.5, 0.01)


def test_the_schedule_scales_each_groups_own_rate_and_leaves_constant_ones(make, small_run):
    groups = [{"params": [parameter()], "lr": 0.4}, {"params": [parameter()], "constant": True}]
    optimiser = make(groups)
    set_learning_rates([optimiser], small_run(epochs=2, learning_rate=0.1), 1)
    rates = [group["lr"] for group in optimiser.param_groups]
    assert rates == pytest.approx([0.2, 0.1])


def test_a_gradient_is_clipped_where_its_group_says_so(small_run):
    make = optimiser_maker(small_run(learning_rate=1.0, momentum=0.0))
    clipped, free = parameter(), parameter()
    optimiser = make([{"params": [clipped], "clip": 0.5}, {"params": [free]}])
    update({"own": 3 * (clipped + free).sum()}, {"own": optimiser}, ONE)
    assert clipped.item() == pytest.approx(0.5, abs=1e-5)
    assert free.item() == pytest.approx(-2.0)


def test_parameters_that_a_loss_does_not_use_stay_as_they_are(make):
    used, unused, frozen = parameter(), parameter(), parameter().requires_grad_(False)
    optimiser = make([used, unused, frozen])
    update({"own": (used * frozen).sum()}, {"own": optimiser}, ONE)
    assert used.item() < 1
    assert unused.item() == frozen.item() == 1  # not even weight decay


@pytest.mark.parametrize(
    ("schedule", "done", "expected"),
    [
        ("cosine", 0, 0.01),
        ("cosine", 5, 0.005),
        ("cosine", 5.9, 0.005),  # which changes between epochs only
        ("poly", 0, 0.01),
        ("poly", 2.5, 0.01 * 0.75**0.9),
        ("step", 7.9, 0.01),
        ("step", 8, 0.001),
        ("constant", 7.5, 0.01),
    ],
)
def test_the_learning_rate_follows_the_schedule(small_run, schedule, done, expected):
    config = small_run(epochs=10, learning_rate=0.01, schedule=schedule)
    assert learning_rate(config, done) == pytest.approx(expected)


def test_nesterov_is_sgd_that_looks_ahead(small_run):
    found = {}
    for kind in ("sgd", "nesterov"):
        one = parameter()
        optimiser = optimiser_maker(small_run(optimiser=kind, learning_rate=0.1))([one])
        for _ in range(2):
            update({"own": one.square().sum() / 2}, {"own": optimiser}, ONE)
        found[kind] = one.item()
    # Velocities: 1, then .9 + θ; Nesterov steps by its gradient and .9 of the new velocity.
    assert found["sgd"] == pytest.approx(0.9 - 0.1 * (0.9 + 0.9))
    first = 1 - 0.1 * (1 + 0.9)
    assert found["nesterov"] == pytest.approx(first - 0.1 * (first + 0.9 * (0.9 + first)))


def test_losses_of_steps_are_read_at_once_and_the_first_of_each_counts():
    steps = [([torch.tensor(0.5), torch.tensor(9.0)], 4), ([torch.tensor(0.25)], 2)]
    assert read_losses(steps, ONE) == [2.0, 0.5]
    assert read_losses([], ONE) == []


def test_any_loss_that_is_not_finite_is_named_with_those_of_its_step():
    steps = [([torch.tensor(1.0)], 2), ([torch.tensor(3.0), torch.tensor(float("nan"))], 2)]
    with pytest.raises(NotFiniteError, match=r"the loss is 3\.0 and nan"):
        read_losses(steps, ONE)
