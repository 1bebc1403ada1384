#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Debian packages of this tree, including uncommitted changes, into build/packages:
#
#   scripts/package.sh              builds; needs root or sudo only if build dependencies are missing
#   scripts/package.sh reproduce    builds once more in another folder, and compares the bytes
#   scripts/package.sh test         checks the packages by lintian, installs them on a bare Debian 12 (needs root), measures
#                                   what that costs, and runs debian/tests there
#
#   scripts/package.sh --release bookworm|trixie --arch amd64|arm64 [test]
#
# builds for a release of Debian in a chroot of it, by cross compilers for arm64, into build/packages-RELEASE-ARCH, as root on
# amd64. Its test installs the packages on a bare system of that release and matches a pair; those for arm64 are unpacked there
# and run under QEMU.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=build/packages release= architecture=amd64

# Copies this tree, as it is, to a folder.
copy_source() {
  rm -rf "$1"
  mkdir -p "$1"
  git ls-files -z --cached --others --exclude-standard |
    tar -c --null -T - --mode=u+w,go-w,a+rX --mtime="@$(dpkg-parsechangelog -S Timestamp)" | tar -x -C "$1"
}

# Builds in FOLDER/source; the packages go to FOLDER.
build_in() {
  local folder=$1
  rm -rf "$folder"
  copy_source "$folder/source"
  # Without debug information, half as much is compiled and written.
  (cd "$folder/source" && DEB_BUILD_OPTIONS=noautodbgsym DEB_CXXFLAGS_STRIP=-g dpkg-buildpackage -us -uc -j"$(nproc)") \
    >"$folder/build.log" 2>&1 || { tail -50 "$folder/build.log" >&2; return 1; }
  rm -r "$folder/source"
}

# Makes the chroot in which packages for a release and an architecture are built, unless it is there.
make_chroot() {
  root=build/chroots/$release-$architecture
  mkdir -p build/chroots
  if [ ! -e "$root/complete" ]; then
    local include=build-essential,apt-utils architectures=amd64
    [ $architecture = amd64 ] || { include+=,crossbuild-essential-$architecture && architectures+=,$architecture; }
    rm -rf --one-file-system "$root"
    mmdebstrap --quiet --variant=minbase --mode=root --architectures=$architectures --include=$include $release "$root" \
      2>"$root.log" || { tail -30 "$root.log" >&2; return 1; }
    touch "$root/complete"
  fi
}

build_in_chroot() {
  make_chroot
  copy_source "$root/build/source"
  mount --bind /proc "$root/proc"
  trap 'umount "$root/proc"' EXIT
  mkdir -p "$packages"
  # Without debug information, half as much is compiled and written. Nothing of another architecture can run its tests.
  local options=noautodbgsym profiles=
  [ $architecture = amd64 ] || { options+=' nocheck' && profiles=cross; }
  { bare apt-get update -qq &&
      bare sh -c "cd /build/source && apt-get build-dep -y -qq --no-install-recommends -o DPkg::Options::=--force-unsafe-io \
        -a $architecture ${profiles:+-P $profiles} ." &&
      bare sh -c "cd /build/source && DEB_BUILD_OPTIONS='$options' DEB_BUILD_PROFILES='$profiles' DEB_CXXFLAGS_STRIP=-g \
        dpkg-buildpackage -us -uc -b -a $architecture -j$(nproc)"; } >"$packages/build.log" 2>&1 ||
    { tail -50 "$packages/build.log" >&2; return 1; }
  rm -f "$packages"/*.deb
  mv "$root"/build/*.{deb,changes,buildinfo} "$packages"
  rm -r "$root/build"
  umount "$root/proc"
  trap - EXIT
}

build() {
  local start=$SECONDS
  if [ -n "$release" ]; then
    build_in_chroot
  else
    build_here
  fi
  echo "Built in $((SECONDS - start)) s; bytes of each package:"
  stat -c '%9s %n' $packages/*.deb
}

build_here() {
  source scripts/packages.sh
  scripts/install-packages.sh "${build_packages[@]}" "${package_packages[@]}"
  build_in $packages
}

reproduce() {
  CCACHE_DISABLE=1 TZ=Asia/Kathmandu build_in build/packages-again
  local file same=0
  for file in $packages/*.deb $packages/*.dsc $packages/*.tar.*; do
    cmp "$file" "build/packages-again/${file##*/}" || exit 1
    same=$((same + 1))
  done
  rm -r build/packages-again
  echo "$same files have the same bytes again."
}

# Runs a command on the bare system in folder $root.
bare() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"; }

unmount_and_remove() {
  local root
  for root in "$scratch"/*; do umount -q "$root/proc" 2>/dev/null || true; done
  rm -rf --one-file-system "$scratch"
}

make_bare_system() {
  scratch=$(mktemp -d)
  trap unmount_and_remove EXIT
  root=$scratch/bare
  mmdebstrap --quiet --variant=minbase --mode=root "${release:-bookworm}" "$root" 2>$packages/bare.log ||
    { tail -30 $packages/bare.log >&2; return 1; }
  bare apt-get update -qq
  mkdir "$root/packages"
  cp $packages/*.deb "$root/packages"
}

# Installs on a fresh copy of the bare system, makes the first map, and prints the cost of both: install ARGUMENT…
install_on_copy() {
  local bare_root=$scratch/bare log=$packages/install.log start milliseconds
  root=$scratch/$(ls "$scratch" | wc -l)
  cp -a "$bare_root" "$root"
  mount --bind /proc "$root/proc"
  start=$(date +%s%N)
  bare sh -c "apt-get install -y $*" >$log 2>&1 || { tail -30 $log >&2; return 1; }
  bare sh -c 'cd /tmp && parallax synth pair && parallax match pair/left.png pair/right.png --disparities 64 -o map.pfm' 2>>$log
  milliseconds=$((($(date +%s%N) - start) / 1000000))
  echo "apt-get install $*"
  echo "  $(grep -c '^Setting up' $log) packages; $(grep '^Need to get' $log) In $milliseconds ms with the first map."
}

test_on_bare_system() {
  make_bare_system
  local tool='/packages/libparallax0.2_*.deb /packages/parallax_*.deb'
  install_on_copy "--no-install-recommends $tool"
  install_on_copy "$tool"
  install_on_copy "--no-install-recommends $tool /packages/python3-*.deb"
  install_on_copy "$tool /packages/python3-*.deb"
  echo "== debian/tests"
  autopkgtest --summary-file=$packages/tests.txt $packages/*.changes -- chroot "$root" >$packages/tests.log 2>&1 ||
    { cat $packages/tests.txt && echo "See $packages/tests.log" && return 1; } >&2
  cat $packages/tests.txt
}

# Unpacks the packages and what they depend on, and matches a pair under QEMU: nothing can be configured here.
test_under_qemu() {
  local needed run
  scratch=$(mktemp -d)
  trap unmount_and_remove EXIT
  needed=$(for file in $packages/{libparallax0.2,parallax,parallax-view}_*.deb; do dpkg-deb -f "$file" Depends; done |
    tr ',' '\n' | sed 's/ *\([^ ]*\).*/\1/' | grep -v parallax | sort -u | paste -sd,)
  mmdebstrap --quiet --variant=extract --architectures=$architecture --include="$needed" "$release" "$scratch/bare"
  # Debian 13's base-files makes this link when it is configured.
  [ -e "$scratch/bare/lib" ] || ln -s usr/lib "$scratch/bare/lib"
  for file in $packages/*.deb; do dpkg-deb -x "$file" "$scratch/bare"; done
  run="qemu-aarch64-static -L $scratch/bare $scratch/bare/usr/bin"
  $run/parallax --version
  $run/parallax-view --help >/dev/null
  (cd "$scratch/bare/tmp" && $run/parallax synth pair && $run/parallax match pair/left.png pair/right.png --disparities 64 -o map.pfm)
}

test_of_release() {
  if [ $architecture = arm64 ]; then
    test_under_qemu
  else
    make_bare_system
    install_on_copy '/packages/libparallax0.2_*.deb /packages/parallax*_*.deb /packages/python3-*.deb'
    bare parallax-view --help >/dev/null
    bare python3 -c 'import parallax_stereo as px; left, right, _ = px.synthesize(); px.match(left, right, 64)'
  fi
}

test_packages() {
  source scripts/packages.sh
  scripts/install-packages.sh "${package_test_packages[@]}"
  ls $packages/*.changes >/dev/null 2>&1 || build
  echo "== lintian"
  lintian --fail-on error,warning $packages/*.changes
  echo "== bare system"
  if [ "$(id -u)" -eq 0 ]; then
    test_on_bare_system
  else
    echo "skipped: mmdebstrap and chroot need root here"
  fi
}

command=build
while [ $# -gt 0 ]; do
  case $1,${2:-} in
    --release,bookworm | --release,trixie) release=$2 && shift ;;
    --arch,amd64 | --arch,arm64) architecture=$2 && shift ;;
    build,* | test,* | reproduce,*) command=$1 ;;
    *) sed -n 's/^#   //p' "$0" >&2 && exit 2 ;;
  esac
  shift
done
[ -z "$release" ] || packages=build/packages-$release-$architecture
case $command,$release,$architecture in
  reproduce,?*,* | *,,arm64) sed -n 's/^#   //p' "$0" >&2 && exit 2 ;;
  test,,*) test_packages ;;
  test,*) test_of_release ;;
  *) $command ;;
esac
