// SPDX-License-Identifier: Apache-2.0
// Plans and tunables of a problem: parameters, a device and an image format.
#pragma once

#include <memory>
#include <string>

#include "matchers/registry.h"

namespace parallax::detail {

// Checks all arguments.
// \throws Error as the constructor of Matcher does, except for memory
std::unique_ptr<Plan> make_plan(const MatcherParameters& parameters, const Device& device,
                                const ImageFormat& format, const Configuration& configuration);

// "method block on device cuda"
std::string owner_name(const MatcherParameters& parameters, const Device& device);

// All tunables for a problem.
// \throws Error as make_plan() does
TuningSpace tuning_space(const MatcherParameters& parameters, const Device& device,
                         const ImageFormat& format);

// The configuration that a caller gives by name.
// \throws Error as make_plan() and read_configuration() do
Configuration given_configuration(const MatcherParameters& parameters, const Device& device,
                                  const ImageFormat& format, const TunedValues& values);

}  // namespace parallax::detail
