#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds Parallax on a machine that has little more than an NVIDIA GPU, CUDA, cmake, ninja and g++, runs the tests that
# need a GPU, also under compute-sanitizer if installed, and prints the tables of docs/measurements/cuda.md.
#
#   scripts/gpu-check.sh collect [DATA]   on a Debian machine with the project built: gathers in .sysroot the packages
#                                         that the other machine lacks, and in .pairs the pairs (DATA has papers/)
#   scripts/gpu-check.sh [test|tables]    on the machine with the GPU, with both folders copied into the project
#   scripts/gpu-check.sh papers FOLDER    there: writes the tables and plots of docs/measurements/papers.md to FOLDER
#   scripts/gpu-check.sh pool [DEVICES]   there: prints the table of docs/measurements/throughput.md; needs no .pairs
#   scripts/gpu-check.sh threads [DEVICE [THREADS...]]   likewise, the table by the number of threads
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(libhwy-dev libhwy1 libtbb-dev libtbb12 libtbbmalloc2 libtbbbind-2-5 libgtest-dev libgmock-dev opencl-c-headers
  ocl-icd-libopencl1 nlohmann-json3-dev libcli11-dev)

collect() {
  local data=${1:-${PARALLAX_DATA:-../shared/data}} scratch
  scratch=$(mktemp -d)
  (cd "$scratch" && apt-get download -qq "${packages[@]}")
  mkdir -p .sysroot
  for package in "$scratch"/*.deb; do dpkg -x "$package" .sysroot; done
  rm -r "$scratch"
  cmake --build build/developer --target gpu_pairs
  build/developer/benchmarks/gpu_pairs "$data" .pairs
  du -sh .sysroot .pairs
}

build() {
  export LD_LIBRARY_PATH=$PWD/.sysroot/usr/lib/x86_64-linux-gnu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  cmake -S . -B build/gpu -G Ninja -DCMAKE_BUILD_TYPE=Release -DPARALLAX_DEVELOPER_MODE=ON -DPARALLAX_TOOLS=OFF \
    -DCMAKE_PREFIX_PATH="$PWD/.sysroot/usr;$PWD/.sysroot/usr/lib/x86_64-linux-gnu" >/dev/null
  cmake --build build/gpu --target "$@"
}

# Waits for processes; fails if one of them did.
wait_for() {
  local process failed=0
  for process in "$@"; do wait "$process" || failed=1; done
  return $failed
}

# Runs the cases of a test program in one process per core, because they compile kernels.
in_shards() {
  local shards i running=()
  shards=$(nproc)
  for ((i = 0; i < shards; ++i)); do
    GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$i "$@" --gtest_brief=1 &
    running+=($!)
  done
  wait_for "${running[@]}"
}

test_conformance() { in_shards build/gpu/tests/test_cuda; }

test_devices() {
  build/gpu/tests/test_devices --gtest_brief=1
  build/gpu/tests/test_cuda_allocation --gtest_brief=1
}

# OpenCL on the GPU, if NVIDIA's OpenCL driver is installed, and on all other OpenCL devices.
test_opencl() {
  local nvidia=/usr/local/nvidia/lib64/libnvidia-opencl.so
  build/gpu/tests/test_opencl --gtest_brief=1
  [ -e $nvidia ] || return 0
  echo "== on NVIDIA's OpenCL"
  OCL_ICD_VENDORS=$nvidia build/gpu/tests/test_opencl --gtest_brief=1
}

test_sanitized() {
  if ! command -v compute-sanitizer >/dev/null; then
    echo "compute-sanitizer is not installed: skipped"
    return
  fi
  local tool failed=0
  for tool in memcheck racecheck initcheck; do
    echo "== $tool"
    PARALLAX_CUDA_SEEDS=32 in_shards compute-sanitizer --tool "$tool" --error-exitcode 1 build/gpu/tests/test_cuda \
      --gtest_filter='Seeds/*/0:Seeds/*/1:*Refin*' || failed=1
  done
  return $failed
}

# Runs all steps even if some fail.
run_tests() {
  local failed=0 step
  build test_cuda test_devices test_cuda_allocation test_opencl
  for step in test_conformance test_devices test_opencl test_sanitized; do
    echo "== $step"
    scripts/gpu-check.sh "$step" || failed=1
  done
  return $failed
}

tables() {
  local cache
  build benchmark_cuda
  cache=$(mktemp -d)
  for run in cold warm; do
    echo -n "$run cache, "
    XDG_CACHE_HOME=$cache build/gpu/benchmarks/benchmark_cuda .pairs first
  done
  rm -r "$cache"
  build/gpu/benchmarks/benchmark_cuda .pairs
}

# One process per paper, all at once, compiles the kernels and caches them; their measurements are discarded.
papers() {
  local folder=$1 paper running=()
  build parallax-papers
  for paper in block census bp-2010 bp-2019 tiled-bp; do
    build/gpu/parallax-papers --data .pairs --seconds-per-row 0 --device cuda --paper "$paper" >/dev/null &
    running+=($!)
  done
  wait_for "${running[@]}"
  mkdir -p "$folder"
  build/gpu/parallax-papers --data .pairs --seconds-per-row 0.3 --json "$folder/papers.json" \
    --csv "$folder/papers.csv" --markdown "$folder/papers.md" --plots "$folder"
}

case ${1:-all} in
  test_*) "$1" ;;
  collect) collect "${@:2}" ;;
  test) run_tests ;;
  tables) tables ;;
  papers) papers "${2:-papers}" ;;
  pool)
    build benchmark_pool
    build/gpu/benchmarks/benchmark_pool "${2:-cuda:all}"
    ;;
  threads)
    build benchmark_threads
    build/gpu/benchmarks/benchmark_threads "${2:-cpu}" "${@:3}"
    ;;
  all)
    run_tests
    tables
    ;;
  *) sed -n 's/^#   //p' "$0" >&2 && exit 2 ;;
esac
