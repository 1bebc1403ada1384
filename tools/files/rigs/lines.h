// SPDX-License-Identifier: Apache-2.0
// Lines and numbers of text files, independent of the locale.
#pragma once

#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

#include "tools/files/stored_document.h"

namespace parallax::tool {

inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view spaces = " \t\r\n";
  const std::size_t start = text.find_first_not_of(spaces);
  return start == std::string_view::npos ? "" : text.substr(start, text.find_last_not_of(spaces) - start + 1);
}

// Calls `use` with every line, without the spaces around it.
template <class Use>
void for_each_line(std::string_view text, const Use& use) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    use(trimmed(text.substr(0, end)));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

// NaN for a text that is not a number.
inline double number_in_text(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? number : NAN;
}

// Words separated by spaces, as many as are read of a list.
inline std::vector<double> numbers_in_text(std::string_view text) {
  std::vector<double> numbers;
  for (text = trimmed(text); !text.empty() && numbers.size() < most_stored_values;) {
    const std::string_view word = text.substr(0, text.find_first_of(" \t"));
    numbers.push_back(number_in_text(word));
    text = trimmed(text.substr(word.size()));
  }
  return numbers;
}

}  // namespace parallax::tool
