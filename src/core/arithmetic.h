// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "parallax/arithmetic.h"

namespace parallax::detail {

// The spelling of the command line.
inline std::string name_of(Arithmetic arithmetic) {
  static constexpr const char* names[] = {"fixed8", "fixed16", "float32", "float16", "bfloat16"};
  return names[static_cast<int>(arithmetic)];
}

}  // namespace parallax::detail
