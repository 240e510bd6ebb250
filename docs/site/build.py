"""Builds the site into ``site/``: Zensical's strict build, the playground, lists of raw files."""

import html
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
    for runs in (SITE / "results").glob("*/runs"):
        list_files(runs)


def list_files(folder: Path) -> None:
    """Write a page that links every file of a folder, as a forge shows for a link to a folder."""
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.*"))
    items = "".join(
        f'<li><a href="{html.escape(name)}">{html.escape(name)}</a></li>' for name in names
    )
    title = f"Raw files of {html.escape(folder.parent.name)}"
    (folder / "index.html").write_text(
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{title}</title><h1>{title}</h1><ul>{items}</ul></html>\n"
    )


if __name__ == "__main__":
    main()
