// SPDX-License-Identifier: Apache-2.0
// Integers: conversion to sizes; division and rounding, upwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace parallax {

// A number that is not negative, as a size or an index. Products have 64 bits where addresses have 32, too.
template <class Number>
constexpr std::uint64_t to_size(Number number) {
  return static_cast<std::uint64_t>(number);
}

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
