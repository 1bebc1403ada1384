// SPDX-License-Identifier: Apache-2.0
// The decision from a pixel's beliefs, in kernels: see decision.h.
#pragma once

#include "decision/cuda_costs.h"
#include "decision/cuda_types.h"
#include "decision/cuda_values.h"

namespace parallax::decision {

// The lowest belief of a pixel, those of its neighbouring labels, and the lowest other one.
struct Beliefs {
  int label;
  float before, best, after, rival;
};

// Writes the decision of pixel (x, y); for the right map, in integer disparities. `status` is the status
// before the decision.
template <int sub_pixel>
__device__ __forceinline__ void write_decision(const CudaDecision& to, int x, int y, int width, int labels,
                                               uint8 status, const Beliefs& found) {
  const int column = to.mirrored ? width - 1 - x : x;
  const int64 at = static_cast<int64>(y) * to.stride + column;
  const bool decided = status == matched;
  float disparity = static_cast<float>(to.min_disparity + found.label);
  const float gap = found.rival - found.best;
  const float confidence = gap == no_value ? 1.0f : gap / (gap + to.full_gap);
  if (decided && to.min_confidence != 0 && !(confidence >= to.min_confidence)) status = ambiguous;
  if constexpr (sub_pixel != 0) {
    const bool inside =
        found.label > 0 && found.label + 1 < labels && found.before < no_value && found.after < no_value;
    if (!to.mirrored && inside)
      disparity += sub_pixel_offset<sub_pixel>(found.before, found.best, found.after);
  }
  to.disparity[at] = status == matched ? disparity : no_value;
  if (to.status != nullptr) to.status[static_cast<int64>(y) * to.status_stride + column] = status;
  if (to.confidence != nullptr) to.confidence[at] = decided ? confidence : 0.0f;
}

}  // namespace parallax::decision
