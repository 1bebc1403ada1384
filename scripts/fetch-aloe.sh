#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Extracts the Aloe pair of Middlebury 2006 from Debian's package opencv-doc, without installing it:
#
#   scripts/fetch-aloe.sh FOLDER      aloeL.jpg, aloeR.jpg and aloeGT.png go there
set -euo pipefail
mkdir -p "$1"
folder=$(cd "$1" && pwd)
[ -e "$folder/aloeGT.png" ] && [ -e "$folder/aloeL.jpg" ] && [ -e "$folder/aloeR.jpg" ] && exit 0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
apt-get download -qq opencv-doc 2>/dev/null
dpkg-deb --fsys-tarfile opencv-doc_*.deb | tar -x --wildcards '*/data/aloe*'
mv ./usr/share/doc/opencv-doc/examples/data/aloe* "$folder"
