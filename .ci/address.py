"""Writes the repository's address, one line of pyproject.toml, wherever else it has to stand.

    [tool.prorandconv]
    repository = "https://..."

``python .ci/address.py`` after a change; ``--check`` says what is missing and changes nothing.
"""

import argparse
import re
from pathlib import Path

import tomllib

ROOT = Path(__file__).parents[1]


def addressed(repository: str) -> dict[str, str]:
    """Text of each file that has the address in it; none has one while it is not decided."""
    texts = {
        name: (ROOT / name).read_text(encoding="utf-8")
        for name in ("pyproject.toml", "CITATION.cff", "zensical.toml", "README.md")
    }
    urls, code, site, readme = "", "", "", ""
    if repository:
        urls = (
            "[project.urls]\n"
            f'Repository = "{repository}"\n'
            f'Issues = "{repository}/issues"\n'
            f'Changelog = "{repository}/blob/main/CHANGELOG.md"\n\n'
        )
        code = f"repository-code: {repository}\n"
        site = f'repo_url = "{repository}"\n'
        readme = f"[{repository.removeprefix('https://')}]({repository})"
    places = {
        "pyproject.toml": (
            r"(?:\[project\.urls\]\n(?:\w+ = .*\n)+\n)?(?=\[project\.scripts\])",
            urls,
        ),
        "CITATION.cff": (r"(?m)^(?:repository-code: .*\n)?(?=version: )", code),
        "zensical.toml": (r"(?:repo_url = .*\n)?(?=use_directory_urls)", site),
        "README.md": (r"(?<=<!-- repository -->).*(?=<!-- -->)", readme),
    }
    for name, (pattern, text) in places.items():
        texts[name] = re.sub(pattern, lambda _, text=text: text, texts[name], count=1)
    return texts


def main() -> None:
    """Write the address, or say what is missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; fail if files differ")
    check = parser.parse_args().check
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    repository = project["tool"]["prorandconv"]["repository"]
    for name, text in addressed(repository).items():
        path = ROOT / name
        if path.read_text(encoding="utf-8") == text:
            continue
        if check:
            raise SystemExit(f"{name}: the repository's address differs; run .ci/address.py")
        path.write_text(text, encoding="utf-8")
    if not repository:
        print("tool.prorandconv.repository in pyproject.toml is empty: not decided yet.")


if __name__ == "__main__":
    main()
