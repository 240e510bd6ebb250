"""One run: config in, result directory out.

Read it from the top: :func:`train` starts the processes, :func:`_run` prepares or resumes, ``Run``
goes through epochs and steps. Whatever is random in a step comes from three generators (order of
the images, augmentation, torch's own for dropout) whose states are in ``state.pt``: a run that was
killed goes on as if it had not been.
"""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import torch
import torch.distributed
from lightning_fabric import Fabric
from torch import Tensor, nn
from torch.multiprocessing.spawn import ProcessRaisedException

from ..data import Images, get_benchmark
from ..data.images import Subset
from ..errors import RunError
from ..models import build, macs
from .config import Execution, RunConfig
from .directory import CONFIG, ENVIRONMENT, METRICS, RESULT, TIMING, RunDirectory
from .display import RunDisplay
from .environment import StopRequest, deterministic, environment, pass_on, signals
from .evaluation import Evaluation, Targets, evaluate
from .result import Position, Result


class StoppedError(RunError):
    """A run that was asked to stop: it is saved, and the same command goes on."""


class DivergedError(RunError):
    """A run whose loss or weights are no longer finite: the same run would end there again."""


def train(config: RunConfig, execution: Execution | None = None) -> Result:
    """Train as the config says; resume what was begun; return the result of what is done.

    Args:
        config: the run.
        execution: where and how.

    Raises:
        StoppedError: SIGTERM or Ctrl-C came; the run is saved.
        RunError: the run cannot go on; its last good checkpoint is kept.
    """
    execution = execution or Execution()
    done = RunDirectory(config.directory(execution.runs)).result()
    if done is not None:
        return done
    by_torchrun = "TORCHELASTIC_RUN_ID" in os.environ
    if by_torchrun and int(os.environ["WORLD_SIZE"]) != config.processes:
        raise RunError.about(
            "devices",
            f"{config.devices} on {config.nodes} node(s)",
            f"the {os.environ['WORLD_SIZE']} processes that torchrun has started",
        )
    spawned = config.processes > 1 and config.nodes == 1 and not by_torchrun
    fabric = Fabric(
        accelerator=execution.accelerator,
        devices=config.devices,
        num_nodes=config.nodes,
        strategy="ddp_spawn" if spawned else "ddp" if config.processes > 1 else "auto",
        precision=config.precision,
    )
    plain = (config.to_mapping(), {**asdict(execution), "runs": str(execution.runs)})
    launch: Callable[..., Result] = fabric.launch
    with signals(pass_on) if spawned else nullcontext():
        try:
            outcome = launch(_run, *plain)
        except ProcessRaisedException as error:
            raise RunError(str(error).strip().splitlines()[-1]) from error
    if "stopped" in outcome:
        raise StoppedError(outcome["stopped"])
    return outcome


def _run(fabric: Fabric, config_mapping: dict[str, Any], execution_mapping: Any) -> Result:
    """What each process does; only rank 0 writes."""
    config = RunConfig.from_mapping(config_mapping)
    execution = Execution(**{**execution_mapping, "runs": Path(execution_mapping["runs"])})
    directory = RunDirectory(config.directory(execution.runs))
    with ExitStack() as held:
        if fabric.is_global_zero:
            held.enter_context(directory.locked(wait=execution.wait))
            if (done := directory.result()) is not None and config.processes == 1:
                return done
        held.enter_context(deterministic(config.deterministic))
        run = Run(fabric, config, execution, directory)
        held.enter_context(signals(run.stop_request))
        try:
            return run.to_the_end()
        except StoppedError as stopped:
            return {"stopped": str(stopped)}


class Run:
    """A run in one of its processes."""

    def __init__(
        self, fabric: Fabric, config: RunConfig, execution: Execution, directory: RunDirectory
    ) -> None:
        self.fabric, self.config, self.directory = fabric, config, directory
        self.execution = execution
        self.stop_request = StopRequest()
        self.at = Position()
        benchmark = get_benchmark(config.benchmark, config.data_root)
        self.benchmark = benchmark
        self.training = self._limited(benchmark.load(config.source, "train"), config.train_images)
        self.validation = self._limited(benchmark.load(config.source, "val"), config.test_images)
        self.targets = Targets(benchmark, config.source, config.test_images)
        torch.manual_seed(config.seed)
        self.net = build(
            config.network,
            classes=len(benchmark.classes),
            image_size=benchmark.image_size,
            pretrained=config.pretrained,
            weights=config.weights,
        ).to(memory_format=torch.channels_last)  # convolutions are faster this way
        self.loss = config.options.loss(benchmark.format)
        # All ranks go through the same order, each with its own part of it and its own draws.
        torch.manual_seed(_mixed(config.seed, "network", fabric.global_rank))
        self.order = torch.Generator().manual_seed(_mixed(config.seed, "order", 0))
        self.augmentation = torch.Generator().manual_seed(
            _mixed(config.seed, "augmentation", fabric.global_rank)
        )
        self.epoch_order = self.order.get_state()
        self.best_weights: dict[str, Tensor] = {}
        optimiser = optimiser_of(config, self.net)
        self.network, self.optimiser = fabric.setup(self.net, optimiser)
        self.steps = len(self._batches(self.order.clone_state(), 0))

    def _limited(self, images: Images, limit: int | None) -> Images:
        return images if limit is None else Subset(images, limit)

    def _batches(self, order: torch.Generator, start: int) -> Any:
        return self.training.batches(
            self.config.batch_size // self.config.processes,
            generator=order,
            augment=self.config.base_augmentation,
            device=self.fabric.device,
            start=start,
            shard=(self.fabric.global_rank, self.fabric.world_size),
        )

    def to_the_end(self) -> Result:
        """Resume if there is something to resume, train, measure, write the result."""
        told = self.load()
        self._write(CONFIG, self.config.to_mapping())
        self._write(ENVIRONMENT, environment(self.fabric.device, self.fabric.world_size))
        if self.fabric.is_global_zero:
            self.directory.write_lines(METRICS, self.at.history)
        title = f"{self.config.benchmark} {self.config.method} {'+'.join(self.config.source)}"
        with RunDisplay(
            title,
            epochs=self.config.epochs,
            steps=self.steps,
            done=self.at.epoch * self.steps + self.at.step,
            shown=self.fabric.is_global_zero and not self.execution.quiet,
            tensorboard=self.directory.path / "tensorboard"
            if self.execution.tensorboard and self.fabric.is_global_zero
            else None,
        ) as self.display:
            for line in told:
                self.display.say(line)
            self.saved = time.monotonic()
            while self.at.epoch < self.config.epochs:
                began = time.monotonic()
                self.train_epoch()
                trained = time.monotonic()
                self.finish_epoch()
                self._note_timing(trained - began, time.monotonic() - trained)
            return self.finish()

    def train_epoch(self) -> None:
        """Go once through the source, or through what is left of it."""
        at = self.at
        self.order.set_state(self.epoch_order)
        rate = learning_rate(self.config, at.epoch)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.network.train()
        for images, labels in self._batches(self.order, at.step):
            before = (self.augmentation.get_state(), torch.get_rng_state())
            loss = self.loss(self.network, images, labels, self.augmentation)
            value, seen, stop, save = self._agreed(loss, len(labels))
            if not math.isfinite(value):
                self._fail_on(loss, images, labels, before)
            self.optimiser.zero_grad(set_to_none=True)
            self.fabric.backward(loss)
            self.optimiser.step()
            at.step += 1
            at.loss_sum += value * seen
            at.images_seen += seen
            self.display.step(at.epoch + 1, value, seen)
            if stop:
                self._stop()
            if save:
                self.save()

    def _agreed(self, loss: Tensor, images: int) -> tuple[float, int, bool, bool]:
        """Mean loss and images over all ranks, and whether any rank wants to stop or save."""
        minutes = (time.monotonic() - self.saved) / 60
        save = self.fabric.is_global_zero and minutes >= self.execution.checkpoint_minutes
        own, stop = float(loss.detach()), bool(self.stop_request)
        if self.fabric.world_size == 1:
            return own, images, stop, save
        mine = torch.tensor([own * images, images, stop, save], dtype=torch.float64)
        summed = self.fabric.all_reduce(mine.to(self.fabric.device), reduce_op="sum")
        total = cast(Tensor, summed).tolist()
        return total[0] / total[1], int(total[1]), total[2] > 0, total[3] > 0

    def finish_epoch(self) -> None:
        """Validate, measure the targets if it is their turn, select, and save."""
        at, config = self.at, self.config
        epoch = at.epoch + 1
        line: dict[str, Any] = {
            "epoch": epoch,
            "learning_rate": learning_rate(config, at.epoch),
            "train_loss": at.loss_sum / at.images_seen,
            "images": at.images_seen,
        }
        measured: dict[str, Evaluation] = {}
        if self._rank_0_says(self._evaluate_or_stop, epoch, line, measured):
            self._stop()
        if self.fabric.is_global_zero and at.end_epoch(line, measured):
            self.best_weights = _copied(self.net.state_dict())
        at.epoch, at.step, at.loss_sum, at.images_seen = epoch, 0, 0.0, 0
        self.epoch_order = self.order.get_state()
        self.save()
        if self.fabric.is_global_zero:
            self.directory.write_lines(METRICS, at.history)
            self.directory.write_best(self.best_weights, at.best["epoch"])
        self.display.epoch(line if self.fabric.is_global_zero else {"val_accuracy": None})

    def _evaluate_or_stop(
        self, epoch: int, line: dict[str, Any], measured: dict[str, Evaluation]
    ) -> bool:
        """Fill in what is measured; True if asked to stop meanwhile."""
        try:
            found = self.evaluate(self.validation)
            line["val_accuracy"] = found.accuracy
            every = self.config.target_every
            if epoch == self.config.epochs or (every and epoch % every == 0):
                for name in self.targets.names:
                    measured[name] = self.evaluate(self.targets[name])
                line["targets"] = {name: found.accuracy for name, found in measured.items()}
                line["average"] = self.targets.average(line["targets"])
        except StoppedError:
            return True
        return False

    def evaluate(self, images: Images) -> Evaluation:
        """Measure the network as it is now, on this rank."""

        def give_up() -> None:
            if self.stop_request:
                raise StoppedError("asked to stop")

        with self.fabric.autocast():
            return evaluate(self.net, images, device=self.fabric.device, between=give_up)

    def _rank_0_says(self, question: Callable[..., bool], *arguments: Any) -> bool:
        """The answer of rank 0, to which the others wait."""
        answer = question(*arguments) if self.fabric.is_global_zero else False
        return bool(self.fabric.broadcast(answer)) if self.fabric.world_size > 1 else answer

    def finish(self) -> Result:
        """Measure the selected weights, and write the result: its presence means done."""
        result: Result = {}
        if self._rank_0_says(self._conclude, result):
            self._stop()
        return self.fabric.broadcast(result) if self.fabric.world_size > 1 else result

    def _conclude(self, result: Result) -> bool:
        at, config = self.at, self.config
        selected = at.last["targets"]
        if at.best["epoch"] != config.epochs:
            last_weights = _copied(self.net.state_dict())
            self.net.load_state_dict(self.best_weights)
            try:
                names = self.targets.names
                found = {name: self.evaluate(self.targets[name]) for name in names}
            except StoppedError:
                self.net.load_state_dict(last_weights)
                return True
            selected = {name: one.to_mapping() for name, one in found.items()}
        result.update(
            config=config.to_mapping(),
            hash=config.hash,
            classes=list(self.benchmark.classes),
            averaged=list(self.targets.averaged),
            absent=list(self.targets.absent),
            **at.figures(self.targets.averaged, selected),
            images={"train": len(self.training), "val": len(self.validation)},
            data={"train": self.training.fingerprint, "val": self.validation.fingerprint}
            | {name: self.targets[name].fingerprint for name in self.targets.names},
            parameters=sum(p.numel() for p in self.net.parameters()),
            macs=macs(self.net, self.benchmark.image_size),
        )
        self.directory.write_best(self.best_weights, at.best["epoch"])
        self.directory.write_json(RESULT, result)
        return False

    def _stop(self) -> None:
        self.save()
        raise StoppedError(
            f"stopped and saved in epoch {self.at.epoch + 1}, after step {self.at.step} of "
            f"{self.steps}; the same command goes on from there ({self.directory.path})"
        )

    def _fail_on(
        self, loss: Tensor, images: Tensor, labels: Tensor, before: tuple[Tensor, Tensor]
    ) -> None:
        """Keep what the step was made of, and end; the last checkpoint stays as it is."""
        path = self.directory.path / f"nan-rank{self.fabric.global_rank}.pt"
        step = {
            "epoch": self.at.epoch + 1,
            "step": self.at.step + 1,
            "loss": float(loss.detach()),
            "weights": _copied(self.net.state_dict()),
            "images": images.cpu(),
            "labels": labels.cpu(),
            "augmentation": before[0],
            "torch": before[1],
        }
        torch.save(step, path)
        raise DivergedError.at(
            self.directory.path,
            f"the loss is {step['loss']} in epoch {step['epoch']}, step {step['step']}",
            f"the last good checkpoint is kept, and {path.name} holds the step for "
            "prorandconv.lab.run.replay.replay; a smaller learning rate often helps",
        )

    def save(self) -> None:
        """Write the checkpoint: all that is needed to go on as if nothing had happened."""
        wrong = [n for n, p in self.net.named_parameters() if not torch.isfinite(p).all()]
        if wrong:
            raise DivergedError.at(
                self.directory.path,
                f"weights are not finite in epoch {self.at.epoch + 1}: {', '.join(wrong[:3])}",
                "the last good checkpoint is kept; a smaller learning rate often helps",
            )
        device = self.fabric.device
        own = [self.augmentation.get_state(), torch.get_rng_state()]
        own += [torch.cuda.get_rng_state(device)] if device.type == "cuda" else []
        everyone = [own]
        if self.fabric.world_size > 1:
            everyone = [[] for _ in range(self.fabric.world_size)]
            torch.distributed.all_gather_object(everyone, own)
        if self.fabric.is_global_zero:
            self.directory.save_state(
                {
                    "position": asdict(self.at),
                    "network": self.net.state_dict(),
                    "best": self.best_weights,
                    "optimiser": self.optimiser.state_dict(),
                    "order": self.epoch_order,
                    "generators": everyone,
                    "data": self.training.fingerprint,
                }
            )
        self.saved = time.monotonic()

    def load(self) -> list[str]:
        """Go to where the last checkpoint was written; returns what there is to tell."""
        state, told = self.directory.load_state() if self.fabric.is_global_zero else (None, [])
        if self.fabric.world_size > 1:
            state = self.fabric.broadcast(state)
        if state is None:
            return told
        if state["data"] != self.training.fingerprint:
            raise RunError.at(
                self.directory.path,
                "was begun with other training images than those there are now",
                "restore them, or move this directory away to begin anew",
            )
        self.at = Position(**state["position"])
        self.net.load_state_dict(state["network"])
        self.best_weights = state["best"]
        self.optimiser.load_state_dict(state["optimiser"])
        self.epoch_order = state["order"]
        own = state["generators"][self.fabric.global_rank]
        self.augmentation.set_state(own[0])
        torch.set_rng_state(own[1])
        if len(own) > 2 and self.fabric.device.type == "cuda":
            torch.cuda.set_rng_state(own[2], self.fabric.device)
        where = f"epoch {self.at.epoch + 1}, step {self.at.step}"
        return [*told, f"going on at {where}"]

    def _write(self, name: str, content: Mapping[str, Any]) -> None:
        if self.fabric.is_global_zero:
            self.directory.write_json(name, content)

    def _note_timing(self, training: float, evaluation: float) -> None:
        """Wall-clock times differ from run to run: they stay out of what is compared."""
        if self.fabric.is_global_zero:
            line = {"epoch": self.at.epoch, "training_s": training, "evaluation_s": evaluation}
            self.directory.append_line(TIMING, line)


def learning_rate(config: RunConfig, epoch: int) -> float:
    """The learning rate of an epoch, counted from 0: cosine from the first rate towards 0."""
    if config.schedule == "constant":
        return config.learning_rate
    return config.learning_rate * (1 + math.cos(math.pi * epoch / config.epochs)) / 2


def optimiser_of(config: RunConfig, network: nn.Module) -> torch.optim.Optimizer:
    """The optimiser that the config asks for."""
    shared: dict[str, Any] = {"lr": config.learning_rate, "weight_decay": config.weight_decay}
    if config.optimiser == "sgd":
        return torch.optim.SGD(network.parameters(), momentum=config.momentum, **shared)
    kind = torch.optim.Adam if config.optimiser == "adam" else torch.optim.AdamW
    return kind(network.parameters(), **shared)


def _mixed(seed: int, purpose: str, rank: int) -> int:
    """A seed of its own for each purpose and rank: equal seeds would give equal numbers."""
    digest = hashlib.sha256(f"{seed} {purpose} {rank}".encode()).digest()
    return int.from_bytes(digest[:4], "little")


def _copied(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().cpu().clone() for name, value in weights.items()}
