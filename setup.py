"""Compiles the native engine, which is optional: without a compiler the eager one serves."""

from glob import glob

from setuptools import Extension, setup

setup(
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
    ]
)
