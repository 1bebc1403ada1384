// SPDX-License-Identifier: Apache-2.0
// The table of matcher × device. One row a door; matchers/registry.cpp holds it.
#pragma once

#include <memory>
#include <span>

#include "core/plan.h"
#include "core/tuning.h"

namespace parallax::detail {

struct Door {
  const char* method;      // as the command line spells it
  std::size_t parameters;  // index of its parameters in MatcherParameters
  DeviceKind device;
  std::unique_ptr<Plan> (*make)(const MatcherParameters& parameters, const Device& device,
                                const ImageFormat& format, const Configuration& configuration);
  // Null where there is nothing to tune.
  TuningSpace (*tuning_space)(const MatcherParameters& parameters, const Device& device,
                              const ImageFormat& format);
};

std::span<const Door> doors();

// \throws Error (device) where the method does not run on the device
const Door& find_door(const MatcherParameters& parameters, const Device& device);

// Checks everything. \throws Error as the constructor of Matcher does, save for memory
std::unique_ptr<Plan> make_plan(const MatcherParameters& parameters, const Device& device,
                                const ImageFormat& format, const Configuration& configuration);

// With what is remembered of tuning, where the plan takes it; \throws Error as the constructor of Matcher
// does, save for memory
std::unique_ptr<Plan> make_tuned_plan(const MatcherParameters& parameters, const Device& device,
                                      const ImageFormat& format);
// The same, allocated.
std::unique_ptr<Plan> allocate_tuned_plan(const MatcherParameters& parameters, const Device& device,
                                          const ImageFormat& format, const PlanLimits& limits);

}  // namespace parallax::detail
