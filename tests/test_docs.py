"""The documents: what they link is there, and what is kept beside them is linked."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
LARGEST = 300_000
"""Bytes of a file in the repository."""


def links(document):
    found = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", document.read_text())
    return [(document.parent / link).resolve() for link in found if "://" not in link]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(document):
    assert [link for link in links(document) if not link.exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_table_is_not_torn_apart(document):
    lines = ["", *document.read_text().splitlines(), ""]
    starts = [i for i, line in enumerate(lines) if line[:1] == "|" and lines[i - 1][:1] != "|"]
    assert [lines[i] for i in starts if not re.fullmatch(r"[|: -]+", lines[i + 1])] == []


def test_every_file_of_results_is_linked():
    linked = {link for document in DOCUMENTS for link in links(document)}
    kept = {path for path in (ROOT / "docs" / "results").rglob("*.*") if path.name != "README.md"}
    assert sorted(path.relative_to(ROOT) for path in kept - linked) == []


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_no_file_in_the_repository_is_large():
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a git repository")
    paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    assert [path for path in paths if path.exists() and path.stat().st_size > LARGEST] == []
