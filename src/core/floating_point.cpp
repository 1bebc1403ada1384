// SPDX-License-Identifier: Apache-2.0
#include "core/floating_point.h"

namespace parallax {

// These functions have a file of their own so that the compiler cannot see into them, and so moves no
// arithmetic across calls of them.
DefaultFloatingPoint::DefaultFloatingPoint() {
  std::fegetenv(&callers_);
  std::fesetenv(FE_DFL_ENV);
}

DefaultFloatingPoint::~DefaultFloatingPoint() {
  std::fesetenv(&callers_);
}

}  // namespace parallax
