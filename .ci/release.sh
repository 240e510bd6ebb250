#!/usr/bin/env bash
# Builds into dist/ what a release uploads, tests it, and prints what is left to do.
# Usage: .ci/release.sh PYTHON, an environment with the extras dev and release.
#
# The compiled engine knows neither Python's ABI nor torch's, so one wheel a platform serves all
# versions. Zig's compiler builds it for each of them on one machine, against an old glibc.
set -euo pipefail
python=$(realpath --no-symlinks "$1")
cd "$(dirname "$0")/.."
unset PYTHONPATH CC CXX
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT

# quietly COMMAND...: its output is shown only if it fails
quietly() { "$@" > "$room/log" 2>&1 || { cat "$room/log"; exit 1; }; }

# build_wheel PLATFORM TARGET: for a target of Zig, or without an engine where it is empty
build_wheel() {
    echo "== wheel for $1"
    rm -rf build
    local compiler="$python -m ziglang c++ -target $2"
    if [ -z "$2" ]; then compiler=false; fi
    quietly env CC="$compiler" CXX="$compiler" LDSHARED="$compiler -shared -s" LDCXXSHARED="$compiler -shared -s" \
        "$python" -m build --wheel --no-isolation --config-setting=--build-option=--plat-name="$1"
}

rm -rf dist
echo "== source distribution"
quietly "$python" -m build --sdist --no-isolation
build_wheel manylinux_2_28_x86_64 x86_64-linux-gnu.2.28
build_wheel manylinux_2_28_aarch64 aarch64-linux-gnu.2.28
build_wheel macosx_11_0_x86_64 x86_64-macos.11.0
build_wheel macosx_11_0_arm64 aarch64-macos.11.0
build_wheel any ""
"$python" -m twine check --strict dist/*
for wheel in dist/*manylinux*.whl; do "$python" -m auditwheel show "$wheel"; done

mkdir "$room/source"
tar -xzf dist/*.tar.gz -C "$room/source" --strip-components 1
"$python" -c 'import sys; print(*[p for p in sys.path if p.endswith("-packages")], sep="\n")' \
    > "$room/borrowed.pth"

# try_package FILE COMPILER(yes|no) NATIVE(yes|no): runs the library's tests on an installed package.
# torch and the test tools are borrowed: they are gigabytes, and not what is tested.
try_package() {
    echo "== $(basename "$1"), compiler: $2"
    local env="$room/env" path="$PATH"
    rm -rf "$env"
    "$python" -m venv "$env"
    if [ "$2" = no ]; then path="$env/bin"; fi
    PATH="$path" "$env/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-cache-dir "$1"
    cp "$room/borrowed.pth" "$env"/lib/python*/site-packages/
    (
        cd "$room/source"
        PATH="$path" "$env/bin/python" .ci/smoke.py --native "$3"
        PATH="$path" "$env/bin/python" -m pytest --quiet --numprocesses auto -p no:cacheprovider \
            tests/*.py tests/ops
    )
}

# try_fresh PYTHON TORCH: the wheel with the versions of Python and torch that are given
try_fresh() {
    local interpreter
    interpreter=$(command -v "python$1") || { echo "== no Python $1 here: not tried"; return; }
    echo "== the wheel with Python $1 and $2"
    local env="$room/fresh"
    rm -rf "$env"
    "$interpreter" -m venv "$env"
    "$env/bin/python" -m pip install --quiet --disable-pip-version-check dist/*manylinux*x86_64.whl $2
    (cd "$room/source" && "$env/bin/python" .ci/smoke.py --native yes)
}

try_package "$PWD"/dist/*manylinux*"$(uname -m)".whl no yes
try_package "$PWD"/dist/*.tar.gz yes yes
try_package "$PWD"/dist/*.tar.gz no no
try_fresh 3.10 "torch==2.6.0 torchvision==0.21.0"
try_fresh 3.13 "torch torchvision"

untried="macOS"
if command -v qemu-aarch64 dpkg > /dev/null; then
    echo "== the wheel for aarch64, emulated"
    .ci/aarch64.sh "$python" dist/*aarch64.whl
else
    untried="aarch64 (install Debian's qemu-user) and macOS"
fi

echo "== dist/ is ready"
ls -l dist
echo "Built and not run: the wheels for $untried."
"$python" .ci/address.py --check
echo "To upload: $python -m twine upload dist/*"
