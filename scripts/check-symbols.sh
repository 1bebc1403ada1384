#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fails if a binary needs a symbol of a newer glibc, or of libstdc++, which released binaries contain:
#
#   scripts/check-symbols.sh [--released] GLIBC FILE…    --released checks for libstdc++, too
set -euo pipefail
libraries=none
[ "$1" = --released ] && libraries='GLIBCXX|CXXABI' && shift
newest=$1 status=0
shift
for file in "$@"; do
  symbols=$(LC_ALL=C objdump -T "$file" | awk -v newest="$newest" -v libraries="^($libraries)_" '
    /\*UND\*/ {
      version = $(NF - 1)
      gsub(/[()]/, "", version)
      split(version, parts, /[_.]/)
      split(newest, most, ".")
      newer = parts[1] == "GLIBC" && (parts[2] > most[1] || (parts[2] == most[1] && parts[3] + 0 > most[2] + 0))
      if ((newer || version ~ libraries) && ++count <= 5) print $NF "@" version
    }')
  if [ -n "$symbols" ]; then
    echo "$file needs more than glibc $newest: $(echo $symbols)" >&2
    status=1
  fi
done
exit $status
