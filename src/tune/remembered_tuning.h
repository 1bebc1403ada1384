// SPDX-License-Identifier: Apache-2.0
// Configurations that were found to be best, and those that come with the library.
#pragma once

#include <string>

#include "parallax/tune.h"

#include "devices/devices.h"
#include "matchers/registry.h"

namespace parallax::detail {

// Text of src/tune/defaults.json.
extern const char* const tuning_defaults;

// What a configuration for this problem is remembered under.
TunedConfiguration tuning_key(const MatcherParameters& parameters, const DeviceIdentity& device,
                              const ImageFormat& format, const TuningSpace& space);

// What is remembered for a plan, but for what is given; `given` alone where nothing is, or nothing that goes
// with it.
Configuration remembered_configuration(const Backend& backend, const MatcherParameters& parameters,
                                       const Device& device, const ImageFormat& format,
                                       const Configuration& given = {});

// A plan was made without what is remembered, for that reason.
void refuse_remembered(const std::string& reason);

}  // namespace parallax::detail
