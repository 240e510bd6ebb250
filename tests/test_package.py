"""What is published: version, dependencies, and the files of the source distribution."""

import ast
import re
import shutil
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path

import pytest

import prorandconv as prc

ROOT = Path(__file__).parents[1]
LIBRARY = Path(prc.__file__).parent


def test_version_is_that_of_the_installed_package():
    assert prc.__version__ == version("prorandconv")


def imported(path):
    """Top-level modules that a file imports from outside its package."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name.split(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.split(".")[0]


def test_everything_the_library_imports_is_declared():
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {re.match(r"[\w-]+", line)[0] for line in project["dependencies"]}
    files = [path for path in LIBRARY.rglob("*.py") if "lab" not in path.relative_to(LIBRARY).parts]
    modules = {name for path in files for name in imported(path)} - sys.stdlib_module_names
    brought_by = {"PIL": "pillow", "triton": "torch"}
    assert {brought_by.get(name, name) for name in modules} == declared


def test_the_source_distribution_is_complete(tmp_path):
    pytest.importorskip("setuptools", minversion="77")
    copy = tmp_path / "copy"
    unwanted = shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info")
    for folder in ("src", "tests"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=unwanted)
    for path in ROOT.glob("*.*"):
        if path.suffix in (".cff", ".in", ".md", ".py", ".toml"):
            shutil.copy(path, copy)
    for name in ("LICENSE", "Makefile"):
        shutil.copy(ROOT / name, copy)
    expected = {str(path.relative_to(copy)) for path in copy.rglob("*") if path.is_file()}
    build = "from setuptools import build_meta; build_meta.build_sdist('dist')"
    subprocess.run([sys.executable, "-c", build], cwd=copy, check=True, capture_output=True)
    (archive,) = (copy / "dist").iterdir()
    with tarfile.open(archive) as packed:
        names = {name.split("/", 1)[-1] for name in packed.getnames()}
    assert expected <= names
