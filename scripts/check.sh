#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the checks that take longer than scripts/test.sh: code format, compilation of the benchmarks, every vector target,
# installed libraries, NVIDIA's compiler if installed, the page of 'parallax view' in a browser; tests under the address and
# undefined-behaviour sanitizers, and each fuzz target for a few seconds; tests of concurrent code under the thread sanitizer;
# conformance on 64-bit ARM under QEMU; the npm package, compiled with Emscripten where it can be installed, in Node and a browser.
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
unlicensed=$(git grep -L "$licence" -- '*.cpp' '*.h' '*.cu' '*.cl' '*.in' '*.cmake' '*CMakeLists.txt' '*.sh' '*.py' '*.c' '*.rs' '*.ts' '*.mjs' 'tools/view/page/*.css' 'tools/view/page/*.html' 'javascript/*.js' ':!tools/view/page/bundle' || true)
if [ -n "$unlicensed" ]; then
  printf 'These files lack the line "%s":\n%s\n' "$licence" "$unlicensed" >&2
  exit 1
fi

# GCC 11 and CMake 3.22 suffice. What came later: in GCC's library, and in CMake. Presets have a version of their own.
library='<(expected|format|generator|print|spanstream|stacktrace)>|std::(byteswap|expected|format|invoke_r|move_only_function'
library+='|out_ptr|to_underlying|unreachable)\b|views::(adjacent|chunk|enumerate|join_with|repeat|slide|stride|zip)|ranges::(to|contains'
library+='|iota|fold_left)\b|\.(and_then|or_else|transform)\(|if consteval'
newer=$(git grep -nE "$library" -- '*.cpp' '*.h' || true
  git grep -nE '\<block\(|FILE_SET|PROPAGATE|VALIDATOR|VERIFY_INTERFACE|(COMPILE|LINK)_WARNING_AS_ERROR|add_subdirectory\(.* SYSTEM' \
    -- '*CMakeLists.txt' '*.cmake' || true)
if [ -n "$newer" ]; then
  printf 'GCC 11 or CMake 3.22 lacks this:\n%s\n' "$newer" >&2
  exit 1
fi

echo "== developer"
cmake --preset developer >/dev/null
cmake --build --preset developer --target all benchmarks check_all_vectors
# One test more than there are cores, because some wait.
ctest --preset developer --label-regex '^check$' -j "$(($(nproc) + 1))"

echo "== arm64"
scripts/arm64.sh

echo "== wasm"
status=0
scripts/wasm.sh test || status=$?
if [ $status -eq 77 ]; then
  echo "Skipped: the tests of the npm package need Emscripten, and the sources of Highway and oneTBB"
elif [ $status -ne 0 ]; then
  exit $status
fi

for preset in sanitize sanitize-thread; do
  echo "== $preset"
  cmake --preset $preset >/dev/null
  cmake --build --preset $preset
  ctest --preset $preset -j "$(nproc)"
done
