"""Docstrings as mkdocstrings reads them; written as here, editors and ``help`` show them well."""

import re
from typing import Any

from griffe import Extension, Object

ROLE = re.compile(r":(?:class|data|func|meth|mod):`~?([\w.]+)`")


class Docstrings(Extension):
    """Makes links of Sphinx's roles, and code of the section ``Example``."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Rewrite one docstring."""
        if obj.docstring:
            text = ROLE.sub(r"[`\1`][]", obj.docstring.value)
            obj.docstring.value = re.sub(r"^Example:$", "Examples:", text, flags=re.MULTILINE)
