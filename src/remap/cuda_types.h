// SPDX-License-Identifier: Apache-2.0
// Arguments of the kernels of rectification on CUDA; included by host and kernels.
#pragma once

#include "devices/cuda/pair.h"

namespace parallax::remap {

struct CudaBlock {
  short x, y;
};

// A Map of map.h.
struct CudaMap {
  const unsigned short* positions;  // x and y of each pixel
  const CudaBlock* blocks;
  int stride, block_stride;  // in pixels, in blocks
  int camera_width, camera_height;
};

struct CudaOutput {
  void* data;
  long long stride_bytes;
  unsigned char* mask;  // null = not wanted
  long long mask_stride;
};

// Both sides, [left, right].
struct CudaRemap {
  CudaMap maps[2];
  cuda::Image from[2];
  CudaOutput to[2];
  const short* taps;  // [64][8]
  int width, height;  // size of the rectified images
};

}  // namespace parallax::remap
