// SPDX-License-Identifier: Apache-2.0
// Arguments of the kernels of motion; included by host and kernels.
#pragma once

#include "decision/cuda_types.h"

namespace parallax::motion {

struct alignas(8) CudaOffset {
  int x, y;
};

// A rectangle of labels: see LabelSpace.
struct CudaLabels {
  CudaOffset first;
  int columns, rows;
};

// A level of all labels, or a scale with windows. Values are those of the arithmetic; a pixel's are
// contiguous.
struct CudaLevel {
  int width, height;
  int pitch;                 // pixels of one colour in a row
  long long plane_elements;  // elements of one colour
  void* data;                // [colour]
  void* messages;            // [colour][direction]; null = the level does not exist
  const unsigned short* gray;
  int gray_stride;
  CudaLabels labels;        // all labels of the scale
  CudaOffset* predictions;  // scales with windows only, in rows of `width`
};

// The labels chosen by the pixels of a scale, in rows without gaps.
struct CudaBest {
  CudaOffset* of;
  int width, height;
};

// The output of decisions.
struct CudaMotion {
  CudaOffset* best;            // null = decisions go to the map
  decision::CudaDecision map;  // from the first frame, or back: then integers only
  float* row_offset;
  int backward;
};

}  // namespace parallax::motion
