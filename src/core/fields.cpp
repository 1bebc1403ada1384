// SPDX-License-Identifier: Apache-2.0
#include "core/fields.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <type_traits>

#include "core/checks.h"
#include "core/numbers.h"

namespace parallax::detail {
namespace {

std::string text_of(double value) {
  std::ostringstream text;
  if (value == std::floor(value) && std::abs(value) < 1e15)
    text << static_cast<long long>(value);
  else
    text << value;
  return text.str();
}

template <class Number>
bool takes(const Allowed& allowed, Number value) {
  // Negated so that NaN is refused.
  if (!(static_cast<double>(value) >= allowed.least && static_cast<double>(value) <= allowed.most))
    return false;
  return !allowed.takes || allowed.takes(static_cast<int>(value));
}

template <class Value>
inline constexpr bool is_optional = false;
template <class Value>
inline constexpr bool is_optional<std::optional<Value>> = true;

constexpr std::string_view no_value = "none";

// Those that ParameterInfo lists.
std::vector<int> numbers_of(const Allowed& allowed) {
  constexpr double longest = 64;
  std::vector<int> numbers;
  if (!allowed.takes || allowed.most - allowed.least > longest) return numbers;
  for (int number = static_cast<int>(allowed.least); number <= static_cast<int>(allowed.most); ++number)
    if (allowed.takes(number)) numbers.push_back(number);
  return numbers;
}

}  // namespace

Allowed range(double least, double most) {
  return {least, most, "a number from " + text_of(least) + " to " + text_of(most)};
}

Allowed odd(int least, int most) {
  return {static_cast<double>(least), static_cast<double>(most),
          "an odd number from " + std::to_string(least) + " to " + std::to_string(most),
          [](int value) { return value % 2 != 0; }};
}

Allowed odd_or_zero(int least, int most) {
  return {0, static_cast<double>(most), "0, or " + odd(least, most).words,
          [least](int value) { return value == 0 || (value >= least && value % 2 != 0); }};
}

Allowed one_of(std::vector<int> values) {
  std::vector<std::string> words;
  for (const int value : values) words.push_back(std::to_string(value));
  const auto [least, most] = std::pair<double, double>(values.front(), values.back());
  return {least, most, join(words, " or "), [values = std::move(values)](int value) {
            return std::find(values.begin(), values.end(), value) != values.end();
          }};
}

Allowed not_negative() {
  return {0, std::numeric_limits<float>::max(), "a finite number, 0 or more"};
}

void Field::check() const {
  const auto check_number = [&](auto number) {
    if (!takes(*allowed, number)) refuse(name, number, allowed->words);
  };
  std::visit(
      [&](const auto& field) {
        using Value = std::decay_t<decltype(field)>;
        if constexpr (std::is_same_v<Value, Choice>) {
          if (field.chosen() < 0) refuse(name, field.value, "one of " + join(field.names));
        } else if constexpr (is_optional<std::remove_pointer_t<Value>>) {
          if (*field) check_number(**field);
        } else if constexpr (!std::is_same_v<Value, bool*>) {
          check_number(*field);
        }
      },
      value);
}

std::string Field::text() const {
  return std::visit(
      [&](const auto& field) -> std::string {
        using Value = std::decay_t<decltype(field)>;
        if constexpr (std::is_same_v<Value, Choice>) {
          const int chosen = field.chosen();
          return chosen < 0 ? std::to_string(field.value) : field.names[static_cast<std::size_t>(chosen)];
        } else if constexpr (std::is_same_v<Value, bool*>) {
          return *field ? "true" : "false";
        } else if constexpr (is_optional<std::remove_pointer_t<Value>>) {
          return *field ? shortest_text(**field) : std::string(no_value);
        } else {
          return shortest_text(*field);
        }
      },
      value);
}

void Field::set(std::string_view text) const {
  const auto read = [&]<class Number>(Number& number) {
    const std::optional<Number> read_number = number_of<Number>(text);
    if (!read_number || !takes(*allowed, *read_number)) refuse(name, text, allowed->words);
    number = *read_number;
  };
  std::visit(
      [&](const auto& field) {
        using Value = std::decay_t<decltype(field)>;
        if constexpr (std::is_same_v<Value, Choice>) {
          const auto found = std::find(field.names.begin(), field.names.end(), text);
          if (found == field.names.end()) refuse(name, text, "one of " + join(field.names));
          field.choose(static_cast<int>(found - field.names.begin()));
        } else if constexpr (std::is_same_v<Value, bool*>) {
          if (text != "true" && text != "false") refuse(name, text, "true or false");
          *field = text == "true";
        } else if constexpr (is_optional<std::remove_pointer_t<Value>>) {
          typename std::remove_pointer_t<Value>::value_type number{};
          if (text != no_value) read(number);
          *field = text == no_value ? std::nullopt : std::optional(number);
        } else {
          read(*field);
        }
      },
      value);
}

ParameterInfo Field::info() const {
  ParameterInfo info;
  info.name = name;
  info.help = about.help;
  info.unit = about.unit;
  info.group = group;
  info.expert = about.audience == Audience::experts;
  if (allowed) {
    info.least = allowed->least;
    info.most = allowed->most;
    info.allowed = allowed->words;
    info.numbers = numbers_of(*allowed);
  }
  std::visit(
      [&](const auto& field) {
        using Value = std::decay_t<decltype(field)>;
        if constexpr (std::is_same_v<Value, Choice>) {
          info.kind = ParameterKind::choice;
          info.choices = field.names;
          info.allowed = "one of " + join(field.names);
        } else if constexpr (std::is_same_v<Value, bool*>) {
          info.kind = ParameterKind::flag;
          info.allowed = "true or false";
        } else {
          info.optional = is_optional<std::remove_pointer_t<Value>>;
          info.kind = std::is_same_v<Value, int*> || std::is_same_v<Value, std::optional<int>*>
                          ? ParameterKind::integer
                          : ParameterKind::number;
        }
      },
      value);
  return info;
}

Fields& Fields::group(std::string heading) {
  group_ = std::move(heading);
  return *this;
}

Fields& Fields::add(std::string name, bool& value, About about) {
  return add_field(std::move(name), &value, std::nullopt, about);
}

Fields& Fields::add_field(std::string name, decltype(Field::value) value, std::optional<Allowed> allowed,
                          About about) {
  list_.push_back({std::move(name), std::move(value), std::move(allowed), about, group_});
  return *this;
}

void add_range_fields(Fields& fields, int& min_disparity, int& disparities, int fewest, int most) {
  fields.group(search_group)
      .add("min_disparity", min_disparity, range(-1'000'000, 1'000'000),
           {"Lowest disparity; may be negative", "pixels"})
      .add("disparities", disparities, range(fewest, most), {"Number of disparities", "pixels"});
}

void Fields::check() const {
  for (const Field& field : list_) field.check();
}

const Field& Fields::find(std::string_view name) const {
  const auto found =
      std::find_if(list_.begin(), list_.end(), [&](const Field& field) { return field.name == name; });
  if (found != list_.end()) return *found;
  std::vector<std::string> names;
  for (const Field& field : list_) names.push_back(field.name);
  refuse("parameter", name, "one of " + join(names));
}

}  // namespace parallax::detail
