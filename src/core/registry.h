// The table of matcher × device. One row a door; matchers/registry.cpp holds it.
#pragma once

#include <memory>
#include <span>

#include "core/plan.h"

namespace parallax::detail {

struct Door {
  const char* method;      // as the command line spells it
  std::size_t parameters;  // index of its parameters in MatcherParameters
  DeviceKind device;
  std::unique_ptr<Plan> (*make)(const MatcherParameters& parameters, const Device& device,
                                const ImageFormat& format);
};

std::span<const Door> doors();

}  // namespace parallax::detail
