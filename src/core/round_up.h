// SPDX-License-Identifier: Apache-2.0
// Integer division and rounding, upwards.
#pragma once

#include <type_traits>

namespace parallax {

template <class T>
constexpr T divide_round_up(T value, std::type_identity_t<T> unit) {
  return (value + unit - 1) / unit;
}

// The smallest multiple of `unit` that is not below `value`.
template <class T>
constexpr T round_up(T value, std::type_identity_t<T> unit) {
  return divide_round_up(value, unit) * unit;
}

}  // namespace parallax
