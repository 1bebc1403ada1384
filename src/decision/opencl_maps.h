// SPDX-License-Identifier: Apache-2.0
// Destination of decisions, for plans on OpenCL.
#pragma once

#include "decision/decision.h"
#include "decision/opencl_types.h"
#include "devices/opencl/plan.h"

namespace parallax::decision {

// Destination of the left image's decisions. `before`: offset of the status of pixels before matching.
inline OpenclDecision left_map(const opencl::Map& map, const DecisionRule& rule, cl_long before,
                               cl_long before_stride) {
  return {.disparity = map.disparity,
          .stride = map.stride,
          .status = map.status,
          .status_stride = map.status_stride,
          .before = before,
          .before_stride = before_stride,
          .mirrored = 0,
          .min_disparity = rule.min_disparity,
          .labels = rule.labels,
          .sub_pixel = static_cast<cl_int>(rule.sub_pixel)};
}

// Those of a mirrored match: integer disparities, without a status.
inline OpenclDecision right_map(OpenclDecision left, const PlaneBuffer<float>& disparity) {
  left.disparity = opencl::offset(disparity);
  left.stride = opencl::stride(disparity);
  left.status = -1;
  left.mirrored = 1;
  left.sub_pixel = 0;
  return left;
}

}  // namespace parallax::decision
