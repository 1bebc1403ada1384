// SPDX-License-Identifier: Apache-2.0
// Numbers of units that hold what they must.
#pragma once

#include <type_traits>

namespace parallax {

template <class T>
constexpr T divide_round_up(T value, std::type_identity_t<T> unit) {
  return (value + unit - 1) / unit;
}

// The next multiple of `unit`.
template <class T>
constexpr T round_up(T value, std::type_identity_t<T> unit) {
  return divide_round_up(value, unit) * unit;
}

}  // namespace parallax
