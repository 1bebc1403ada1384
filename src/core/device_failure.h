// SPDX-License-Identifier: Apache-2.0
// The error of a device that stopped working.
#pragma once

#include "parallax/error.h"

namespace parallax {

// Its driver reported a failure; any other Error (device) means that the device is missing or lacks what was asked for.
class DeviceFailure : public Error {
 public:
  explicit DeviceFailure(const std::string& message) : Error(ErrorCategory::device, message, true) {}
};

}  // namespace parallax
