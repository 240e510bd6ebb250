"""Compiles the native engine, which is optional: without a compiler the eager one serves."""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "prorandconv.ops._native",
            sources=["src/prorandconv/ops/csrc/native.cpp"],
            depends=["src/prorandconv/ops/csrc/kernel.h", "src/prorandconv/ops/csrc/common.h"],
            extra_compile_args=[
                *("-std=c++17", "-O3", "-g0", "-pthread"),
                *("-ffp-contract=fast", "-fno-math-errno"),
            ],
            optional=True,
        )
    ]
)
