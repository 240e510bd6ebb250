"""A Ray cluster: an existing one, or one on this machine; each run is a task."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from ...errors import ProRandConvError
from ..errors import StoppedError
from ..files import CACHE_VARIABLE, DATA_VARIABLE
from ..run.config import Execution, RunConfig
from ..run.directory import PREVIOUS, RESULT, STATE, RunDirectory
from ..run.signals import StopRequest, signals
from . import LaunchOptions
from .outcome import Outcome, attempt

NODE_DEATHS = 3
"""So often a run is begun again because its node has died."""

SECONDS_TO_SAVE = 120.0


class OnRay:
    """Each run has its CPUs and GPUs; a run whose node dies is resumed elsewhere.

    Runs need the package and the data at the same place on every node. Where the folder of runs is
    no shared storage, a run's files are copied back when it is done.
    """

    def __init__(self, options: LaunchOptions) -> None:
        self._options = options
        self.threads = options.cpus
        self._ray = _connected(options.ray_address)
        there = self._ray.cluster_resources()
        widths = [there.get("CPU", 0) // options.cpus]
        widths += [there.get("GPU", 0) // options.gpus] if options.gpus else []
        self.width = int(min(widths))
        if self.width < 1:
            raise ProRandConvError.about(
                "--cpus, --gpus",
                f"{options.cpus} CPUs and {options.gpus:g} GPUs a run",
                f"no more than the cluster has: {there.get('CPU', 0):g} CPUs, "
                f"{there.get('GPU', 0):g} GPUs",
            )

    def __call__(
        self,
        configs: Sequence[RunConfig],
        execution: Execution,
        on_done: Callable[[Outcome], None],
    ) -> None:
        """Execute the runs as tasks of the cluster."""
        ray, options = self._ray, self._options
        remote = ray.remote(num_cpus=options.cpus, num_gpus=options.gpus, max_retries=NODE_DEATHS)(
            task
        )
        names = (DATA_VARIABLE, CACHE_VARIABLE)
        variables = {name: os.environ[name] for name in names if name in os.environ}
        execution = execution.with_absolute_paths()
        execution.runs.mkdir(parents=True, exist_ok=True)
        stop = StopRequest()
        with (
            signals(stop),
            NamedTemporaryFile(dir=execution.runs, prefix=".storage-") as marker,
        ):

            def begin(config: RunConfig) -> Any:
                return remote.remote(
                    config.with_absolute_paths(),
                    execution,
                    options.cpus,
                    Path(marker.name),
                    variables,
                )

            tasks = {begin(config): (config, 1) for config in configs}
            while tasks and not stop:
                for done in ray.wait(list(tasks), timeout=1.0)[0]:
                    config, tries = tasks.pop(done)
                    outcome = self._outcome(config, done, execution)
                    if outcome.worth_retrying(tries):
                        tasks[begin(config)] = (config, tries + 1)
                    else:
                        on_done(outcome)
            if stop:
                for one in tasks:
                    ray.cancel(one, recursive=False)
                ray.wait(list(tasks), num_returns=len(tasks), timeout=SECONDS_TO_SAVE)
                raise StoppedError("stopped and saved; run the same command to resume")

    def _outcome(self, config: RunConfig, done: Any, execution: Execution) -> Outcome:
        try:
            outcome, files = self._ray.get(done)
        except self._ray.exceptions.RayError as error:
            return Outcome(config, problem=f"Ray: {str(error).strip().splitlines()[0]}")
        if files:
            _copy_back(RunDirectory(config.directory(execution.runs)), files)
        ended: Outcome = replace(outcome, config=config)
        return ended


def _connected(address: str | None) -> Any:
    """The module ``ray``, connected."""
    try:
        import ray
    except ImportError as error:
        raise ProRandConvError.about(
            "--launcher", "ray", "Ray to be installed: pip install 'prorandconv[ray]'"
        ) from error
    if ray.is_initialized():
        return ray
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address is None:
        options |= {"address": "local", "num_cpus": os.cpu_count(), "include_dashboard": False}
    else:
        options["address"] = address
    try:
        ray.init(**options)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise ProRandConvError.about(
            "--ray-address", address, f"a Ray cluster that answers ({error})"
        ) from error
    return ray


def task(
    config: RunConfig,
    execution: Execution,
    threads: int,
    marker: Path,
    variables: Mapping[str, str],
) -> tuple[Outcome, dict[str, bytes]]:
    """One run, on whichever node; returns its outcome, and its files if they are only there.

    Args:
        config: the run.
        execution: where and how.
        threads: of the run.
        marker: a file that whoever started the study has put into the folder of runs.
        variables: of the environment, to be set here as they are there.
    """
    import torch

    os.environ.update(variables)
    torch.set_num_threads(threads)
    outcome = attempt(config, execution)
    if marker.exists() or outcome.result is None:
        return outcome, {}
    folder = config.directory(execution.runs)
    paths = (path for path in folder.iterdir() if path.is_file())
    kept = {path for path in paths if path.name not in (STATE, PREVIOUS) and path.name[0] != "."}
    return outcome, {path.name: path.read_bytes() for path in kept}


def _copy_back(directory: RunDirectory, files: Mapping[str, bytes]) -> None:
    """The result comes last: its presence means done."""
    with directory.locked(wait=True):
        for name in sorted(files, key=lambda name: name == RESULT):
            directory.write(name, files[name])
