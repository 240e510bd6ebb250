"""Builds the site into ``site/``: Zensical's strict build, and the playground beside the pages."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SITE = ROOT / "site"


def main() -> None:
    """Build, or end with Zensical's exit code."""
    shutil.rmtree(SITE, ignore_errors=True)
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    done = subprocess.run(command, cwd=ROOT, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    no_python = shutil.ignore_patterns("*.py", "__pycache__")
    shutil.copytree(ROOT / "src" / "prorandconv" / "play", SITE / "play", ignore=no_python)


if __name__ == "__main__":
    main()
