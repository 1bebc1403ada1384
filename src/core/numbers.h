// SPDX-License-Identifier: Apache-2.0
// Numbers as text and back, independent of the locale where the standard library converts floats.
#pragma once

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <version>

namespace parallax {

// libc++ before Clang 20 converts integers only; floats then depend on the locale, which is C in WebAssembly.
#ifdef __cpp_lib_to_chars
inline constexpr bool converts_floats = true;
#else
inline constexpr bool converts_floats = false;
#endif

// The shortest text from which number_of() makes the same number.
template <class Number>
std::string shortest_text(Number value) {
  char text[32];
  if constexpr (converts_floats || std::is_integral_v<Number>) {
    return {text, std::to_chars(text, text + sizeof text, value).ptr};
  } else {
    // As few decimals as tell the number from all others, with an exponent where that is shorter.
    const auto number = static_cast<double>(value);
    int decimals = -1;
    do {
      std::snprintf(text, sizeof text, "%.*e", ++decimals, number);
    } while (decimals < 16 && static_cast<Number>(std::strtod(text, nullptr)) != value);
    const std::string with_exponent = text;
    const std::size_t exponent = with_exponent.find('e');
    if (exponent == with_exponent.npos) return with_exponent;  // infinity
    const int fraction = std::max(0, decimals - std::atoi(text + exponent + 1));
    const int length = std::snprintf(text, sizeof text, "%.*f", fraction, number);
    return length <= static_cast<int>(with_exponent.size()) ? text : with_exponent;
  }
}

// The number, if the text begins with '-', a digit, or the name of a value and consists of nothing else.
template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  if constexpr (converts_floats || std::is_integral_v<Number>) {
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (rest != end || error != std::errc{}) return std::nullopt;
  } else {
    // strtod() also takes spaces, signs and hexadecimal digits.
    if (text.empty() || text.find_first_of(" \t\n\r\v\fxX") != text.npos || text.front() == '+')
      return std::nullopt;
    const std::string copy(text);
    char* rest = nullptr;
    errno = 0;
    number = std::is_same_v<Number, float> ? std::strtof(copy.c_str(), &rest)
                                           : static_cast<Number>(std::strtod(copy.c_str(), &rest));
    if (rest != copy.c_str() + copy.size() || errno == ERANGE) return std::nullopt;
  }
  return number;
}

}  // namespace parallax
