#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds once, optimised, and runs every test once. scripts/check.sh adds slower checks. Tests use real pairs if
# PARALLAX_DATA or ../shared/data has them.
#
#   scripts/test.sh                  fails, too, if the tests take more processor time than their budget
#   scripts/test.sh --durations [N]  prints the N slowest tests of the last run (default: 30), and runs none
set -euo pipefail
cd "$(dirname "$0")/.."

# Seconds of processor time for all tests from nothing, with kernels to compile for the emulated GPU and for PoCL. About
# twice what they take on 2 cores of a server of 2023. Only a person raises it, and says why in the commit.
budget=1500

if [ "${1:-}" = --durations ]; then
  # ctest's costs are mean times over the runs in this folder, in seconds of wall time.
  awk '/^---$/ { exit } { printf "%8.1f s  %s\n", $3, $1 }' build/developer/Testing/Temporary/CTestCostData.txt |
    sort -rn | head -n "${2:-30}"
  exit
fi

source scripts/packages.sh
scripts/install-packages.sh "${build_packages[@]}" "${test_packages[@]}"

cmake --preset developer >/dev/null
cmake --build --preset developer -j "$(nproc)"
# PoCL's cache of compiled kernels.
export POCL_CACHE_DIR=$PWD/build/pocl_cache
# Tests run kernels briefly: compiling them without optimisation takes a third of the time. A test of scripts/check.sh,
# and scripts/gpu-check.sh, run them optimised.
export POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable
TIMEFORMAT='%U %S'
# One test more than there are cores, because some wait.
{ time ctest --preset developer --label-exclude '^check$' -j "$(($(nproc) + 1))" 1>&3 2>&4; } 3>&1 4>&2 2>build/tests_processor_time ||
  exit 1
awk -v budget=$budget '
  { taken = $1 + $2 }
  END {
    printf "The tests took %d s of processor time; their budget is %d s.\n", taken, budget
    if (taken > budget) {
      print "Make them cheaper: scripts/test.sh --durations lists the slowest." > "/dev/stderr"
      exit 1
    }
  }' build/tests_processor_time
