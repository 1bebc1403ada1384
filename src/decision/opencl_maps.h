// SPDX-License-Identifier: Apache-2.0
// Where decisions go, for plans on OpenCL.
#pragma once

#include "core/arena.h"
#include "decision/decision.h"
#include "decision/opencl_types.h"
#include "devices/opencl/program.h"
#include "devices/opencl/types.h"

namespace parallax::refine {

// \throws Error (device) where decisions divide, and the device does not round divisions correctly
void check_divisions(const opencl::DeviceInfo& device, const DecisionRule& rule);

// Where decisions of the left image go. `before`: offset of the status of pixels before matching.
OpenclDecision left_map(const opencl::Map& map, const DecisionRule& rule, cl_long before,
                        cl_long before_stride);
// Those of a mirrored match: integer disparities, without a status or a confidence.
OpenclDecision right_map(OpenclDecision left, const PlaneBuffer<float>& disparity);

}  // namespace parallax::refine
