#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the documentation site, build/docs/html/index.html: the manual – README.md and docs/, the C++ and C interfaces, and the Python
# package –, and "Try it", the page that matches in the browser, which takes some minutes to compile.
#
#   scripts/docs.sh             makes both
#   scripts/docs.sh manual      leaves "Try it" out
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1:-} in
  '' | manual) ;;
  *) sed -n 's/^#   //p' "$0" >&2 && exit 2 ;;
esac

scripts/install-packages.sh doxygen python3
rm -rf build/docs
mkdir -p build/docs/html
python3 scripts/manual/python_reference.py >build/docs/python_reference.md
cp -r docs/pictures build/docs/html/
settings=$(cat docs/Doxyfile)
if [ "${1:-}" != manual ]; then
  status=0
  scripts/wasm.sh || status=$?
  if [ $status -eq 77 ]; then
    echo "Left out: 'Try it' needs Emscripten, and the sources of Highway and oneTBB"
  elif [ $status -ne 0 ]; then
    exit $status
  else
    cp -r build/javascript/page build/docs/html/try
    (cd build/docs && doxygen -l layout.xml >/dev/null)
    sed -i 's|<tab type="mainpage".*|&\n    <tab type="user" visible="yes" url="try/index.html" title="Try it"/>|' build/docs/layout.xml
    settings+=$'\nLAYOUT_FILE = build/docs/layout.xml'
  fi
fi
doxygen - <<<"$settings"
echo "$PWD/build/docs/html/index.html"
