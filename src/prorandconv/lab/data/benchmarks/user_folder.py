"""A user's own data, without code: ``root/domain/class/image``."""

from __future__ import annotations

from pathlib import Path

from ...errors import DataError
from ..benchmark import Benchmark
from ..folders import domains_in, folder_benchmark, sub_folders
from ..image_files import Options

FOLDER_SOURCES = """\
your own   <data root>/<domain>/<class>/<image>: at least two domains with the same classes"""


def folder(root: Path, options: Options) -> Benchmark:
    """Whatever is in the root: its folders are the domains, theirs are the classes."""
    homes = domains_in(root, "<domain>/<class>/<image>")
    found = {home.name: {path.name for path in sub_folders(home)} for home in homes}
    classes = tuple(sorted(set().union(*found.values())))
    for domain, own in found.items():
        for other, theirs in found.items():
            if alone := sorted(own - theirs):
                raise DataError.at(
                    root / domain / alone[0],
                    f"class {alone[0]!r} is in domain {domain!r} but not in {other!r}",
                    "every domain needs every class: add it there, or remove it here",
                )
    if len(classes) < 2:
        raise DataError.at(
            root / homes[0].name,
            f"holds {len(classes)} class folder(s)",
            "expected two classes or more, as <domain>/<class>/<image>",
        )
    return folder_benchmark(
        "folder",
        root,
        domains=dict.fromkeys(found, ()),
        classes=classes,
        options=options,
        sources=FOLDER_SOURCES,
        user_data=True,
    )
