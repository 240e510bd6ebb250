#!/usr/bin/env bash
# Builds wheel and sdist into dist/, installs each into an empty environment, with and without a
# compiler, and runs the library's tests there. torch and the test tools are borrowed from the
# environment of the Python that is given: they are gigabytes, and not what is tested.
set -euo pipefail
python=$(realpath --no-symlinks "$1")
cd "$(dirname "$0")/.."
unset PYTHONPATH CC CXX
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT

echo "== building dist/"
rm -rf dist
"$python" -m build --outdir dist . > "$room/build.log" 2>&1 || { cat "$room/build.log"; exit 1; }
ls -l dist
mkdir "$room/source"
tar -xzf dist/*.tar.gz -C "$room/source" --strip-components 1
"$python" -c 'import sys; print(*[p for p in sys.path if p.endswith("-packages")], sep="\n")' \
    > "$room/borrowed.pth"

# try_package FILE COMPILER(yes|no) NATIVE(yes|no): native says whether that engine must be there
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
        PATH="$path" "$env/bin/python" - "$env" "$3" << 'CHECK'
import sys
from pathlib import Path

import prorandconv

environment, native = sys.argv[1:]
assert Path(prorandconv.__file__).is_relative_to(environment), prorandconv.__file__
engines = prorandconv.engines()
assert engines["native"].startswith("available") == (native == "yes"), engines
print(prorandconv.__version__, engines)
CHECK
        PATH="$path" "$env/bin/python" -m pytest --quiet --numprocesses auto -p no:cacheprovider \
            tests/*.py tests/ops
    )
}

for compiler in yes no; do
    try_package "$PWD"/dist/*.whl "$compiler" yes
    try_package "$PWD"/dist/*.tar.gz "$compiler" "$compiler"
done
