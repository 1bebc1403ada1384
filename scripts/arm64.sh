#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds for 64-bit ARM and runs the result under QEMU: the conformance tests of every method, the tool on real pairs,
# whose maps must have this machine's bytes, and the C and Python interfaces. ARM's libraries go to build/arm64-sysroot;
# no installed package is replaced. Skipped, by name, where Debian's packages cannot be had.
#
#   scripts/arm64.sh                   everything above
#   scripts/arm64.sh sysroot FOLDER    makes a folder of ARM's libraries alone, for CMAKE_SYSROOT
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/packages.sh
build=build/arm64
release=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")

skip() {
  echo "skipped: $1"
  exit 0
}

# Extracts packages for ARM, of this system's release, without running their scripts.
make_sysroot() {
  local folder=$1
  local packages=(libc6-dev "${demo_packages[@]:4}" opencl-c-headers libgtest-dev libgmock-dev python3-minimal python3-numpy)
  local list="$release ${packages[*]}"
  [ "$(cat "$folder.packages" 2>/dev/null)" = "$list" ] && return
  rm -rf "$folder"
  mkdir -p "$(dirname "$folder")"
  mmdebstrap --quiet --variant=extract --arch=arm64 --include="$(IFS=, && echo "${packages[*]}")" "$release" "$folder" || return
  echo "$list" >"$folder.packages"
}

arm() { $qemu -L "$sysroot" "$@"; }

# The code is optimised little: compiling it takes longer than running it.
build() {
  cmake --preset arm64 -DCMAKE_SYSROOT="$sysroot" -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG" -DPARALLAX_DEVELOPER_MODE=ON \
    -DPARALLAX_CUDA=OFF -DPARALLAX_OPENCL=OFF -DPARALLAX_VIEW=OFF -DPARALLAX_COMMANDS=match >/dev/null
  cmake --build --preset arm64 -j "$(nproc)" \
    --target parallax_command parallax_shared test_conformance test_remap example_match_c
}

# Processors without AES, such as the Raspberry Pi 4's, must do: Highway asks getauxval().
hide_aes() {
  aarch64-linux-gnu-gcc -shared -fPIC -o $build/no_aes.so -x c - <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/auxv.h>
unsigned long getauxval(unsigned long type) {
  unsigned long (*next)(unsigned long) = (unsigned long (*)(unsigned long))dlsym(RTLD_NEXT, "getauxval");
  return type == AT_HWCAP ? next(type) & ~HWCAP_AES : next(type);
}
END
}

conformance() {
  arm $build/tests/test_conformance --gtest_brief=1 --gtest_filter='Target/*RandomCases/*:Target/*KeepsNothing*'
  arm $build/tests/test_remap --gtest_brief=1 --gtest_filter='Seeds/RemapConformance*/0:RemapTest.CpuGives*'
}

# Runs a command, and shows what it said if it failed.
quietly() { "$@" >$build/said.txt 2>&1 || { cat $build/said.txt >&2; return 1; }; }

# Matches a pair on both machines: same_bytes LEFT RIGHT OPTION…
same_bytes() {
  local left=$1 right=$2
  shift 2
  quietly build/developer/parallax match "$left" "$right" --device cpu "$@" -o $build/x86.pfm
  quietly arm -E LD_PRELOAD="$preload" $build/parallax match "$left" "$right" --device cpu "$@" -o $build/arm.pfm
  cmp $build/x86.pfm $build/arm.pfm
  echo "same bytes: $(basename "$(dirname "$left")") $*"
}

tool() {
  local data=${PARALLAX_DATA:-../shared/data}/middlebury2003
  [ -d "$data" ] || { echo "skipped: no real pairs in $data"; return; }
  [ -x build/developer/parallax ] || { echo "skipped: no tool of this machine: run scripts/test.sh"; return; }
  local left=$data/cones/left.png right=$data/cones/right.png preload=
  same_bytes "$left" "$right"
  same_bytes "$left" "$right" --method census --preset accurate
  same_bytes "$left" "$right" --method sgm
  same_bytes "$left" "$right" --method sgm --preset mgm
  left=$data/tsukuba/left.png right=$data/tsukuba/right.png preload=$PWD/$build/no_aes.so
  for options in "--preset grauer-gray-2019" "--preset accurate" "--method census" "--method block" \
    "--method tiled-bp" "--method sgm --preset opencv-sgbm"; do
    # shellcheck disable=SC2086
    same_bytes "$left" "$right" --disparities 16 $options
  done
}

interfaces() {
  arm $build/examples/example_match_c
  # Only their packages' scripts would link these libraries into the usual folder.
  local libraries=$sysroot/usr/lib/aarch64-linux-gnu
  arm -E PARALLAX_LIBRARY=$build/shared/libparallax.so -E PYTHONPATH=python -E PYTHONDONTWRITEBYTECODE=1 \
    -E LD_LIBRARY_PATH="$libraries/blas:$libraries/lapack" -E PYTHONHOME="$sysroot/usr" \
    "$sysroot"/usr/bin/python3.[0-9]* -c '
import parallax_stereo as parallax
left, right, truth = parallax.synthesize(size=(160, 120), disparities=16)
maps = [parallax.match(left, right, disparities=16, device=device) for device in ("cpu", "reference")]
assert maps[0].disparity.tobytes() == maps[1].disparity.tobytes()
print("Python on", parallax.devices()[-1].description)'
}

scripts/install-packages.sh cmake ninja-build pkg-config "${arm64_packages[@]}" ||
  skip "one of ${arm64_packages[*]} cannot be installed"
qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64)
if [ "${1:-}" = sysroot ]; then
  make_sysroot "$2"
  exit
fi
sysroot=$PWD/$build-sysroot
make_sysroot "$sysroot" || skip "Debian's packages for ARM cannot be had"
build
hide_aes
conformance &
tool
interfaces
wait $!
