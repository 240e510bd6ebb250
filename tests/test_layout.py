"""Who imports whom: the list in CONTRIBUTING.md is the order, and nothing goes round in circles."""

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
MODULES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(SOURCE.rglob("*.py"))
}
"""All modules by name; a package stands for its __init__.py."""


def imported(name, path):
    """Modules of ours that a module imports anywhere, also in functions or for types only."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name in MODULES)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: package.count(".") + 2 - node.level]
            base = ".".join([*above, node.module] if node.module else above)
            base = base if node.level else node.module
            for one in node.names:
                inner = f"{base}.{one.name}"
                if (found := inner if inner in MODULES else base) in MODULES:
                    yield found


IMPORTS = {name: set(imported(name, path)) for name, path in MODULES.items()}


def listed():
    """Names of files and folders under src/prorandconv, in the order of the list."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    folder, found = "", []
    for line in text.splitlines():
        if start := re.match(r" {4}src/(prorandconv/\S*)", line):
            folder = start[1]
        elif re.match(r" {4}\S", line):
            folder = ""
        elif folder and (entry := re.match(r" {8}([\w.]+/?)(?= |$)", line)):
            found.append(folder + entry[1])
    return found


LISTED = listed()


def place(name):
    """Where a module, or the folder that it is in, stands in the list; None if it does not."""
    path = MODULES[name].relative_to(SOURCE).as_posix()
    found = [one for one in LISTED if path == one or (one.endswith("/") and path.startswith(one))]
    return LISTED.index(max(found, key=len)) if found else None


def test_the_list_names_what_there_is():
    assert [name for name in LISTED if not (SOURCE / name).exists()] == []
    assert [name for name in MODULES if place(name) is None] == []


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_only_from_what_stands_above_it(name):
    assert [other for other in IMPORTS[name] if place(other) > place(name)] == []


def within(name, *rooms):
    return f"{name}.".startswith(tuple(f"prorandconv.{room}." for room in rooms))


def test_the_library_never_imports_a_room_beside_it():
    library = [name for name in MODULES if not within(name, "lab", "copies")]
    assert len(library) > 10
    assert [n for n in library if any(within(o, "lab", "copies") for o in IMPORTS[n])] == []


def test_of_the_lab_only_the_commands_of_the_folder_tool_import_it():
    lab = [name for name in MODULES if within(name, "lab")]
    users = [name for name in lab if any(within(other, "copies") for other in IMPORTS[name])]
    assert users == ["prorandconv.lab.cli.augment"]


def test_nothing_imports_an_integration():
    home = "prorandconv.integrations"
    others = [name for name in MODULES if not f"{name}.".startswith(f"{home}.")]
    assert home in MODULES
    assert [n for n in others if any(f"{o}.".startswith(f"{home}.") for o in IMPORTS[n])] == []


def test_no_imports_go_round_in_circles_not_even_for_types():
    try:
        order = list(TopologicalSorter(IMPORTS).static_order())
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))
    assert len(order) == len(MODULES)
