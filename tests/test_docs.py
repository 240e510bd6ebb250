"""The documents: what they link exists, and each file of results is linked, or its folder is."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
RESULTS = ROOT / "docs" / "results"
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


def test_every_page_of_results_links_its_files_or_the_folder_of_its_runs():
    pages = {page.parent: {page, *links(page)} for page in RESULTS.glob("*/README.md")}
    assert [folder for folder in RESULTS.iterdir() if folder.is_dir() and folder not in pages] == []
    unlinked = [
        path.relative_to(ROOT)
        for folder, linked in pages.items()
        for path in folder.rglob("*.*")
        if path.is_file() and path not in linked
        if not (folder / "runs" in path.parents and folder / "runs" in linked)
    ]
    assert unlinked == []


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_no_file_in_the_repository_is_large():
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a git repository")
    paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    assert [path for path in paths if path.exists() and path.stat().st_size > LARGEST] == []
