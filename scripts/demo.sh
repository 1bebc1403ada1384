#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds Parallax and matches a real stereo pair: what it looks like, how good it is, how long it takes.
#
#   scripts/demo.sh [FOLDER]      results go to FOLDER; default: out/demo
set -euo pipefail
out=$(realpath -m "${1:-$(dirname "$0")/../out/demo}")
cd "$(dirname "$0")/.."

source scripts/packages.sh
scripts/install-packages.sh "${build_packages[@]}"
# The real pair comes while the compiler works.
aloe=$out/aloe
scripts/fetch-aloe.sh "$aloe" &
fetching=$!
# For this machine alone: its vector instructions and no others.
cmake --preset release -B build/demo -DPARALLAX_VECTORS=native >/dev/null
cmake --build build/demo
parallax=build/demo/parallax

mkdir -p "$out"
disparities=224
if wait $fetching; then
  left=$aloe/aloeL.jpg right=$aloe/aloeR.jpg
  truth=("$aloe/aloeGT.png" --truth-scale 1)
  # The pair has no calibration file: this one is Middlebury's for the 2006 pairs, see docs/formats.md.
  calibration=docs/aloe-calib.txt
else
  echo "opencv-doc, which has the real pair, is not available: a synthetic pair instead."
  "$parallax" synth "$out/pair" --size 1282x1110 --disparities $disparities --scene layers
  left=$out/pair/left.png right=$out/pair/right.png
  truth=("$out/pair/disp0GT.pfm")
  calibration=$out/pair/calib.txt
fi

echo
"$parallax" match "$left" "$right" --disparities $disparities \
  -o "$out/disparity.pfm" --image "$out/disparity.png" --cloud "$out/points.ply" --calib "$calibration"
echo
"$parallax" eval "$out/disparity.pfm" "${truth[@]}"
echo
echo "In $out: disparity.pfm (data), disparity.png (look at it), points.ply (open it in MeshLab or CloudCompare)"
