"""Smoke test of an installed prorandconv: its engines, and the first example of the README.

Run it in the folder of the source distribution: ``python .ci/smoke.py --native yes``.
"""

import argparse
import re
import sys
from pathlib import Path

import torch

import prorandconv as prc

FIRST_EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def main() -> None:
    """Check what is installed, or fail."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--native", choices=("yes", "no"), required=True)
    native = parser.parse_args().native == "yes"
    place = Path(prc.__file__)
    assert "site-packages" in place.parts, f"{place} is not installed"
    engines = prc.engines()
    assert engines["native"].startswith("available") == native, engines
    images = torch.rand(4, 3, 32, 32, generator=torch.Generator().manual_seed(0)) * 2 - 1
    draw = prc.ProRandConv(repeats=3).draw(images, generator=torch.Generator().manual_seed(1))
    results = {
        engine: prc.ProRandConv(repeats=3, engine=engine)(images, draw=draw)
        for engine, state in engines.items()
        if engine != "triton" and state.startswith("available")
    }
    for engine, result in results.items():
        torch.testing.assert_close(result, results["reference"], atol=1e-4, rtol=0, msg=engine)
    blocks = FIRST_EXAMPLE.findall(Path("README.md").read_text(encoding="utf-8"))
    assert blocks, "README.md has no example"
    for block in blocks[:2]:
        exec(compile(block, "README.md", "exec"), globals())
    python = ".".join(map(str, sys.version_info[:3]))
    print(f"prorandconv {prc.__version__}, Python {python}, torch {torch.__version__}: {engines}")


if __name__ == "__main__":
    main()
