// SPDX-License-Identifier: Apache-2.0
#include "core/floating_point.h"

namespace parallax {

// In a file of their own: the compiler, which does not know what they change, moves no arithmetic across
// calls that it cannot see into.
DefaultFloatingPoint::DefaultFloatingPoint() {
  std::fegetenv(&callers_);
  std::fesetenv(FE_DFL_ENV);
}

DefaultFloatingPoint::~DefaultFloatingPoint() {
  std::fesetenv(&callers_);
}

}  // namespace parallax
