// SPDX-License-Identifier: Apache-2.0
// Arguments of the kernels of census matching; included by host and kernels.
#pragma once

#include "devices/cuda/pair.h"

namespace parallax::census {

// A level of the pyramids of both images, [side]. Rows of pixels are PITCH elements apart.
struct CudaLevel {
  int width, height;
  void* gray[2];               // bytes, or 16 bits
  unsigned char* validity[2];  // 1 = valid, 0 = masked; written only if the image has a mask
  // Rows of VALUES planes of words, from the row of pixel (0, 0) on; the rows above and below the image that
  // a window reaches repeat its border. Bit i of a signature is bit i mod 32 of word i / 32. For AD-census,
  // the last plane has 8-bit gray values.
  unsigned* signatures[2];
  int* disparities[2];  // for levels above the image: see no_disparity
};

constexpr int max_cuda_levels = 30;

struct CudaPyramid {
  CudaLevel levels[max_cuda_levels];
  int count;
  int first_tile[max_cuda_levels + 1];  // for the kernel that makes signatures
};

// Arguments of the kernel that reads the caller's pair.
struct CudaTake {
  cuda::Image images[2];
  cuda::Mask masks[2];
  int* masked;  // [side]: whether there is a mask at all
  CudaPyramid pyramid;
};

// The output map; strides are in elements.
struct CudaMap {
  float* disparity;
  unsigned char* status;
  float* confidence;  // null = not wanted
  int disparity_stride, status_stride, confidence_stride;
  float* right_disparity;  // null = not wanted
  int right_stride;
};

// The search of one level.
struct CudaSearch {
  CudaLevel level, above;
  const int* masked;
  int lowest, labels;
  int search_radius;
  CudaMap map;  // for the image itself
};

}  // namespace parallax::census
