#!/usr/bin/env bash
# Builds everything and runs every test: under the address and undefined-behaviour sanitizers, the fuzz targets for a
# few seconds each, and optimised. Real pairs are used where PARALLAX_DATA, or ../shared/data, has them.
set -euo pipefail
cd "$(dirname "$0")/.."

source scripts/packages.sh
scripts/install-packages.sh "${build_packages[@]}" "${test_packages[@]}"

for preset in fuzz sanitize developer; do
  echo "== $preset"
  cmake --preset $preset >/dev/null
  cmake --build --preset $preset
done
# What PoCL compiles is the same for sanitized tests and for others: both find it here.
export POCL_CACHE_DIR=$PWD/build/pocl_cache
for preset in fuzz sanitize developer; do
  echo "== $preset"
  ctest --preset $preset -j "$(nproc)"
done
