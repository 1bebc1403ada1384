// SPDX-License-Identifier: Apache-2.0
// Arguments of the kernels of planes; included by host and kernels.
#pragma once

#include "data_cost/cuda_types.h"

namespace parallax::planes {

// See Plane.
struct alignas(8) CudaPlane {
  int disparity;
  short slope_x, slope_y;
};

// See Features. All rows are `stride` apart.
struct CudaFeatures {
  unsigned long long *signature, *alike;
  unsigned short *bit_cost, *levels, *edge_before, *edge_above;
  // For each quarter of a pixel, a plane of all right pixels.
  unsigned long long* right_signature;
  unsigned short* right_levels;
};

// See Model.
struct CudaModel {
  int lowest, highest, truncation, outside, max_census, level_cost, gradient_cost;
};

// A pair, and the planes of its left image.
struct CudaScene {
  int width, height, stride;
  long long plane;  // elements of a plane
  CudaModel model;
  data_cost::CudaValidity validity;
  CudaFeatures features;
  CudaPlane* planes;
  short* data;  // costs of the planes
};

// See CellGrid.
struct CudaGrid {
  int step, first_x, first_y, columns;
};

}  // namespace parallax::planes
