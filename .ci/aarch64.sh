#!/usr/bin/env bash
# Runs the smoke test of a wheel for aarch64 on this machine, in the emulator of Debian's qemu-user:
# Debian's own Python for that processor, unpacked into a folder, and torch's wheel for it.
# Usage: .ci/aarch64.sh PYTHON WHEEL
set -euo pipefail
python=$(realpath --no-symlinks "$1") wheel=$(realpath "$2")
cd "$(dirname "$0")/.."
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT

mkdir -p "$room"/{lists,cache/archives}/partial "$room/system"
touch "$room/status"
apt() {
    apt-get -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root \
        -o Dir::State::lists="$room/lists" -o Dir::State::status="$room/status" \
        -o Dir::Cache="$room/cache" -o Debug::NoLocking=1 -qq "$@"
}
apt update
apt install --yes --no-install-recommends --download-only python3 libgomp1 libstdc++6
for package in "$room"/cache/archives/*.deb; do dpkg -x "$package" "$room/system"; done
interpreter=$(echo "$room"/system/usr/bin/python3.*[0-9])
version=${interpreter##*python}

# The last torch for aarch64 without CUDA's libraries.
"$python" -m pip install --quiet --disable-pip-version-check --target "$room/site-packages" \
    --only-binary=:all: --no-deps --python-version "$version" \
    --platform manylinux2014_aarch64 --platform manylinux_2_28_aarch64 --platform any \
    torch==2.6.0 torchvision==0.21.0 "numpy<2.3" "pillow<12" filelock fsspec jinja2 markupsafe \
    mpmath networkx sympy==1.13.1 typing-extensions "$wheel"
PYTHONPATH="$room/site-packages" qemu-aarch64 -L "$room/system" "$interpreter" .ci/smoke.py --native yes
