// SPDX-License-Identifier: Apache-2.0
// Arguments of the kernels of block matching; included by host and kernels.
#pragma once

#include "devices/cuda/pair.h"

namespace parallax::block {

// Both images in the form that is compared: filtered, and extended by repeating their border pixels. Pixel
// (x, y), also of the extension, is element y · pitch + x. The extension has `before` columns, `radius` rows,
// and as many more as fill the pitch and `rows`. Elements are bytes or 16 bits.
struct CudaFrame {
  int width, height;
  int before, radius;
  int pitch, rows;
};

// A byte for each pixel: 1 where the image has a valid pixel. Zeros lie beside the columns of the image.
struct CudaValidity {
  unsigned char* of[2];  // [side]: pixel (0, 0)
  int* masked;           // [side]: whether there is a mask at all
  int stride;
};

// Results of the search, in rows of full strips.
struct CudaFound {
  void* best[2];  // [side]: each pixel's key, its lowest cost and label; null = not wanted
  void* rivals;   // for each left pixel, the key of its best label not next to the best; null = not wanted
  int stride, key_bytes;
};

// Arguments of the kernel that reads the caller's pair and clears the previous results.
struct CudaTake {
  cuda::Image images[2];
  cuda::Mask masks[2];
  int width;
  void* gray[2];
  int gray_stride;
  CudaValidity validity;
  CudaFound found;
};

// Arguments of the kernel that filters the images.
struct CudaFilter {
  CudaFrame frame;
  const void* gray[2];
  int gray_stride;
  int cap;
  void* filtered[2];
  void* responses;  // left image's responses, plus cap; null = not wanted
};

// Σ and 1/√(n·Σ² − (Σ)²) of a window, for ZNCC.
struct CudaStatistics {
  double sum, scale;
};

// Extra columns beside the image in a row of statistics: read, but not used.
constexpr int statistics_margin = 8;

// The search for the best labels of one image, the "base", in the other one. Labels are shifts: base column x
// is compared with other column x − shift.
struct CudaSearch {
  const void* base;
  const void* other;
  CudaFrame frame;
  const unsigned char* other_validity;
  int validity_stride;
  const int* other_masked;
  const CudaStatistics* base_statistics;  // see statistics_at()
  const CudaStatistics* other_statistics;
  int statistics_stride;
  int first_shift, last_shift;
  int label_offset, label_step;  // label = offset + step · shift
  int columns;                   // columns of four pixels in a row
  int strips;
  int groups_per_slice;
  void* best;  // see CudaFound
  void* rivals;
};

// Arguments of the kernel that makes the map from keys.
struct CudaDecision {
  CudaFrame frame;
  const void* left;
  const void* right;
  const void* responses;
  CudaValidity validity;
  const CudaStatistics* left_statistics;
  const CudaStatistics* right_statistics;
  int statistics_stride;
  CudaFound found;
  int lowest, labels;
  int cap;
  long long texture_threshold;
  float* disparity;
  unsigned char* status;
  int stride, status_stride;
  float* right_disparity;  // null = not wanted
  int right_stride;
  float* confidence;  // null = not wanted
  int confidence_stride;
};

}  // namespace parallax::block
