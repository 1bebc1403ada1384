// SPDX-License-Identifier: Apache-2.0
// Where methods run.
#pragma once

#include <memory>
#include <string>

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

// A method on a kind of device.
struct Backend {
  DeviceKind device;
  // Null where the device is not in this build.
  std::unique_ptr<Plan> (*make)(const MatcherParameters& parameters, const Device& device,
                                const ImageFormat& format, const Configuration& configuration) = nullptr;
  // Null where there is nothing to tune.
  TuningSpace (*tuning_space)(const MatcherParameters& parameters, const Device& device,
                              const ImageFormat& format) = nullptr;
};

// \throws Error (device) where the method does not run on the device
const Backend& find_backend(const MatcherParameters& parameters, const Device& device);

// Checks everything. \throws Error as the constructor of Matcher does, save for memory
std::unique_ptr<Plan> make_plan(const MatcherParameters& parameters, const Device& device,
                                const ImageFormat& format, const Configuration& configuration);

// "method block on device cuda"
std::string owner_name(const MatcherParameters& parameters, const Device& device);

// All that can be configured for a problem. \throws Error as make_plan() does
TuningSpace tuning_space(const MatcherParameters& parameters, const Device& device,
                         const ImageFormat& format);

// Of what a caller gives by name. \throws Error as make_plan() does, and as read_configuration()
Configuration given_configuration(const MatcherParameters& parameters, const Device& device,
                                  const ImageFormat& format, const TunedValues& values);

// As configured, and with what is remembered of tuning beside that, where the plan takes it; \throws Error as
// the constructor of Matcher does, save for memory
std::unique_ptr<Plan> make_tuned_plan(const MatcherParameters& parameters, const Device& device,
                                      const ImageFormat& format, const TunedValues& configuration);
// The same, allocated.
std::unique_ptr<Plan> allocate_tuned_plan(const MatcherParameters& parameters, const Device& device,
                                          const ImageFormat& format, const PlanLimits& limits);

}  // namespace parallax::detail
