#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds Parallax, matches a real stereo pair, and prints errors and times.
#
#   scripts/demo.sh [FOLDER]      results go to FOLDER; default: out/demo
set -euo pipefail
out=$(realpath -m "${1:-$(dirname "$0")/../out/demo}")
cd "$(dirname "$0")/.."

source scripts/packages.sh
scripts/install-packages.sh "${demo_packages[@]}"
# Downloads the real pair during the build.
aloe=$out/aloe
scripts/fetch-aloe.sh "$aloe" &
fetching=$!
# Builds what this pair needs: one method and a few commands, for the vector instructions and the GPU of this machine.
cuda=OFF
if ldconfig -p | grep -q libcuda.so.1; then cuda=ON; fi
cmake --preset release -B build/demo -DPARALLAX_VECTORS=native -DPARALLAX_METHODS=bp -DPARALLAX_CUDA=$cuda \
  -DPARALLAX_OPENCL=OFF -DPARALLAX_VIEW=OFF "-DPARALLAX_COMMANDS=match;eval;synth;devices" >/dev/null
cmake --build build/demo -j "$(nproc)"
parallax=build/demo/parallax

mkdir -p "$out"
disparities=224
if wait $fetching; then
  left=$aloe/aloeL.jpg right=$aloe/aloeR.jpg
  truth=("$aloe/aloeGT.png" --truth-scale 1)
  # The pair has no calibration file: this one is Middlebury's for the 2006 pairs, see docs/reference/formats.md.
  calibration=docs/aloe-calib.txt
else
  echo "opencv-doc, which contains the real pair, is not available: using a synthetic pair."
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
echo "Results in $out: disparity.pfm (data), disparity.png (picture), points.ply (for MeshLab or CloudCompare)"
echo "This build has the method bp and a few commands. For everything: cmake --preset release && cmake --build --preset release"
