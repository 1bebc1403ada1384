// SPDX-License-Identifier: Apache-2.0
// Arguments of the kernels of semi-global matching; included by host and kernels.
#pragma once

namespace parallax::semi_global {

constexpr int max_paths = 8;

// The costs of all pixels and labels, in rows without gaps; see cuda_common.h.
struct CudaVolumes {
  int width, height;
  unsigned* costs;
  unsigned* paths;  // a volume for each path
  long long words;  // words of a volume
};

// The paths of a launch.
struct CudaPaths {
  struct {
    int x, y;  // step from pixel to pixel
    int volume;
    unsigned after;  // number of the first block behind this path's blocks
  } of[max_paths];
  const unsigned short* gray;
  int gray_stride;
  const unsigned short* large_jumps;  // P2 by the difference in gray levels
};

// The lowest sum of each right pixel, with its label in the lower half; rows without gaps.
struct CudaRight {
  unsigned* lowest;  // null: not wanted
};

struct CudaRightMap {
  float* disparity;
  int width, stride, min_disparity;
  const unsigned* validity;  // a bit for each pixel, see CudaValidity
  int validity_words;        // words of a row
};

}  // namespace parallax::semi_global
