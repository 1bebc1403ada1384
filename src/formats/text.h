// SPDX-License-Identifier: Apache-2.0
// Parses words and numbers of text headers, independent of the locale.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "parallax/error.h"

namespace parallax {

inline bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

// Removes and returns the first word of the text; empty if there is none.
inline std::string_view next_word(std::string_view& text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  std::size_t length = 0;
  while (length < text.size() && !is_space(text[length])) ++length;
  const std::string_view word = text.substr(0, length);
  text.remove_prefix(length);
  return word;
}

// Returns the number if the text consists of nothing else.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// \throws Error (file) with the message "name: why"
[[noreturn]] inline void fail(const std::string& name, const std::string& why) {
  throw Error(ErrorCategory::file, name + ": " + why);
}

}  // namespace parallax
