// SPDX-License-Identifier: Apache-2.0
// Parses words and numbers of text headers, independent of the locale.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "parallax/error.h"
#include "parallax/image.h"

#include "core/numbers.h"

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
  return number_of<Number>(text);
}

// \throws Error (file) with the message "name: why"
[[noreturn]] inline void fail(const std::string& name, const std::string& why) {
  throw Error(ErrorCategory::file, name + ": " + why);
}

// The size that a header gives.
// \throws Error (file) "name: `has` a width or height that is not an integer …`remedy`"
inline Size checked_size(std::optional<long long> width, std::optional<long long> height,
                         const std::string& name, const std::string& has = "has",
                         const std::string& remedy = "") {
  constexpr long long most = 1'000'000;
  if (!width || !height || *width < 1 || *height < 1 || *width > most || *height > most)
    fail(name, has + " a width or height that is not an integer from 1 to " + std::to_string(most) + remedy);
  return {static_cast<int>(*width), static_cast<int>(*height)};
}

// \throws Error (file) if fewer bytes are given than a header promises
inline void check_length(std::size_t given, std::size_t promised, const std::string& name) {
  if (given < promised)
    fail(name, "is cut short: its header promises " + std::to_string(promised) + " bytes, there are " +
                   std::to_string(given) + ": copy it again");
}

}  // namespace parallax
