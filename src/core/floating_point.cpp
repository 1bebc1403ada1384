// SPDX-License-Identifier: Apache-2.0
#include "core/floating_point.h"

namespace parallax {

// These functions have their own file: the compiler cannot see into them, so it moves no arithmetic across
// their calls.
DefaultFloatingPoint::DefaultFloatingPoint() {
  std::fegetenv(&callers_);
  std::fesetenv(FE_DFL_ENV);
}

DefaultFloatingPoint::~DefaultFloatingPoint() {
  std::fesetenv(&callers_);
}

}  // namespace parallax
