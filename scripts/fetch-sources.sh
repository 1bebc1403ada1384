#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Unpacks source packages of a Debian release into FOLDER: FOLDER/PACKAGE, and its description PACKAGE_VERSION.dsc. They come by
# an apt of their own, so that nothing of this system's is changed.
#
#   scripts/fetch-sources.sh FOLDER RELEASE PACKAGE…
set -euo pipefail
[ $# -ge 3 ] || { sed -n 's/^#   //p' "$0" >&2 && exit 2; }
folder=$1 release=$2
shift 2
missing=()
for package in "$@"; do [ -e "$folder/$package" ] || missing+=("$package"); done
[ ${#missing[@]} -eq 0 ] && exit 0

apt=$folder/apt-$release
mkdir -p "$apt"/{lists,cache}/partial
apt=$(realpath "$apt")
echo "deb-src http://deb.debian.org/debian $release main" >"$apt/sources.list"
options=(-qq -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
  -o Dir::State::Lists="$apt/lists" -o Dir::Cache="$apt/cache" -o APT::Sandbox::User=root)
apt-get "${options[@]}" update
for package in "${missing[@]}"; do
  # Under its name only once it is complete.
  rm -rf "$folder/new"
  mkdir "$folder/new"
  (cd "$folder/new" && apt-get "${options[@]}" source "$package" >../log 2>&1) || { tail -20 "$folder/log" >&2; exit 1; }
  mv "$folder/new/$package"_*.dsc "$folder"
  mv "$folder/new/$package"-*/ "$folder/$package"
done
rm -rf "$folder/new"
