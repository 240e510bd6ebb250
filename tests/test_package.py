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


def test_the_repository_has_one_address_everywhere():
    pytest.importorskip("tomllib")
    check = [sys.executable, str(ROOT / ".ci" / "address.py"), "--check"]
    done = subprocess.run(check, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def imported(path):
    """Top-level modules that a file imports from outside its package."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name.split(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.split(".")[0]


def needed(files):
    """Projects that the files import something of, by the names they are installed under."""
    modules = {name for path in files for name in imported(path)} - sys.stdlib_module_names
    known_as = {"PIL": "pillow", "pytorch_lightning": "lightning", "triton": "torch"}
    return {known_as.get(name, name) for name in modules}


def declared(requirements):
    return {re.match(r"[\w-]+", line)[0] for line in requirements}


@pytest.fixture
def project():
    tomllib = pytest.importorskip("tomllib")
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_everything_the_library_imports_is_declared(project):
    others = {"copies", "lab", "integrations"}
    files = [
        path for path in LIBRARY.rglob("*.py") if others.isdisjoint(path.relative_to(LIBRARY).parts)
    ]
    assert needed(files) == declared(project["dependencies"])


def test_what_an_integration_imports_is_in_its_extra(project):
    extras = project["optional-dependencies"]
    for path in (LIBRARY / "integrations").glob("*.py"):
        own = needed([path]) - declared(project["dependencies"])
        assert own <= declared(extras.get(path.stem, [])), path.name


def test_the_source_distribution_is_complete(tmp_path):
    pytest.importorskip("setuptools", minversion="77")
    copy = tmp_path / "copy"
    unwanted = shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info")
    for folder in (".ci", "examples", "src", "tests"):
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
