// SPDX-License-Identifier: Apache-2.0
// Arguments of kernels; included by host and kernels.
#pragma once

namespace parallax::refine {

constexpr int max_window = 15;

// See guide.h.
struct CudaGuidedStep {
  const float* from;
  float* to;
  const unsigned char* guide;
  long long stride, to_stride;
  int guide_stride;
  int width, height;
  float step;                                        // step of the bilateral filter, in pixels
  unsigned char gray[256];                           // weights by difference
  unsigned short distance[max_window * max_window];  // weights by place in the window
};

// Arguments of Fill::directions.
struct CudaFill {
  const float* from;
  float* to;  // must differ from `from`
  unsigned char* status;
  const unsigned char* guide;
  long long stride, to_stride, status_stride;
  int guide_stride;
  int width, height;
  int reach;  // rows up and down
};

// A superpixel of Fill::planes: its centre, and its plane if it has one. See planes.h.
struct alignas(16) CudaSuperpixel {
  int x, y, red, green, blue;
  int has_plane;
  int base, a, b, c;
  int lowest, highest;  // range of its samples' values
};

// Arguments of Fill::planes.
struct CudaPlaneFill {
  float* disparity;
  unsigned char* status;
  const unsigned* colours;  // red, green and blue: a byte each, from the lowest on
  unsigned char* joined;    // see PlaneFill in planes.h; cell by cell
  CudaSuperpixel* superpixels;
  long long stride, status_stride;
  int colour_stride;
  int width, height;
  int cells_across, cells_down;
};

// A map of vectors.
struct CudaVectors {
  float *disparity, *row_offset;
  unsigned char* status;
  long long stride, status_stride;  // strides of the two float planes, and of the status
};

// What a pixel of the left image brings to refit_vectors(): its nearest shift, and in gray levels the
// difference and the gradient, whose row component is in the upper half.
struct alignas(16) CudaShift {
  int x, y, difference;
  unsigned gradient;
};

// A map and the gray levels of its images, for refit_vectors().
struct CudaVectorRefit {
  CudaVectors map;
  const unsigned char *left, *right;
  CudaShift* shifts;
  int gray_stride, shift_stride;
  int width, height;
};

}  // namespace parallax::refine
