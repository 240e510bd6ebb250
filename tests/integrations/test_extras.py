"""An adapter without its library says what to install."""

import importlib
import re
import sys
from pathlib import Path

import pytest

from prorandconv import integrations
from prorandconv.integrations.extras import requires_extra

FOLDER = Path(integrations.__file__).parent
ADAPTERS = [
    path for path in sorted(FOLDER.glob("*.py")) if "with requires_extra(" in path.read_text()
]


def test_missing_library_is_named_with_the_command_that_installs_it():
    wanted = r"^not_there is missing; install it: pip install 'prorandconv\[kornia\]'$"
    with pytest.raises(ModuleNotFoundError, match=wanted), requires_extra("kornia"):
        import not_there  # noqa: F401


@pytest.mark.parametrize("path", ADAPTERS, ids=lambda path: path.stem)
def test_adapter_without_its_library_names_its_own_extra(path, monkeypatch):
    name = f"prorandconv.integrations.{path.stem}"
    monkeypatch.delitem(sys.modules, name, raising=False)
    for library in re.findall(r"^    +from (\w+)", path.read_text(), re.MULTILINE):
        for loaded in [library, *(m for m in sys.modules if m.startswith(f"{library}."))]:
            monkeypatch.setitem(sys.modules, loaded, None)
    with pytest.raises(ModuleNotFoundError, match=rf"pip install 'prorandconv\[{path.stem}\]'"):
        importlib.import_module(name)
