// SPDX-License-Identifier: Apache-2.0
// The fields of a method's parameters: each is described once, for all code that checks, prints, reads or
// sets it.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "parallax/parameters.h"

namespace parallax::detail {

// The numbers that a field allows, and their description: "a number from 1 to 8".
struct Allowed {
  double least, most;
  std::string words;
  // whether a value is allowed; by default, all integers from least to most are
  std::function<bool(int)> takes = {};
};

Allowed range(double least, double most);
Allowed odd(int least, int most);
Allowed odd_or_zero(int least, int most);
// `values` are in ascending order.
Allowed one_of(std::vector<int> values);
// Any finite number that is not negative.
Allowed not_negative();

enum class Audience { everyone, experts };

// Documentation of a field.
struct About {
  const char* help;
  const char* unit = "";
  Audience audience = Audience::everyone;
};

template <class Value>
using Names = std::initializer_list<std::pair<const char*, Value>>;

// A field of an enumeration, as an index into its names.
struct Choice {
  std::vector<std::string> names;
  std::function<int()> chosen;  // -1 if the field has another value
  std::function<void(int)> choose;
  int value;
};

struct Field {
  std::string name;
  std::variant<bool*, int*, float*, std::optional<int>*, std::optional<float>*, Choice> value;
  std::optional<Allowed> allowed;
  About about;
  std::string group;

  // \throws Error (argument) where the value is not allowed
  void check() const;
  std::string text() const;
  // \throws Error (argument)
  void set(std::string_view text) const;
  ParameterInfo info() const;
};

// Refers to the parameters that it was made from, which must outlive it.
class Fields {
 public:
  // Sets the heading of the fields added after it.
  Fields& group(std::string heading);

  Fields& add(std::string name, bool& value, About about);
  // `value`: an int or a float, which may be optional.
  template <class Number>
  Fields& add(std::string name, Number& value, Allowed allowed, About about) {
    return add_field(std::move(name), &value, std::move(allowed), about);
  }
  template <class Value>
  Fields& add(std::string name, Value& value, Names<Value> names, About about) {
    Choice choice{{}, {}, {}, static_cast<int>(value)};
    std::vector<Value> values;
    for (const auto& [word, named] : names) {
      choice.names.emplace_back(word);
      values.push_back(named);
    }
    choice.chosen = [&value, values] {
      for (std::size_t i = 0; i < values.size(); ++i)
        if (values[i] == value) return static_cast<int>(i);
      return -1;
    };
    choice.choose = [&value, values](int index) { value = values[static_cast<std::size_t>(index)]; };
    return add_field(std::move(name), std::move(choice), std::nullopt, about);
  }

  // \throws Error (argument) for the first field whose value is not allowed
  void check() const;
  // \throws Error (argument) where there is no field of this name
  const Field& find(std::string_view name) const;
  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }

 private:
  Fields& add_field(std::string name, decltype(Field::value) value, std::optional<Allowed> allowed,
                    About about);

  std::string group_;
  std::vector<Field> list_;
};

// Headings of groups of fields.
inline constexpr const char* search_group = "Search";
inline constexpr const char* matching_group = "Matching";
inline constexpr const char* refinement_group = "Refinement";

// Adds the search range, which all methods have.
void add_range_fields(Fields& fields, int& min_disparity, int& disparities, int fewest, int most);

}  // namespace parallax::detail
