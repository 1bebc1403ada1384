// SPDX-License-Identifier: Apache-2.0
// The floating-point environment of a thread: its rounding mode, whether denormals become 0, and which
// exceptions trap.
#pragma once

#include <cfenv>

namespace parallax {

// Sets the default environment; its destructor restores the thread's own, flags included. Every public
// function that computes results begins with one, so that they do not depend on the caller's environment.
class DefaultFloatingPoint {
 public:
  DefaultFloatingPoint();
  ~DefaultFloatingPoint();
  DefaultFloatingPoint(const DefaultFloatingPoint&) = delete;
  DefaultFloatingPoint& operator=(const DefaultFloatingPoint&) = delete;

 private:
  std::fenv_t callers_;
};

}  // namespace parallax
