#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the checks that take longer than scripts/test.sh: code format, compilation of the benchmarks, every vector target,
# installed libraries, NVIDIA's compiler if installed, the page of 'parallax view' in a browser; tests under the address and
# undefined-behaviour sanitizers, and each fuzz target for a few seconds; tests of concurrent code under the thread sanitizer.
set -euo pipefail
cd "$(dirname "$0")/.."

source scripts/packages.sh
scripts/install-packages.sh "${build_packages[@]}" "${test_packages[@]}" "${check_packages[@]}" "${gstreamer_packages[@]}"
# All builds share PoCL's cache of compiled kernels. One test compiles kernels with optimisation.
export POCL_CACHE_DIR=$PWD/build/pocl_cache
export POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable

echo "== format"
git ls-files '*.cpp' '*.h' | xargs clang-format --dry-run --Werror
black --check --quiet python scripts/manual tests/python tests/slurm tests/view benchmarks
licence='SPDX-License-Identifier: Apache-2.0'
unlicensed=$(git grep -L "$licence" -- '*.cpp' '*.h' '*.cu' '*.cl' '*.in' '*.cmake' '*CMakeLists.txt' '*.sh' '*.py' '*.c' '*.rs' '*.ts' '*.mjs' 'tools/view/page/*.css' 'tools/view/page/*.html' ':!tools/view/page/bundle' || true)
if [ -n "$unlicensed" ]; then
  printf 'These files lack the line "%s":\n%s\n' "$licence" "$unlicensed" >&2
  exit 1
fi

echo "== developer"
cmake --preset developer >/dev/null
cmake --build --preset developer --target all benchmarks check_all_vectors
# One test more than there are cores, because some wait.
ctest --preset developer --label-regex '^check$' -j "$(($(nproc) + 1))"

for preset in sanitize sanitize-thread; do
  echo "== $preset"
  cmake --preset $preset >/dev/null
  cmake --build --preset $preset
  ctest --preset $preset -j "$(nproc)"
done
