// SPDX-License-Identifier: Apache-2.0
#include "parallax/image.h"

#include <iterator>

namespace parallax {

const char* name(Status status) {
  constexpr const char* names[] = {"matched",   "filled",      "out_of_range", "inconsistent",
                                   "ambiguous", "textureless", "speckle",      "input_masked"};
  const auto index = static_cast<std::size_t>(status);
  return index < std::size(names) ? names[index] : "unknown";
}

}  // namespace parallax
