// SPDX-License-Identifier: Apache-2.0
// The backends of methods: their plans and their tunables.
#pragma once

#include <memory>

#include "core/plan.h"
#include "core/tuning.h"

namespace parallax::detail {

constexpr bool is_in_build([[maybe_unused]] DeviceKind device) {
#ifndef PARALLAX_HAS_CUDA
  if (device == DeviceKind::cuda) return false;
#endif
#ifndef PARALLAX_HAS_OPENCL
  if (device == DeviceKind::opencl) return false;
#endif
  return true;
}

// A method's implementation on one kind of device.
struct Backend {
  DeviceKind device;
  // Null where support for the device is not in this build.
  std::unique_ptr<Plan> (*make)(const MatcherParameters& parameters, const Device& device,
                                const ImageFormat& format, const Configuration& configuration) = nullptr;
  // Null where there is nothing to tune.
  TuningSpace (*tuning_space)(const MatcherParameters& parameters, const Device& device,
                              const ImageFormat& format) = nullptr;
};

// \throws Error (device) where the method does not run on the device
const Backend& find_backend(const MatcherParameters& parameters, const Device& device);

}  // namespace parallax::detail
