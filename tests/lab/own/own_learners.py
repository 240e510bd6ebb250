"""Kinds of learners, as small as they can be, and what two processes do with them."""

from __future__ import annotations

import copy
import json
import os
import signal
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torchvision.models.resnet import BasicBlock, ResNet

from prorandconv.lab.data.benchmarks.digits import FORMAT
from prorandconv.lab.data.grown import with_more
from prorandconv.lab.data.images import Images
from prorandconv.lab.data.samples import Batch
from prorandconv.lab.errors import RunError
from prorandconv.lab.methods import METHODS, Method, method_class
from prorandconv.lab.methods.learner import Learner, OneLoss, RunInfo, cross_entropy
from prorandconv.lab.run import checkpoint
from prorandconv.lab.run.checkpoint import checksum
from prorandconv.lab.run.directory import RunDirectory
from prorandconv.lab.run.optimisation import learn
from prorandconv.lab.run.state import RunState
from prorandconv.lab.run.state import derive_seed as derive_seed

BATCH = 8
CLASSIFYING = [name for name in METHODS if not name.startswith("ours-")]
RESIDUAL = ("ibn", "iternorm", "sw", "isw")
"""Methods that change a ResNet."""
OPTIONS = {"isw": {"start": 1, "trials": 2, "images": 4}}
"""Options with which a method does within a few steps all that it does in a run."""
EPOCH = 3
"""Steps of an epoch: a checkpoint after four is in the middle of one."""


def network(classes: int = 10, image_size: int = 32) -> nn.Sequential:
    """With batch normalisation, whose statistics are state too."""
    side = (image_size - 4) // 4
    return nn.Sequential(
        nn.Conv2d(3, 8, 5),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.AvgPool2d(4),
        nn.Flatten(),
        nn.Dropout(0.1),
        nn.Linear(8 * side * side, classes),
    )


def residual() -> ResNet:
    """A small ResNet."""
    return ResNet(BasicBlock, [1, 1, 1, 1], num_classes=10)


class Simple(OneLoss):
    """One loss."""

    def __init__(self, network, info):
        super().__init__(network, cross_entropy)


class Teacher(Learner):
    """A moving average of the network, updated after each step."""

    def __init__(self, network, info):
        super().__init__(network)
        self.teacher = copy.deepcopy(network).requires_grad_(False)
        self.register_buffer("done", torch.zeros((), dtype=torch.long))

    def step(self, batch, generator):
        images, labels, _ = batch
        noisy = images + 0.1 * torch.randn(images.shape, generator=generator)
        with torch.no_grad():
            wanted = self.teacher(images).softmax(1)
        found = self.network(noisy)
        distance = F.kl_div(found.log_softmax(1), wanted, reduction="batchmean")
        yield {"network": F.cross_entropy(found, labels) + distance}
        self.done += 1
        kept = 1 - 1 / (int(self.done) + 1)
        with torch.no_grad():
            for own, new in zip(self.teacher.parameters(), self.network.parameters(), strict=True):
                own.mul_(kept).add_(new, alpha=1 - kept)


class ThreeLosses(Learner):
    """Three losses of one graph, for parameters that overlap."""

    def __init__(self, network, info):
        super().__init__(network)
        self.style = nn.Linear(8, info.classes)

    def optimisers(self, make):
        affine = [*self.network[1].parameters()]
        return {
            "network": make(self.network.parameters()),
            "style": make([{"params": self.style.parameters(), "constant": True}]),
            "adversary": make([{"params": affine, "clip": 0.1}], lr=0.001),
        }

    def step(self, batch, generator):
        images, labels, _ = batch
        features = self.network[:3](images)
        style = self.style(features.mean((2, 3)))
        yield {
            "style": F.cross_entropy(style, labels),
            "adversary": -0.1 * style.log_softmax(1).mean(),
            "network": F.cross_entropy(self.network[3:](features), labels),
        }


class TwoRounds(Learner):
    """A second module learns from the network as it is after the first round."""

    def __init__(self, network, info):
        super().__init__(network)
        self.augmenter = nn.Conv2d(3, 3, 3, padding=1)

    def optimisers(self, make):
        made = {"network": make(self.network.parameters())}
        return made | {"augmenter": make(self.augmenter.parameters(), lr=0.005)}

    def step(self, batch, generator):
        images, labels, _ = batch
        noise = 0.1 * torch.randn(images.shape, generator=generator)
        changed = torch.tanh(self.augmenter(images + noise))
        both = torch.cat([images, changed.detach()])
        yield {"network": F.cross_entropy(self.network(both), labels.repeat(2))}
        changed = torch.tanh(self.augmenter(images))
        yield {"augmenter": -F.cross_entropy(self.network(changed), labels)}


class Memory(Learner):
    """Images made by an inner ascent are kept, and some are learnt from in each step."""

    def __init__(self, network, info):
        super().__init__(network)
        self.gather = info.gather
        self.images = torch.empty(0, 3, info.format.image_size, info.format.image_size)
        self.labels = torch.empty(0, dtype=torch.long)

    def get_extra_state(self):
        return {"images": self.images, "labels": self.labels}

    def set_extra_state(self, state):
        self.images, self.labels = state["images"], state["labels"]

    def step(self, batch, generator):
        images, labels, _ = batch
        ascended = images
        for _ in range(2):
            ascended = ascended.detach().requires_grad_(True)
            loss = F.cross_entropy(self.network(ascended), labels)
            ascended = ascended + torch.autograd.grad(loss, ascended)[0]
        self.images = torch.cat([self.images, self.gather(ascended.detach())])
        self.labels = torch.cat([self.labels, self.gather(labels)])
        chosen = torch.randint(len(self.labels), (len(labels),), generator=generator)
        both = torch.cat([images, self.images[chosen]])
        wanted = torch.cat([labels, self.labels[chosen]])
        yield {"network": F.cross_entropy(self.network(both), wanted)}


KINDS = {one.__name__: one for one in (Simple, Teacher, ThreeLosses, TwoRounds, Memory)}


@dataclass(frozen=True)
class Own(Method):
    """A method with one of these learners."""

    kind: str = "Memory"

    def learner(self, network, info):
        return KINDS[self.kind](network, info)


class InfiniteGradient(torch.autograd.Function):
    """A number that is finite, though its gradient is not."""

    @staticmethod
    def forward(context, loss):
        return loss.clone()

    @staticmethod
    def backward(context, gradient):
        return gradient * float("inf")


class Exploding(Simple):
    """One loss, whose gradient is infinite in one step."""

    def __init__(self, network, info, step):
        super().__init__(network, info)
        self.last = step
        self.register_buffer("done", torch.zeros((), dtype=torch.long))

    def step(self, batch, generator):
        self.done += 1
        for losses in super().step(batch, generator):
            if self.done == self.last:
                losses = {"network": InfiniteGradient.apply(losses["network"])}
            yield losses


@dataclass(frozen=True)
class Explosion(Method):
    """A method whose weights are not finite from a given step on."""

    step: int = 1

    def learner(self, network, info):
        return Exploding(network, info, self.step)


class Failing(Simple):
    """One loss, which is infinite from one step on."""

    def __init__(self, network, info, step):
        super().__init__(network, info)
        self.last = step
        self.register_buffer("done", torch.zeros((), dtype=torch.long))

    def step(self, batch, generator):
        self.done += 1
        for losses in super().step(batch, generator):
            factor = float("inf") if self.done >= self.last else 1.0
            yield {"network": losses["network"] * factor}


@dataclass(frozen=True)
class Failure(Method):
    """A method whose loss is infinite from a given step on."""

    step: int = 1

    def learner(self, network, info):
        return Failing(network, info, self.step)


class Noted(Simple):
    """One loss; notes which domains the images of each step are from, and their brightness."""

    def __init__(self, network, info, options):
        super().__init__(network, info)
        self.path = Path(options.folder) / f"domains{info.shard[0]}.jsonl"
        self.count, self.stop = info.domains, options.stop

    def step(self, batch, generator):
        brightness = batch.images.mean((1, 2, 3)).tolist()
        line = {"domains": batch.domains.tolist(), "brightness": brightness, "of": self.count}
        with open(self.path, "a") as file:
            file.write(json.dumps(line) + "\n")
        if len(self.path.read_text().splitlines()) == self.stop:
            os.kill(os.getpid(), signal.SIGTERM)
        yield from super().step(batch, generator)


@dataclass(frozen=True)
class Notes(Method):
    """A method that notes the domains it learns from."""

    folder: str = ""
    stop: int = 0
    """the line at which the process sends itself a signal"""

    def learner(self, network, info):
        return Noted(network, info, self)


class Growing(Learner):
    """Each epoch but the first adds a few ascended images, as ADA does."""

    def __init__(self, network, info, options):
        super().__init__(network)
        size = info.format.image_size
        self.options, self.grown = options, 0
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))
        self.images = torch.empty(0, 3, size, size)
        self.labels = torch.empty(0, dtype=torch.int64)

    def get_extra_state(self):
        return {"grown": self.grown, "images": self.images, "labels": self.labels}

    def set_extra_state(self, state):
        self.grown, self.images, self.labels = (state[n] for n in ("grown", "images", "labels"))

    def begin_epoch(self, epoch, source, generator, check_stop):
        if epoch > self.grown:
            images, labels = [], []
            noise = torch.randn(3, 1, 1, generator=generator)
            for x, y in islice(source.batches(32), 2):
                self.options.reach(f"ascent{epoch}-{len(images)}")
                check_stop()
                x = x.requires_grad_(True)
                loss = F.cross_entropy(self.network(x), y)
                images.append((x + torch.autograd.grad(loss, x)[0]).detach() + 0.1 * noise)
                labels.append(y)
            self.images = torch.cat([self.images, *images])
            self.labels, self.grown = torch.cat([self.labels, *labels]), epoch
        return with_more(source, self.images, self.labels)

    def step(self, batch, generator):
        self.steps += 1
        self.options.reach(f"step{int(self.steps)}")
        yield {"network": F.cross_entropy(self.network(batch.images), batch.labels)}


@dataclass(frozen=True)
class Ascent(Method):
    """A method whose training images grow."""

    folder: str = ""
    stop_in: str = ""
    """where the process sends itself a signal, the first time"""

    def learner(self, network, info):
        return Growing(network, info, self)

    def reach(self, place):
        folder = Path(self.folder)
        (folder / place).touch()
        if place == self.stop_in and not (folder / "stopped").exists():
            (folder / "stopped").touch()
            os.kill(os.getpid(), signal.SIGTERM)


class Trial:
    """Some steps of a learner, as a run takes them."""

    def __init__(self, kind, config, ranks, folder):
        torch.manual_seed(0)
        pixels = torch.arange(16 * 3 * 32 * 32).view(16, 3, 32, 32).mul(37).byte()
        labels, classes = torch.arange(16) % 10, tuple("0123456789")
        source = Images.in_memory(pixels, labels, classes=classes, split="train", format=FORMAT)
        shard = (ranks.own, ranks.count)
        info = RunInfo(FORMAT, 10, 1, 3, EPOCH, source, ranks.gather, shard)
        if kind in KINDS:
            learner = KINDS[kind](network(), info)
        else:
            made = residual() if kind in RESIDUAL else network()
            learner = method_class(kind)(**OPTIONS.get(kind, {})).learner(made, info)
        self.run = RunState(config, learner.train(), ranks)
        self.learner, self.optimisers = self.run.learner, self.run.optimisers
        self.ranks, self.config, self.directory = ranks, config, RunDirectory(Path(folder))
        self.source = source

    def steps(self, first, last):
        for number in range(first, last):
            if number == first or number % EPOCH == 0:  # an epoch begins, or is entered again
                self.learner.begin_epoch(
                    number // EPOCH, self.source, self.run.augmentation, lambda: None
                )
            generator = torch.Generator().manual_seed(number)
            images = torch.rand(BATCH, 3, 32, 32, generator=generator) * 2 - 1
            labels = torch.randint(10, (BATCH,), generator=generator)
            own = slice(self.ranks.own, None, self.ranks.count)
            batch = Batch(images[own], labels[own], torch.zeros(len(labels[own])))
            learn(self.learner, self.optimisers, batch, self.run.augmentation, self.ranks)

    def save(self):
        checkpoint.save(self.directory, self.run, self.ranks, {})

    def load(self):
        assert checkpoint.load(self.directory, self.run, self.ranks, lambda stored: None) == []

    def state(self):
        """A hash of everything that the next step depends on."""
        optimisers = {name: one.state_dict() for name, one in self.optimisers.items()}
        return checksum([self.learner.state_dict(), optimisers, self.run.generators()])

    def weights(self):
        return checksum(self.learner.state_dict())


def resumed(kind, config, ranks, folder):
    """Eight steps, and four steps, a checkpoint, and four more by another learner."""
    through = Trial(kind, config, ranks, folder)
    through.steps(0, 8)
    begun = Trial(kind, config, ranks, folder)
    begun.steps(0, 4)
    begun.save()
    torch.manual_seed(99)
    other = Trial(kind, config, ranks, folder)
    other.steps(7, 8)  # whatever it was before
    other.load()
    other.steps(4, 8)
    return through, other


def in_each_process(ranks, config, execution):
    """For each kind: whether it was resumed bit for bit, and the weights of all processes."""
    found = {}
    for kind in (*KINDS, *CLASSIFYING):
        through, other = resumed(kind, config, ranks, execution.runs / kind)
        same = ranks.all_gather(through.state() == other.state())
        found[kind] = (same, ranks.all_gather(through.weights()))
    return found


def disagree(ranks, config, execution):
    """What the first process raises is raised by all of them, whatever it is."""

    class UnpicklableError(Exception):
        """Of a class that other processes cannot import."""

    def fail():
        raise UnpicklableError("no room")

    try:
        ranks.on_first(fail)
    except (RunError, UnpicklableError) as error:
        everyone = ranks.all_gather(str(error).rpartition(": ")[2])
    assert ranks.any(ranks.own == 1, False) == [True, False]
    assert ranks.summed([1.0, ranks.own]) == [2.0, 1.0]
    return everyone, ranks.on_first(lambda: ranks.own)
