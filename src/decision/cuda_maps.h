// SPDX-License-Identifier: Apache-2.0
// Destination of decisions, for plans on CUDA.
#pragma once

#include "parallax/image.h"

#include "decision/cuda_types.h"
#include "decision/decision.h"

namespace parallax::decision {

// The map of a pair. `from_start`: the status of pixels before the decision.
inline CudaDecision left_map(const DisparityMap& map, const DecisionRule& rule,
                             const unsigned char* from_start, int from_start_stride) {
  return {.disparity = map.disparity.data,
          .status = map.status.data,
          .confidence = map.confidence.data,
          .stride = static_cast<int>(map.disparity.stride()),
          .status_stride = static_cast<int>(map.status.stride()),
          .from_start = from_start,
          .from_start_stride = from_start_stride,
          .min_disparity = rule.min_disparity,
          .mirrored = 0,
          .min_confidence = rule.min_confidence,
          .full_gap = rule.full_gap};
}

// The right map, from the mirrored pair: integer disparities only.
inline CudaDecision right_map(CudaDecision left, View<float> disparity) {
  left.disparity = disparity.data;
  left.stride = static_cast<int>(disparity.stride());
  left.status = nullptr;
  left.confidence = nullptr;
  left.mirrored = 1;
  left.min_confidence = 0;
  return left;
}

}  // namespace parallax::decision
