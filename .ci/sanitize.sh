#!/usr/bin/env bash
# Runs the engines' tests, fuzzing included, on the native kernel built with the address and
# undefined-behaviour sanitizers, once for each instruction set that this machine has.
# Usage: .ci/sanitize.sh [PYTHON [PYTEST ARGUMENTS...]]
set -euo pipefail
python=$(realpath --no-symlinks "${1:-.venv/bin/python}")
shift || true
cd "$(dirname "$0")/.."
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT

echo "== building the kernel with sanitizers"
cp -r src/prorandconv "$room/"
rm -f "$room"/prorandconv/ops/_native*
c++ -std=c++17 -O1 -g -pthread -ffp-contract=fast -fno-math-errno -fPIC -shared \
    -fsanitize=address,undefined -fno-sanitize-recover=undefined \
    src/prorandconv/ops/csrc/native.cpp -o "$room/prorandconv/ops/_native.so"

export PYTHONPATH="$room"
# Python itself leaks by design, and torch's threads are not what is tested.
export ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0
sanitizers="$(c++ -print-file-name=libasan.so) $(c++ -print-file-name=libubsan.so)"
in_use='from prorandconv.ops import native; print(native.INSTRUCTION_SET)'
for isa in avx512 avx2 neon generic; do
    export PRORANDCONV_ISA="$isa"
    [ "$(LD_PRELOAD="$sanitizers" "$python" -c "$in_use")" = "$isa" ] || continue
    echo "== $isa"
    LD_PRELOAD="$sanitizers" "$python" -m pytest --quiet -p no:cacheprovider -p no:xdist \
        tests/ops/test_native.py "$@"
done
