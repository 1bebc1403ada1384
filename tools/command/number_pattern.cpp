// SPDX-License-Identifier: Apache-2.0
#include "tools/command/number_pattern.h"

#include <algorithm>
#include <charconv>

#include "tools/command/command.h"

namespace parallax::tool {

namespace {

// Position of "%d" or "%0Nd"; N has one or two digits.
struct Place {
  std::size_t first, end;
  int digits;
};

std::optional<Place> place_at(const std::string& text, std::size_t first) {
  std::size_t end = first + 1;
  int digits = 1;
  if (end < text.size() && text[end] == '0') {
    const char* width = text.data() + end + 1;
    const char* longest = std::min(width + 2, text.data() + text.size());
    const auto read = std::from_chars(width, longest, digits);
    if (read.ec != std::errc{} || *width == '-') return {};
    end = static_cast<std::size_t>(read.ptr - text.data());
  }
  if (end >= text.size() || text[end] != 'd') return {};
  return Place{first, end + 1, digits};
}

std::optional<Place> find_number(const std::string& text, std::size_t from) {
  for (std::size_t i = text.find('%', from); i != std::string::npos; i = text.find('%', i + 1))
    if (const std::optional<Place> place = place_at(text, i)) return place;
  return {};
}

}  // namespace

std::optional<NumberPattern> NumberPattern::parse(const std::string& text) {
  const std::optional<Place> place = find_number(text, 0);
  if (!place) return {};
  if (find_number(text, place->end))
    throw UsageError(text + " has more than one number: give a pattern with one %d");
  NumberPattern pattern;
  pattern.before_ = text.substr(0, place->first);
  pattern.after_ = text.substr(place->end);
  pattern.digits_ = static_cast<std::size_t>(place->digits);
  return pattern;
}

std::string NumberPattern::name(std::uint64_t number) const {
  const std::string digits = std::to_string(number);
  const std::size_t zeros = digits.size() < digits_ ? digits_ - digits.size() : 0;
  return before_ + std::string(zeros, '0') + digits + after_;
}

std::optional<std::uint64_t> NumberPattern::number_of(const std::string& name) const {
  if (!name.starts_with(before_)) return {};
  std::uint64_t number = 0;
  const char* end = name.data() + name.size();
  const auto read = std::from_chars(name.data() + before_.size(), end, number);
  if (read.ec != std::errc{} || this->name(number) != name) return {};
  return number;
}

}  // namespace parallax::tool
