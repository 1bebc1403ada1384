// SPDX-License-Identifier: Apache-2.0
// The floating-point environment of the thread: how it rounds, whether tiny numbers become 0, which
// exceptions trap.
#pragma once

#include <cfenv>

namespace parallax {

// The default environment for as long as it lives; then the thread has its own again, flags included. Every
// public function that computes bytes begins with one, so that they do not depend on the caller's.
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
