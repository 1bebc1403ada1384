#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the manual, build/docs/html/index.html: README.md and docs/, the C++ and C interfaces, and the Python package.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-packages.sh doxygen python3
rm -rf build/docs
mkdir -p build/docs/html
python3 scripts/manual/python_reference.py >build/docs/python_reference.md
cp -r docs/pictures build/docs/html/
doxygen docs/Doxyfile
echo "$PWD/build/docs/html/index.html"
