"""What every method of the literature has to do, beside its formulas."""

import json
from dataclasses import replace

import pytest
import torch
import torchvision
from torch import nn

from prorandconv import ProRandConvError
from prorandconv.lab.methods import method_class
from prorandconv.lab.models import LeNet
from prorandconv.lab.run.config import Execution, RunConfig
from prorandconv.lab.run.distributed import Ranks
from prorandconv.lab.run.evaluation import evaluate
from prorandconv.lab.run.optimisation import learn, optimiser_maker
from prorandconv.lab.run.recipes import with_recipe
from prorandconv.lab.run.trained import load_trained
from prorandconv.lab.run.training import train
from prorandconv.lab.tasks import get_task


class Source:
    """Training images of one mini-batch."""

    def __init__(self, batch):
        self.batch = batch

    def batches(self, count, device, shard):
        return [self.batch[:2]]


RIVALS = {
    "ada": {},
    "me-ada": {},
    "m-ada": {"coder_epochs": 1},
    "l2d": {},
    "jigen": {},
    "sagnet": {},
    "fact": {},
    "pden": {},
    "mixstyle": {},
    "efdmix": {},
    "dsu": {},
    "rsc": {},
    "alt": {"start": 0.0, "ascent_steps": 1, "hidden": 4},
    "advst": {"ascent_steps": 3, "eta": 0.1},  # with η = 10 it takes longer than two epochs
    "aaua": {},
}
"""Names, and options that make them quick."""


@pytest.mark.parametrize("name", RIVALS)
def test_two_epochs_on_digits_mini_beat_chance(name, small_run, tmp_path):
    config = small_run(
        name,
        options=RIVALS[name],
        network="own_learners:network",
        epochs=2,
        train_images=640,
        target_every=0,
    )
    train(config, Execution(runs=tmp_path, quiet=True))
    folder = config.directory(tmp_path)
    lines = [json.loads(one) for one in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [line["images"] for line in lines] == [640, 640]
    best = max(line["val_accuracy"] for line in lines)
    assert best > 40
    trained = load_trained(folder, trust_code=True)
    validation = trained.benchmark.load(("mnist",), "val").subset(100)
    found = evaluate(trained.network, validation, get_task("classification"))
    assert found.score == best


@pytest.mark.parametrize("name", RIVALS)
def test_the_generator_decides_the_losses_and_the_networks_is_left_alone(name, info, batch):
    found = []
    for seed in (0, 0, 1):
        torch.manual_seed(2)
        learner = method_class(name)(**RIVALS[name]).learner(LeNet(5, 16), info).train()
        if "done" in dict(learner.named_buffers()):
            learner.done.fill_(35)  # of 40 steps: schedules are under way
        before, generator = torch.get_rng_state(), torch.Generator().manual_seed(seed)
        learner.begin_epoch(1, Source(batch), generator, lambda: None)
        rounds = learner.step(batch, generator)
        found.append([loss.item() for losses in rounds for loss in losses.values()])
        assert torch.equal(torch.get_rng_state(), before)
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize("name", RIVALS)
def test_a_resnet_learns_from_it_in_half_precision(name, info, batch, small_run):
    info = replace(info, format=replace(info.format, image_size=64))
    batch = batch._replace(images=nn.functional.interpolate(batch.images, size=64))
    network = torchvision.models.resnet18(num_classes=5)
    learner = method_class(name)(**RIVALS[name]).learner(network, info).train()
    if "done" in dict(learner.named_buffers()):
        learner.done.fill_(35)
    optimisers = learner.optimisers(optimiser_maker(small_run(learning_rate=0.01)))
    before = {kind: [one.clone() for one in learnt(opt)] for kind, opt in optimisers.items()}
    generator, ranks = torch.Generator().manual_seed(0), Ranks(torch.device("cpu"))
    learner.begin_epoch(1, Source(batch), generator, lambda: None)
    losses, _ = learn(learner, optimisers, batch, generator, ranks, "bf16-mixed")
    assert all(torch.isfinite(loss) for loss in losses)
    for kind, optimiser in optimisers.items():
        pairs = zip(learnt(optimiser), before[kind], strict=True)
        assert any(not torch.equal(new, old) for new, old in pairs)
        assert all(torch.isfinite(one).all() for one in learnt(optimiser))


def learnt(optimiser):
    return [one.detach() for group in optimiser.param_groups for one in group["params"]]


@pytest.mark.parametrize("name", RIVALS)
def test_masks_are_not_what_it_trains_for(name):
    with pytest.raises(ProRandConvError, match=rf"method: got '{name}'.*segmentation"):
        RunConfig.paper("shapes-mini", "plain", name)


@pytest.mark.parametrize("name", ["l2d", "jigen", "pden"])
def test_a_network_without_a_linear_classifier_raises_before_anything_starts(name, info):
    network = torchvision.models.squeezenet1_1(num_classes=5)
    with pytest.raises(ProRandConvError, match=r"network: got 'SqueezeNet.*Conv2d"):
        method_class(name)().learner(network, info)


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ((nn.MaxPool2d(2), nn.Flatten(), nn.Linear(192, 5)), "a pooling behind a convolution"),
        ((nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(784, 5)), "a pooling behind a convolution"),
    ],
)
def test_sagnet_raises_for_a_network_that_it_cannot_divide(layers, message, info):
    with pytest.raises(ProRandConvError, match=f"network: got 'Sequential'.*{message}"):
        method_class("sagnet")().learner(nn.Sequential(*layers), info)


class Shortcut(nn.Sequential):
    """Its last layer sees more than the layer before it gives."""

    def forward(self, x):
        return super().forward(x) + x.mean((1, 2, 3))[:, None]


def test_sagnet_raises_for_layers_that_do_not_follow_each_other(info):
    network = Shortcut(nn.Conv2d(3, 4, 3), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(196, 5))
    with pytest.raises(ProRandConvError, match="whose layers follow each other"):
        method_class("sagnet")().learner(network, info)
    with pytest.raises(ProRandConvError, match=r"layer: got 'conv7'.*0, 1, 2, 3"):
        method_class("sagnet")(layer="conv7").learner(network, info)


def test_l2d_raises_for_images_that_are_smaller_than_its_kernels(info):
    network = nn.Sequential(nn.Flatten(), nn.Linear(768, 5))
    with pytest.raises(ProRandConvError, match="image_size: got 16, expected at least 17 pixels"):
        method_class("l2d")(form="large").learner(network, info)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("ada", {"growths": 0}, "growths: got 0, expected an integer from 1"),
        ("me-ada", {"eta": -1.0}, "eta: got -1.0, expected a number from 0"),
        ("m-ada", {"inner_rate": 0.0}, "inner_rate: got 0.0, expected a number above 0"),
        ("l2d", {"temperature": float("nan")}, "temperature: got nan, expected a number above 0"),
        ("jigen", {"p": 1.5}, "p: got 1.5, expected a number from 0 to 1"),
        ("sagnet", {"clip": float("inf")}, "clip: got inf, expected a number above 0"),
        ("fact", {"decay": -0.1}, "decay: got -0.1, expected a number from 0 to 1"),
        ("pden", {"domains": -3}, "domains: got -3, expected an integer from 1"),
    ],
)
def test_an_option_out_of_its_limits_is_named(name, options, message):
    with pytest.raises(ProRandConvError, match=message):
        method_class(name)(**options)


@pytest.mark.parametrize(
    ("name", "benchmark"), [(n, b) for n in RIVALS for b in method_class(n).authors]
)
def test_the_authors_recipe_changes_the_run_and_nothing_of_the_method(name, benchmark):
    ours = RunConfig.paper(benchmark, method=name)
    theirs = with_recipe(ours, "authors")
    declared = dict(method_class(name).authors[benchmark])
    options = declared.pop("options", {})
    assert {field: getattr(theirs, field) for field in declared} == declared
    assert theirs.options == ours.options
    assert {option: getattr(ours.options, option) for option in options} == options
    assert theirs.hash != ours.hash
    assert theirs.identity.image_size == declared.get("image_size", ours.identity.image_size)


def test_a_benchmark_without_an_authors_recipe_raises():
    with pytest.raises(ProRandConvError, match=r"authors with pden on pacs.*recipe on digits"):
        with_recipe(RunConfig.paper("pacs", method="pden"), "authors")


def test_the_options_of_a_benchmark_are_its_defaults_only():
    assert RunConfig.paper("pacs", method="ada").options.gamma == 10
    assert RunConfig.paper("pacs", method="ada", options={"gamma": 2.0}).options.gamma == 2
    assert RunConfig.paper("pacs", method="ada", options={"gamma": 2.0}).options.growths == 3
    assert RunConfig.paper("digits", method="ada").options.growths == 6
