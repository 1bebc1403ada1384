// SPDX-License-Identifier: Apache-2.0
// Stored configurations: results of searches, and the library's defaults.
#pragma once

#include <string>

#include "parallax/tune.h"

#include "devices/devices.h"
#include "matchers/registry.h"

namespace parallax::detail {

// The text of src/tune/defaults.json.
extern const char* const tuning_defaults;

// The key under which a configuration for this problem is stored.
TunedConfiguration tuning_key(const MatcherParameters& parameters, const DeviceIdentity& device,
                              const ImageFormat& format, const TuningSpace& space);

// The stored configuration of a plan, overridden by the values of `given`; `given` alone if no stored
// configuration can be combined with it.
Configuration remembered_configuration(const Backend& backend, const MatcherParameters& parameters,
                                       const Device& device, const ImageFormat& format,
                                       const Configuration& given = {});

// Records why a plan was made without the stored configuration.
void refuse_remembered(const std::string& reason);

}  // namespace parallax::detail
