"""Drawing steep random fields from a few waves, against all modes, as ratios.

Run: python benchmarks/fields.py [--output docs/results/speed/runs/fields.json]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from measuring import Disturbance, machine, spread, timed, write_json

from prorandconv import gaussian_random_field
from prorandconv.fields import TRUNCATION_ALPHA

SIZES = (32, 64, 128, 224, 512)
FIELDS = 18
ROUNDS = 25
ALPHAS = {"all modes": TRUNCATION_ALPHA - 0.01, "waves": 10.0}
"""Just below the limit every mode is drawn, whose number does not depend on alpha."""


def measure(size: int) -> dict[str, Any]:
    """Seconds of both ways, in turns, for one draw's fields."""
    times: dict[str, list[float]] = {way: [] for way in ALPHAS}
    for _ in range(ROUNDS):
        for way, alpha in ALPHAS.items():
            times[way].append(
                timed(lambda alpha=alpha: gaussian_random_field(FIELDS, (size, size), alpha))
            )
    found: dict[str, Any] = {way: spread(values) for way, values in times.items()}
    ratio = found["all modes"]["median"] / found["waves"]["median"]
    print(f"{size} px: waves are {ratio:.1f} times as fast as all modes")
    return found | {"ratio": ratio}


def main() -> None:
    """Measure every size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, help="JSON file to write")
    arguments = parser.parse_args()
    found: dict[str, Any] = {"machine": machine(), "fields": FIELDS}
    with Disturbance() as disturbance:
        found["sizes"] = {str(size): measure(size) for size in SIZES}
    found["disturbance"] = disturbance.share
    if arguments.output is not None:
        write_json(arguments.output, found)


if __name__ == "__main__":
    main()
