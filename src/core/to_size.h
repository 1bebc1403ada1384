// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace parallax {

// A number that is not negative, as a size or an index.
template <class Number>
constexpr std::size_t to_size(Number number) {
  return static_cast<std::size_t>(number);
}

}  // namespace parallax
