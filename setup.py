"""Compiles the native engine, which is optional: without a compiler the eager one serves.

The engine is called through a C interface, so its file depends neither on Python's ABI nor on
torch's: one wheel a platform serves every version of both. A wheel without it serves everything.
"""

import sys
from glob import glob
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext


class BuildEngine(build_ext):
    """Compile a shared library instead of a module of one version of Python."""

    def get_ext_filename(self, fullname):
        """Return a name without the ABI of a Python."""
        return str(Path(*fullname.split("."))) + (".dll" if sys.platform == "win32" else ".so")

    def get_export_symbols(self, ext):
        """Return none: the sources mark what they export."""
        return []


class Wheel(bdist_wheel):
    """A wheel for every version of Python."""

    def get_tag(self):
        """Return the platform of the compiled engine, or any where it was not compiled."""
        *_, platform = super().get_tag()
        built = any(Path(self.bdist_dir).glob("prorandconv/ops/_native.*"))
        return "py3", "none", platform if built else "any"


setup(
    cmdclass={"build_ext": BuildEngine, "bdist_wheel": Wheel},
    ext_modules=[
        Extension(
            "prorandconv.ops._native",
            sources=["src/prorandconv/ops/csrc/native.cpp"],
            depends=glob("src/prorandconv/ops/csrc/*.h"),
            extra_compile_args=[
                *("-std=c++17", "-O3", "-g0", "-pthread"),
                *("-ffp-contract=fast", "-fno-math-errno"),
            ],
            extra_link_args=["-pthread"],
            optional=True,
        )
    ],
)
