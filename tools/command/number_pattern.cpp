// SPDX-License-Identifier: Apache-2.0
#include "tools/command/number_pattern.h"

#include <charconv>
#include <regex>

#include "tools/command/command.h"

namespace parallax::tool {

std::optional<NumberPattern> NumberPattern::parse(const std::string& text) {
  static const std::regex number("%(?:0([0-9]{1,2}))?d");
  std::smatch place;
  if (!std::regex_search(text, place, number)) return {};
  NumberPattern pattern;
  pattern.before_ = place.prefix();
  pattern.after_ = place.suffix();
  if (std::regex_search(pattern.after_, number))
    throw UsageError(text + " has more than one number: give a pattern with one %d");
  if (place[1].matched) pattern.digits_ = std::stoul(place[1]);
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
