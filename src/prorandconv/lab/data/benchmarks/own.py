"""A user's own data, without code: folders of images, or of scenes with masks."""

from __future__ import annotations

from pathlib import Path

from ...errors import DataError
from ...files import reading
from ..benchmark import Benchmark
from ..folders import domains_in, folder_benchmark, sub_folders
from ..masks import UNLABELLED
from ..scene_folders import ROBUSTNET_RECIPE, scene_benchmark
from ..stores import Options

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


SEGFOLDER_SOURCES = """\
your own   <data root>/<domain>/images/<name>.jpg and <data root>/<domain>/masks/<name>.png for at
           least two domains; <data root>/classes.txt names a class a line, the first being the one
           that masks call 0; pixels of 255 have no class"""


def segfolder(root: Path, options: Options) -> Benchmark:
    """Whatever is in the root: its folders are the domains."""
    return scene_benchmark(
        "segfolder",
        root,
        domains=[home.name for home in domains_in(root, "<domain>/{images,masks}")],
        classes=_classes(root / "classes.txt"),
        recipe=ROBUSTNET_RECIPE,
        network="deeplabv3plus-resnet50",
        options=options,
        sources=SEGFOLDER_SOURCES,
        user_data=True,
    )


def _classes(path: Path) -> tuple[str, ...]:
    if not path.is_file():
        raise DataError.at(path, "no such file", "name a class a line, in the order of the labels")
    with reading(path, "cannot be read", "save it as UTF-8 text"):
        lines = path.read_text(encoding="utf-8").splitlines()
    names = tuple(line.strip() for line in lines if line.strip())
    if not 2 <= len(names) <= UNLABELLED:
        raise DataError.at(path, f"names {len(names)} class(es)", f"name 2 to {UNLABELLED}")
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise DataError.at(path, f"names {twice[0]!r} twice", "give each class one line")
    return names
