#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the packages that package-lock.json of each folder names, unless they are there: packages.sh FOLDER…
set -eu
for folder in "$@"; do
  [ "$folder/node_modules/.package-lock.json" -nt "$folder/package-lock.json" ] ||
    npm ci --prefix "$folder" --ignore-scripts --no-audit --no-fund
done
