// SPDX-License-Identifier: Apache-2.0
// Arguments of the kernels of motion; included by host and kernels.
#pragma once

#include "decision/cuda_types.h"

namespace parallax::motion {

struct alignas(8) CudaOffset {
  int x, y;
};

// A rectangle of labels, as LabelSpace.
struct CudaLabels {
  CudaOffset first;
  int columns, rows;
};

// A level of all labels, or a scale with windows. Values are those of the arithmetic; a pixel's are
// contiguous.
struct CudaLevel {
  int width, height;
  int pitch;                 // pixels of one colour in a row
  long long plane_elements;  // of one colour
  void* data;                // [colour]
  void* messages;            // [colour][direction]; null: there is no such level
  const unsigned short* gray;
  int gray_stride;
  CudaLabels labels;        // all those of the scale
  CudaOffset* predictions;  // of a scale with windows, in rows of `width`
};

// The labels that the pixels of a scale took, in rows without gaps.
struct CudaBest {
  CudaOffset* of;
  int width, height;
};

// Where decisions go.
struct CudaMotion {
  CudaOffset* best;          // null: to the map
  refine::CudaDecision map;  // from the first frame, or back: then of integers only
  float* row_offset;
  int backward;
};

}  // namespace parallax::motion
