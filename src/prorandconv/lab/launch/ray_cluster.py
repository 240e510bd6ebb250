"""A Ray cluster: an existing one, or one on this machine; each run is a task."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from ...errors import ProRandConvError
from ..files import CACHE_VARIABLE, DATA_VARIABLE
from ..run.config import Execution, RunConfig
from ..run.directory import PREVIOUS, RESULT, STATE, RunDirectory
from . import Launcher, LaunchOptions, Outcome, attempt

NODE_DEATHS = 3
"""A run is begun again at most so often because its node has died."""

SECONDS_TO_SAVE = 120.0


class OnRay(Launcher):
    """Each run has its CPUs and GPUs; a run whose node dies is resumed elsewhere.

    Runs need the package and the data at the same place on every node. Where the folder of runs is
    no shared storage, a run's files are copied back when it is done.
    """

    queue = sys.maxsize  # Ray has a queue of its own

    def __init__(self, options: LaunchOptions) -> None:
        self._options, self.threads = options, options.cpus
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

    @contextmanager
    def opened(self, execution: Execution) -> Iterator[None]:
        """A mark in the folder of runs tells nodes whether they share it."""
        execution.runs.mkdir(parents=True, exist_ok=True)
        names = (DATA_VARIABLE, CACHE_VARIABLE)
        self._variables = {name: os.environ[name] for name in names if name in os.environ}
        with NamedTemporaryFile(dir=execution.runs.resolve(), prefix=".storage-") as marker:
            self._marker = Path(marker.name)
            yield

    def submit(self, config: RunConfig, execution: Execution) -> Any:
        """Make a task of the cluster."""
        cpus, gpus = self._options.cpus, self._options.gpus
        remote = self._ray.remote(num_cpus=cpus, num_gpus=gpus, max_retries=NODE_DEATHS)(task)
        places = config.with_absolute_paths(), execution.with_absolute_paths()
        return remote.remote(*places, cpus, self._marker, self._variables)

    def wait(self, jobs: Sequence[Any]) -> Sequence[Any]:
        """Tasks that have ended."""
        ended: list[Any] = self._ray.wait(list(jobs), timeout=1.0)[0]
        return ended

    def outcome(self, job: Any, config: RunConfig, execution: Execution) -> Outcome:
        """What the task has returned; its files are copied if they are only on its node."""
        try:
            outcome, files = self._ray.get(job)
        except self._ray.exceptions.RayError as error:
            return Outcome(config, problem=f"Ray: {str(error).strip().splitlines()[0]}")
        if files:
            _copy_back(RunDirectory(config.directory(execution.runs)), files)
        ended: Outcome = replace(outcome, config=config)
        return ended

    def stop(self, jobs: Sequence[Any]) -> Sequence[Any]:
        """Cancel tasks, which save their runs."""
        for job in jobs:
            self._ray.cancel(job, recursive=False)
        if jobs:
            self._ray.wait(list(jobs), num_returns=len(jobs), timeout=SECONDS_TO_SAVE)
        return ()


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
