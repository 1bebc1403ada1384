// SPDX-License-Identifier: Apache-2.0
// Plans that rectify a pair and then match it; their input is the cameras' images.
#pragma once

#include <cstddef>
#include <memory>

#include "core/plan.h"
#include "remap/remap.h"

namespace parallax::detail {

// A camera's image may be gray or RGB, from run to run.
inline constexpr std::size_t max_channels = 3;

// Whether there are pixels that a camera did not see, so that the matcher needs masks.
inline bool has_unseen(const remap::Map& map) {
  for (int y = 0; y < map.size.height; ++y)
    for (int x = 0; x < map.size.width; ++x)
      if (map.x.at(x, y) == remap::unseen) return true;
  return false;
}

std::unique_ptr<Plan> rectified_host_plan(std::unique_ptr<Plan> matcher, const remap::SharedProblem& problem,
                                          const Device& device);
std::unique_ptr<Plan> rectified_cuda_plan(std::unique_ptr<Plan> matcher, const remap::SharedProblem& problem,
                                          const Device& device);
// Rectifies on the matcher's GPU; if OpenCL's device is a processor, on the host.
std::unique_ptr<Plan> rectified_opencl_plan(std::unique_ptr<Plan> matcher,
                                            const remap::SharedProblem& problem, const Device& device);

}  // namespace parallax::detail
