#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds once, optimised, and runs every test once. scripts/check.sh adds slower checks. Tests use real pairs if
# PARALLAX_DATA or ../shared/data has them.
set -euo pipefail
cd "$(dirname "$0")/.."

source scripts/packages.sh
scripts/install-packages.sh "${build_packages[@]}" "${test_packages[@]}"

cmake --preset developer >/dev/null
cmake --build --preset developer
# PoCL's cache of compiled kernels.
export POCL_CACHE_DIR=$PWD/build/pocl_cache
ctest --preset developer --label-exclude '^check$' -j "$(nproc)"
