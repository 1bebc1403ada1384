#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes what a release publishes for a processor, x86_64 (the default) or aarch64, into build/release/PROCESSOR: an archive with
# the tool, the viewer, the library and its headers, a Python wheel, a bill of materials and checksums. Binaries contain every
# library but glibc with its libgcc_s, and run on glibc 2.34 and later. Runs on Debian 12 with GCC 12, as root, because it makes a
# system root.
#
#   scripts/release.sh [PROCESSOR]              builds
#   scripts/release.sh reproduce [PROCESSOR]    builds once more in another folder, and compares the bytes
#   scripts/release.sh test [PROCESSOR]         reads the symbols; matches a pair on bare Debian 12, Debian 13, and on glibc alone
set -euo pipefail
cd "$(dirname "$0")/.."

# Highway and oneTBB are compiled as PARALLAX_VENDORED. Debian has no static libraries of the others, or, of libtiff, one with
# JBIG, which is under the GPL.
source_packages=(highway onetbb libspng tinyxml2 tiff libjpeg-turbo)
system_packages=(libc6-dev libstdc++-12-dev libjpeg62-turbo-dev libwebp-dev libxxhash-dev libyaml-cpp-dev zlib1g-dev libzstd-dev
  liblzma-dev libdeflate-dev liblerc-dev libcli11-dev nlohmann-json3-dev opencl-c-headers)
tiff_libraries=(webp Lerc deflate lzma zstd jpeg z)

processor=x86_64 command=build
for argument in "$@"; do
  case $argument in
    build | reproduce | test) command=$argument ;;
    x86_64 | aarch64) processor=$argument ;;
    *) sed -n 's/^#   //p' "$0" >&2 && exit 2 ;;
  esac
done
triplet=$processor-linux-gnu
[ "$processor" = x86_64 ] && architecture=amd64 || architecture=arm64
version=$(sed -n 's/^project(parallax VERSION \([0-9]*\.[0-9]*\).*/\1/p' CMakeLists.txt)
name=parallax-$version-linux-$processor
release=$PWD/build/release
sources=$release/sources
export SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) LC_ALL=C.UTF-8 TZ=UTC

# A system with headers and libraries of the processor: make_system FOLDER.
make_system() {
  local libraries=$1/usr/lib/$triplet
  rm -rf --one-file-system "$1"
  mmdebstrap --quiet --variant=extract --architectures=$architecture \
    --include="$(IFS=, && echo "${system_packages[*]}")" bookworm "$1"
  # Absolute links of libraries, such as libm.so on ARM, would lead out of the system.
  local link
  for link in $(find "$libraries" -maxdepth 1 -lname '/*'); do
    ln -sf "$(realpath -m --relative-to="$libraries" "$1$(readlink "$link")")" "$link"
  done
  # Without their links, the linker takes static libraries.
  rm "$libraries"/lib{jpeg,webp,xxhash,yaml-cpp,z,zstd,lzma,deflate,Lerc}.so
  $triplet-gcc --sysroot="$1" -O2 -fPIC $prefix_map -c "$sources/libspng/spng/spng.c" -o "$1/spng.o"
  $triplet-g++ --sysroot="$1" -O2 -fPIC $prefix_map -c "$sources/tinyxml2/tinyxml2.cpp" -o "$1/tinyxml2.o"
  $triplet-gcc-ar rcD "$libraries/libspng.a" "$1/spng.o"
  $triplet-gcc-ar rcD "$libraries/libtinyxml2.a" "$1/tinyxml2.o"
  # The only object in libjpeg.a that is compiled for programs and not for shared libraries.
  mkdir "$1/jpeg"
  sed 's/@COPYRIGHT_YEAR@//' "$sources/libjpeg-turbo/jversion.h.in" >"$1/jpeg/jversion.h"
  touch "$1/jpeg/jconfigint.h"
  $triplet-gcc --sysroot="$1" -O2 -fPIC -DINLINE=inline $prefix_map -I"$1/jpeg" -I"$sources/libjpeg-turbo" -c "$sources/libjpeg-turbo/jerror.c" \
    -o "$1/jerror.c.o"
  $triplet-gcc-ar rD "$libraries/libjpeg.a" "$1/jerror.c.o"
  rm "$1"/*.o
  cp "$sources/libspng/spng/spng.h" "$sources/tinyxml2/tinyxml2.h" "$1/usr/include"
  describe "$1" spng '-lspng -lz -lm'
  describe "$1" tinyxml2 -ltinyxml2
  cmake_for "$1" -S "$sources/tiff" -B "$1/tiff" -DBUILD_SHARED_LIBS=OFF -Djbig=OFF -Dcxx=OFF >"$1/tiff.log"
  cmake --build "$1/tiff" --target tiff -j "$(nproc)" >>"$1/tiff.log"
  cp "$1/tiff/libtiff/libtiff.a" "$libraries"
  cp "$sources"/tiff/libtiff/{tiff,tiffio,tiffvers}.h "$1"/tiff/libtiff/tiffconf.h "$1/usr/include"
}

# A description for pkg-config: describe SYSTEM NAME LIBRARIES.
describe() {
  printf 'Name: %s\nDescription: %s\nVersion: 1\nLibs: %s\nCflags:\n' "$2" "$2" "$3" >"$1/usr/lib/$triplet/pkgconfig/$2.pc"
}

# Configures for a system: cmake_for SYSTEM ARGUMENT….
cmake_for() {
  local system=$1 toolchain=()
  shift
  [ "$processor" = "$(uname -m)" ] || toolchain=(-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="$processor")
  PKG_CONFIG_SYSROOT_DIR=$system PKG_CONFIG_LIBDIR=$system/usr/lib/$triplet/pkgconfig:$system/usr/share/pkgconfig \
    cmake -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_SYSROOT="$system" "${toolchain[@]}" \
    -DCMAKE_C_COMPILER=$triplet-gcc -DCMAKE_CXX_COMPILER=$triplet-g++ -DCMAKE_STRIP=/usr/bin/$triplet-strip \
    -DCMAKE_C_FLAGS="$prefix_map" -DCMAKE_CXX_FLAGS="$prefix_map" -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
    -DCMAKE_FIND_ROOT_PATH_MODE_PROGRAM=NEVER -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY \
    -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY "$@"
}

# Compiles and installs: compile FOLDER.
compile() {
  local system=$1/system object=$1/arc4random.o
  $triplet-g++ --sysroot="$system" -std=c++20 -O2 -fPIC -fno-exceptions $prefix_map -c cmake/arc4random.cpp -o "$object"
  local archives=("${tiff_libraries[@]/#/$system/usr/lib/$triplet/lib}")
  archives=("${archives[@]/%/.a}")
  local link="-static-libstdc++ -Wl,--exclude-libs,ALL $object"
  cmake_for "$system" -S . -B "$1/build" -DCMAKE_UNITY_BUILD=ON -DBUILD_SHARED_LIBS=ON -DCMAKE_INSTALL_LIBDIR=lib \
    -DPARALLAX_DEVELOPER_MODE=OFF -DPARALLAX_VECTORS=all -DPARALLAX_VENDORED="$sources" \
    -DCMAKE_EXE_LINKER_FLAGS="$link" -DCMAKE_SHARED_LINKER_FLAGS="$link" -DCMAKE_CXX_STANDARD_LIBRARIES="${archives[*]}" \
    -DCMAKE_INSTALL_RPATH='$ORIGIN' -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON >"$1/build.log" 2>&1 &&
    cmake --build "$1/build" -j "$(nproc)" >>"$1/build.log" 2>&1 &&
    cmake --install "$1/build" --strip --prefix "$1/$name" >>"$1/build.log" || { tail -30 "$1/build.log" >&2; return 1; }
}

# Everything but what is published: prepare FOLDER.
prepare() {
  prefix_map="-ffile-prefix-map=$1=release -ffile-prefix-map=$sources=sources -ffile-prefix-map=$PWD=parallax"
  rm -rf --one-file-system "$1"
  mkdir -p "$1"
  scripts/fetch-sources.sh "$sources" bookworm "${source_packages[@]}"
  ln -sfn onetbb "$sources/oneTBB"
  make_system "$1/system"
  compile "$1"
  rm "$1/$name"/lib/libparallax_pictures.so.*
  cp LICENSE "$1/$name"
  scripts/release_contents.py licences "$1/system" "$sources" "$1/$name/licences"
}

archive() {
  (cd "$1" && tar -c --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u+w,go-w,a+rX \
    --format=posix --pax-option=delete=atime,delete=ctime "$name" | xz -9 -T1 >"$name.tar.xz")
}

wheel() {
  local libraries=$1/wheel/lib
  mkdir -p "$libraries"
  ln -s "../$name/licences" "$1/wheel/licences"
  cp "$1/$name"/lib/libparallax.so.*.*.* "$libraries/libparallax.so"
  $triplet-strip -o "$libraries/libparallax_pictures.so.$version" "$1/build/tools/reader/libparallax_pictures.so.$version"
  (cd python && PYTHONDONTWRITEBYTECODE=1 PARALLAX_LIBRARY=$libraries/libparallax.so \
    PARALLAX_WHEEL_PLATFORM=manylinux_2_34_$processor python3 -c "import build_backend; build_backend.build_wheel('$1')")
}

publish() {
  local folder=$1
  prepare "$folder"
  archive "$folder"
  wheel "$folder"
  cd "$folder"
  "$OLDPWD/scripts/release_contents.py" bill system "$sources" "$name.tar.xz" ./*.whl >"$name.spdx.json"
  sha256sum "$name.tar.xz" "$name.spdx.json" *.whl >SHA256SUMS
  cd "$OLDPWD"
}

build() {
  local start=$SECONDS
  publish "$release/$processor"
  echo "Built in $((SECONDS - start)) s; bytes of each file:"
  (cd "$release/$processor" && stat -c '%9s %n' SHA256SUMS $(cut -d' ' -f3 SHA256SUMS))
}

reproduce() {
  local again=$release/$processor-again file same=1
  CCACHE_DISABLE=1 publish "$again"
  cmp {"$release/$processor","$again"}/SHA256SUMS
  echo "$(wc -l <"$again/SHA256SUMS") files have the same bytes again."
  rm -rf --one-file-system "$again"
}

# Runs a program in the system in folder $root, for another processor under QEMU.
run() {
  if [ "$processor" = "$(uname -m)" ]; then
    env -i HOME=/tmp "$(command -v chroot)" "$root" "$@"
  else
    (cd "$root" && qemu-$processor-static -L "$root" -E "LD_LIBRARY_PATH=/usr/lib/$triplet/blas:/usr/lib/$triplet/lapack" \
      "$root$1" "${@:2}")
  fi
}

# Makes a system with the archive: make_test_system RELEASE NAME VARIANT PACKAGES.
make_test_system() {
  root=$scratch/$2
  [ "$processor" = "$(uname -m)" ] || set -- "$1" "$2" extract "$4"
  mmdebstrap --quiet --mode=root --variant="$3" --architectures=$architecture --include="$4" "$1" "$root" 2>"$scratch/log" ||
    { tail -30 "$scratch/log" >&2; return 1; }
  # Debian 13's base-files makes this link when it is configured.
  [ -e "$root/lib" ] || ln -s usr/lib "$root/lib"
  mkdir -p "$root/opt" "$root/proc"
  tar -x -C "$root/opt" -f "$folder/$name.tar.xz"
  # The loader finds a program's own folder there.
  mount --bind /proc "$root/proc"
}

# Matches a pair with the tool; the map is the same everywhere.
match_pair() {
  local tool=/opt/$name/bin/parallax
  run $tool --version
  run $tool view --help >/dev/null
  run $tool synth pair >/dev/null
  run $tool match pair/left.png pair/right.png --disparities 64 --device cpu -o map.pfm >/dev/null
  [ -e "$scratch/map.pfm" ] || cp "$root/map.pfm" "$scratch"
  cmp "$root/map.pfm" "$scratch/map.pfm"
}

match_in_python() {
  python3 -m zipfile -e "$folder"/*.whl "$root/wheel"
  run /usr/bin/python3 -c "
import sys
sys.path.insert(0, 'wheel')
import parallax_stereo as px
left, right, truth = px.synthesize((320, 240), 32)
assert px.evaluate(px.match(left, right, 32).disparity, truth).bad1 < 0.1
assert px.read('pair/left.png').shape
try:
    px.read('map.pfm.missing')
except px.FileError as error:
    assert str(error)
print('wheel', px.__version__)"
}

check_files() {
  local file unpacked=$scratch/unpacked
  (cd "$folder" && sha256sum --quiet --check SHA256SUMS)
  mkdir "$unpacked"
  tar -x -C "$unpacked" -f "$folder/$name.tar.xz"
  python3 -m zipfile -e "$folder"/*.whl "$unpacked/wheel"
  scripts/check-symbols.sh --released 2.34 $(find "$unpacked" -type f \( -path '*/bin/*' -o -name '*.so*' \))
  for file in "$folder/$name.tar.xz" "$folder"/*.whl; do
    [ "$(stat -c %s "$file")" -lt 15000000 ] || { echo "$file has 15 MB or more" >&2; return 1; }
  done
}

remove_systems() {
  for root in "$scratch"/*/proc; do umount -q "$root" || true; done
  rm -rf --one-file-system "$scratch"
}

test_release() {
  folder=$release/$processor
  scratch=$(mktemp -d)
  trap remove_systems EXIT
  check_files
  local debian
  for debian in bookworm trixie; do
    echo "== $debian"
    make_test_system $debian $debian minbase python3-numpy
    match_pair
    match_in_python
  done
  echo "== glibc alone"
  make_test_system bookworm glibc extract libc6
  match_pair
}

case $command in
  test) test_release ;;
  *) $command ;;
esac
