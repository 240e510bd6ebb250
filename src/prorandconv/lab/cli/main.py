"""The ``prorandconv`` command: finds the command that is asked for, parses its options, runs it."""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Protocol, cast

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ... import __version__
from ...errors import ProRandConvError
from ...lazy import named
from ..errors import unknown_name
from ..files import WRITING

COMMANDS = {
    "data": ("data:Data", "list, check, fetch, look at and make data sets"),
    "train": ("train:Train", "train one run, or resume it"),
    "evaluate": ("run:Evaluate", "measure a run's network on every target"),
    "predict": ("run:Predict", "classify images with a run's network"),
    "export": ("run:Export", "write a run's network as safetensors, TorchScript or ONNX"),
    "stress": ("stress:Stress", "test how robust a model is: any classifier, your own images"),
    "runs": ("runs:Runs", "list the runs in a folder, a line each"),
    "compare": ("runs:Compare", "compare runs: paired by image and seed, by class"),
    "choose": ("runs:Choose", "list kinds of runs by shifted validation, without any target"),
    "rank": ("runs:Rank", "say how well validation ranks runs and epochs"),
    "prune": ("runs:Prune", "remove the checkpoints of finished runs"),
    "study": ("study:Study", "run a table or figure of the paper; without a name, list them"),
    "report": ("show:Report", "turn results into tables, plots and a page"),
    "augment": ("augment:Augment", "make augmented copies of a folder of your own pictures"),
    "remake": ("augment:Remake", "make one of these copies again, from its draw"),
    "gallery": ("show:Gallery", "draw sheets of what the augmentation does to a picture"),
    "playground": ("show:Playground", "see the augmentation in a browser, on this machine"),
    "quickstart": ("show:Quickstart", "compare ERM and Pro-RandConv in a few minutes"),
}
"""Where each command is (a module beside this one, and the class in it), and what it does.

Only the command that is asked for is imported: ``--help`` must not wait for torch.
"""


class Command(Protocol):
    """A dataclass whose fields are the options."""

    def run(self, out: Console) -> int:
        """Carry the command out; returns the exit code."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; ends the process with the command's exit code."""
    gc.set_threshold(100_000)  # torch and others load a million objects, none of them garbage
    words = list(sys.argv[1:] if arguments is None else arguments)
    # Tables are not squeezed into 80 columns where nobody looks at a terminal.
    wide = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 160
    # Names and paths may hold brackets, colons and dollars: nothing printed is markup.
    out = Console(width=wide, highlight=False, markup=False, emoji=False)
    try:
        code = _run(words, out)
    except ProRandConvError as error:
        code = _complain(str(error))
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except OSError as error:
        code = _complain(_described(error))
    except KeyboardInterrupt:
        print("prorandconv: interrupted; run the same command to resume", file=sys.stderr)
        code = 130
    sys.exit(code)


def _run(words: Sequence[str], out: Console) -> int:
    name = words[0] if words else "--help"
    if name in ("--help", "-h"):
        _print_help(out)
        return 0 if words else 2
    if name in ("--version", "version"):
        out.print(__version__)
        return 0
    with _wrapped(out):
        command = _parsed(name, words[1:])
    return command.run(out)


@contextmanager
def _wrapped(out: Console) -> Iterator[None]:
    """Break the lines of a command's help between words: tyro leaves long ones to the terminal."""
    printed = io.TextIOWrapper(io.BytesIO(), encoding=sys.stdout.encoding)
    printed.isatty = sys.stdout.isatty  # type: ignore[method-assign]  # colours depend on it
    try:
        with redirect_stdout(printed):
            yield
    finally:
        printed.seek(0)
        if text := printed.read():
            out.print(Text.from_ansi(text))


def _parsed(name: str, words: Sequence[str]) -> Command:
    if name not in COMMANDS:
        raise unknown_name("command", name, COMMANDS)
    import tyro

    command = named(COMMANDS[name][0], str(__package__))
    parsed = tyro.cli(
        command,
        prog=f"prorandconv {name}",
        default=command.defaults(words) if hasattr(command, "defaults") else None,
        config=(tyro.conf.OmitSubcommandPrefixes,),
        args=words,
    )
    return cast(Command, parsed)


def _print_help(out: Console) -> None:
    out.print("usage: prorandconv COMMAND ...\n")
    out.print("Progressive random convolutions: data, training, studies and reports.\n")
    table = Table.grid(padding=(0, 2))
    for name, (_, summary) in COMMANDS.items():
        table.add_row(f"  {name}", summary)
    table.add_row("  --version", "print the version")
    out.print(table)
    out.print("\nprorandconv COMMAND --help explains the command's options.")


def _complain(message: str) -> int:
    print(f"prorandconv: {message}", file=sys.stderr)
    return 2


def _described(error: OSError) -> str:
    """What is wrong with a file or folder of the user's, and what helps."""
    remedies = (
        (FileExistsError, "is a file, where a folder is needed; choose another name"),
        (NotADirectoryError, "is below a file, where a folder is needed; choose another name"),
        (IsADirectoryError, "is a folder, where a file is needed; choose another name"),
        (PermissionError, "permission denied; change its permissions, or choose another place"),
    )
    name = error.filename2 or error.filename  # of two, the one that a file was to be renamed to
    if name is None:
        return f"{type(error).__name__}: {error}"
    path = Path(os.fsdecode(name))
    path = path.parent if path.name.startswith(WRITING) else path
    wrong = next((text for kind, text in remedies if isinstance(error, kind)), error.strerror)
    return f"{path}: {wrong}"


if __name__ == "__main__":
    main()
