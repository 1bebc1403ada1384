// SPDX-License-Identifier: Apache-2.0
// Values of maps: pixels without a disparity, and statuses as bytes.
#pragma once

#include <cstdint>
#include <limits>

#include "parallax/image.h"

namespace parallax::decision {

inline constexpr float no_value = std::numeric_limits<float>::infinity();

inline bool has_value(float disparity) {
  return disparity < no_value;
}

inline std::uint8_t code(Status status) {
  return static_cast<std::uint8_t>(status);
}

}  // namespace parallax::decision
