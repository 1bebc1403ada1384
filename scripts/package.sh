#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Debian packages of this tree, including uncommitted changes, into build/packages:
#
#   scripts/package.sh              builds; needs root or sudo only if build dependencies are missing
#   scripts/package.sh reproduce    builds once more in another folder, and compares the bytes
#   scripts/package.sh test         checks the packages by lintian, installs them on a bare Debian 12 (needs root), measures
#                                   what that costs, and runs debian/tests there
set -euo pipefail
cd "$(dirname "$0")/.."
packages=build/packages

# Builds in FOLDER/source; the packages go to FOLDER.
build_in() {
  local folder=$1
  rm -rf "$folder"
  mkdir -p "$folder/source"
  git ls-files -z --cached --others --exclude-standard |
    tar -c --null -T - --mode=u+w,go-w,a+rX --mtime="@$(dpkg-parsechangelog -S Timestamp)" | tar -x -C "$folder/source"
  # Without debug information, half as much is compiled and written.
  (cd "$folder/source" && DEB_BUILD_OPTIONS=noautodbgsym DEB_CXXFLAGS_STRIP=-g dpkg-buildpackage -us -uc -j"$(nproc)") \
    >"$folder/build.log" 2>&1 || { tail -50 "$folder/build.log" >&2; return 1; }
  rm -r "$folder/source"
}

build() {
  source scripts/packages.sh
  scripts/install-packages.sh "${build_packages[@]}" "${package_packages[@]}"
  local start=$SECONDS
  build_in $packages
  echo "Built in $((SECONDS - start)) s; bytes of each package:"
  stat -c '%9s %n' $packages/*.deb
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
  for root in "$scratch"/*; do umount -q "$root/proc" || true; done
  rm -rf --one-file-system "$scratch"
}

make_bare_system() {
  scratch=$(mktemp -d)
  trap unmount_and_remove EXIT
  root=$scratch/bare
  mmdebstrap --quiet --variant=minbase --mode=root bookworm "$root" 2>$packages/bare.log ||
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

case ${1:-build} in
  build | reproduce) "${1:-build}" ;;
  test) test_packages ;;
  *) sed -n 's/^#   //p' "$0" >&2 && exit 2 ;;
esac
