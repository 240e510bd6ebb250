"""What the installed ``prorandconv`` runs: the command line, or a word on what it needs."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; without the packages of the extra ``lab``, say what to install."""
    try:
        from .main import main as run
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        if missing == "prorandconv":
            raise
        sys.exit(f"prorandconv: {missing} is missing; install it: pip install 'prorandconv[lab]'")
    run(arguments)
