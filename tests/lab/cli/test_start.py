import sys

import pytest

from prorandconv.lab.cli import start


def test_command_runs(capsys):
    with pytest.raises(SystemExit) as ended:
        start.main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.strip()


def test_installation_without_the_lab_is_told_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "prorandconv.lab.cli.main", raising=False)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with pytest.raises(SystemExit, match=r"rich is missing; .*: pip install 'prorandconv\[lab\]'"):
        start.main(["playground"])


def test_module_of_ours_that_is_missing_is_no_matter_of_installation(monkeypatch):
    monkeypatch.delitem(sys.modules, "prorandconv.lab.cli.main", raising=False)
    monkeypatch.setitem(sys.modules, "prorandconv.lab.files", None)
    with pytest.raises(ModuleNotFoundError, match=r"prorandconv\.lab\.files"):
        start.main(["--version"])
