// SPDX-License-Identifier: Apache-2.0
// File names with a number in them, as printf writes it: left_%04d.png.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace parallax::tool {

class NumberPattern {
 public:
  // Empty if the text has no %d or %0Nd.
  // \throws UsageError if it has more than one
  static std::optional<NumberPattern> parse(const std::string& text);

  std::string name(std::uint64_t number) const;
  // The inverse of name().
  std::optional<std::uint64_t> number_of(const std::string& name) const;

 private:
  std::string before_, after_;
  std::size_t digits_ = 1;  // at least
};

}  // namespace parallax::tool
