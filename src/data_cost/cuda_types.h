// SPDX-License-Identifier: Apache-2.0
// Arguments of the kernels of data costs; included by host and kernels.
#pragma once

#include "devices/cuda/pair.h"

namespace parallax::data_cost {

// Both images in the form that is compared. Planes of 16-bit samples in 256ths of a gray level, rows `stride`
// apart, `plane` elements each; the last is gray. For the mirrored pair when the right image is matched.
struct CudaSamples {
  unsigned short* left;
  unsigned short* right;
  int width, height;
  int stride, planes;
  long long plane;
};

// A bit for each pixel of a row, 32 a word, `words` words a row: set where the image has a valid pixel.
struct CudaValidity {
  unsigned* left;
  unsigned* right;
  int words;
};

// The features of a pixel for DataCost::gradient_birchfield_tomasi. A range has its lowest value in the low
// half.
struct alignas(16) CudaGradient {
  unsigned gradient, range, gray_range;
};

// The inputs of data costs.
struct CudaCosts {
  CudaSamples samples;
  const void* left_features;  // signatures, or lowest and highest values; in rows of samples.stride
  const void* right_features;
  CudaValidity validity;
  const float* table;   // costs of integer differences
  const float* volume;  // the caller's
  long long volume_row_stride;
  int min_disparity;
  int differences;
  float cost_scale, outside;
  float volume_scale, volume_limit;
  int mirrored;
  int frame;
  unsigned char* status;  // of each pixel before matching, in rows of samples.stride
};

}  // namespace parallax::data_cost
