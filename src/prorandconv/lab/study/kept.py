"""Results that were kept without their runs, put back where a study looks for them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from ...errors import require
from ..errors import RunError
from ..run.config import RunConfig
from ..run.directory import METRICS, RESULT, RunDirectory


def put_back(folder: Path, configs: Mapping[str, RunConfig], runs: Path) -> int:
    """Write the results among a folder's files of JSON into the directories of their runs.

    What is no result of these runs is passed over, and a run that has a result keeps it. Whether a
    result fits its run and the data is checked when it is read there. Beside ``NAME.json``,
    ``NAME-metrics.jsonl`` has the metrics of the run, if they were kept too.

    Args:
        folder: with results by any names.
        configs: the runs by hash.
        runs: folder of all runs.

    Returns:
        How many were put back.
    """
    require("--results", str(folder), folder.is_dir(), "a folder with results, files of JSON")
    count = 0
    for path in sorted(folder.rglob("*.json")):
        try:
            stored = json.loads(path.read_bytes())
        except ValueError as error:
            raise RunError.at(
                path, f"is damaged ({error})", "restore it, or move it away"
            ) from error
        config = configs.get(str(stored.get("hash"))) if isinstance(stored, dict) else None
        if config is None:
            continue
        directory = RunDirectory(config.directory(runs))
        with directory.locked():
            if not (directory.path / RESULT).exists():
                directory.write_config(config)
                if (metrics := path.with_name(f"{path.stem}-{METRICS}")).exists():
                    directory.write(METRICS, metrics.read_bytes())
                directory.write_json(RESULT, stored)
                count += 1
    return count
