"""What ``--help`` says of options: each default once, and no value that cannot be given."""

import re

import pytest

from prorandconv.lab.cli.main import COMMANDS, main

PAGES = [(name,) for name in COMMANDS if name != "data"] + [
    ("data", part) for part in ("list", "check", "fetch", "show", "make")
]


def help_of(words, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main([*words, "--help"])
    return capsys.readouterr().out


def entries(text):
    """The help of each option, without frames and line breaks."""
    found = re.split(r" (?=--)", " ".join(text.replace("│", " ").split()))
    assert len(found) > 1
    return found


@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_no_option_names_a_default_twice_or_none(words, capsys, monkeypatch):
    for entry in entries(help_of(words, capsys, monkeypatch)):
        if entry.startswith("--options."):  # None switches a part of a method off
            continue
        assert entry.count("(default:") <= 1, entry
        assert "None" not in entry, entry
        assert "(default: )" not in entry, entry


def test_an_option_shows_a_default_that_is_a_value(capsys, monkeypatch):
    assert "--epochs INT number of epochs of each run (default: 12)" in entries(
        help_of(("quickstart",), capsys, monkeypatch)
    )


def test_an_option_without_a_value_tells_its_default_in_words(capsys, monkeypatch):
    assert "--epochs INT number of epochs of each run (default: the paper's)" in entries(
        help_of(("study",), capsys, monkeypatch)
    )
