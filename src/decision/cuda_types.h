// SPDX-License-Identifier: Apache-2.0
// Arguments of kernels that decide; included by host and kernels.
#pragma once

namespace parallax::decision {

// The output of decisions.
struct CudaDecision {
  float* disparity;
  unsigned char* status;
  float* confidence;
  int stride, status_stride;  // strides of the two float planes, and of the status
  const unsigned char* from_start;
  int from_start_stride;
  int min_disparity;
  int mirrored;
  float min_confidence;
  float full_gap;  // the gap that gives confidence one half
};

}  // namespace parallax::decision
