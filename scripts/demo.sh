#!/usr/bin/env bash
# Builds Parallax and matches a real stereo pair: what it looks like, how good it is, how long it takes.
#
#   scripts/demo.sh [FOLDER]      results go to FOLDER; default: out/demo
set -euo pipefail
out=$(realpath -m "${1:-$(dirname "$0")/../out/demo}")
cd "$(dirname "$0")/.."

source scripts/packages.sh
scripts/install-packages.sh "${build_packages[@]}"
cmake --preset release >/dev/null
cmake --build --preset release
parallax=build/release/parallax

mkdir -p "$out"
# The Aloe pair of Middlebury 2006, as Debian's opencv-doc brings it.
aloe=/usr/share/doc/opencv-doc/examples/data
[ -e "$aloe/aloeGT.png" ] || scripts/install-packages.sh opencv-doc || true
if [ -e "$aloe/aloeGT.png" ]; then
  left=$aloe/aloeL.jpg right=$aloe/aloeR.jpg
  disparities=224
  truth=("$aloe/aloeGT.png" --truth-scale 1)
  # The pair has no calibration file: this one is Middlebury's for the 2006 pairs, see docs/formats.md.
  calibration=docs/aloe-calib.txt
else
  echo "The package opencv-doc is not to be had here: a synthetic pair instead."
  "$parallax" synth "$out/pair" --size 1282x1110 --disparities 224 --scene layers
  left=$out/pair/left.png right=$out/pair/right.png
  disparities=224
  truth=("$out/pair/disp0GT.pfm")
  calibration=$out/pair/calib.txt
fi

echo
"$parallax" match "$left" "$right" --disparities $disparities --repeat 5 \
  -o "$out/disparity.pfm" --image "$out/disparity.png" --cloud "$out/points.ply" --calib "$calibration"
echo
"$parallax" eval "$out/disparity.pfm" "${truth[@]}"
echo
echo "In $out: disparity.pfm (data), disparity.png (look at it), points.ply (open it in MeshLab or CloudCompare)"
