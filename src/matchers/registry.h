// SPDX-License-Identifier: Apache-2.0
// The backends of methods: their plans and their tunables.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

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

// What a backend lacks of a parameter: some choices, or, where it names none, every value but 0, false and
// none.
struct Lack {
  std::string parameter;
  std::vector<std::string> choices;

  bool refuses(const std::string& value) const;
};

// A method's implementation on one kind of device.
struct Backend {
  DeviceKind device;
  // Null where support for the device is not in this build.
  std::unique_ptr<Plan> (*make)(const MatcherParameters& parameters, const Device& device,
                                const ImageFormat& format, const Configuration& configuration) = nullptr;
  // Null where there is nothing to tune.
  TuningSpace (*tuning_space)(const MatcherParameters& parameters, const Device& device,
                              const ImageFormat& format) = nullptr;
  std::vector<Lack> lacks = {};

  // In declarations.
  Backend without(std::string parameter, std::vector<std::string> choices = {}) && {
    lacks.push_back({std::move(parameter), std::move(choices)});
    return std::move(*this);
  }
  bool takes(const std::string& parameter, const std::string& value) const;
};

// \throws Error (device) where the method does not run on the device, or lacks one of the parameters there
const Backend& find_backend(const MatcherParameters& parameters, const Device& device);

}  // namespace parallax::detail
