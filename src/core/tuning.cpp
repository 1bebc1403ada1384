// SPDX-License-Identifier: Apache-2.0
#include "core/tuning.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "core/checks.h"

namespace parallax::detail {
namespace {

std::string text_of(const Tunable& tunable, std::size_t index) {
  if (!tunable.texts.empty()) return tunable.texts[index];
  const std::size_t searched = tunable.values.size();
  return std::to_string(index < searched ? tunable.values[index] : tunable.selectable[index - searched]);
}

std::optional<int> find_value(const Tunable& tunable, const std::string& text, Named named) {
  for (std::size_t i = 0; i < tunable.values.size(); ++i)
    if (text_of(tunable, i) == text) return tunable.values[i];
  for (std::size_t i = 0; named == Named::all && i < tunable.selectable.size(); ++i)
    if (text_of(tunable, tunable.values.size() + i) == text) return tunable.selectable[i];
  return std::nullopt;
}

// Describes the values from index `first` on.
std::string describe(const Tunable& tunable, const std::vector<int>& values, std::size_t first) {
  constexpr std::size_t few = 4;
  const bool is_range = tunable.texts.empty() && values.size() > few &&
                        std::adjacent_find(values.begin(), values.end(),
                                           [](int a, int b) { return b != a + 1; }) == values.end();
  if (is_range) return std::to_string(values.front()) + " to " + std::to_string(values.back());
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < values.size(); ++i) texts.push_back(text_of(tunable, first + i));
  return join(texts);
}

const Tunable& find_tunable(const TuningSpace& space, const std::string& name, const std::string& owner) {
  std::vector<std::string> names;
  for (const Tunable& tunable : space.tunables) {
    if (tunable.name == name) return tunable;
    names.push_back(tunable.name);
  }
  refuse(name + " is not tunable for " + owner +
         (names.empty() ? " with these parameters: leave it out" : ": choose " + join(names, " or ")) +
         space.elsewhere);
}

[[noreturn]] void refuse_value(const Tunable& tunable, const std::string& text, Named named) {
  std::vector<std::string> choices{searched_values(tunable)};
  if (named == Named::all) choices.push_back(selectable_values(tunable));
  std::erase(choices, "");
  if (!choices.empty()) refuse("the configured " + tunable.name, text, join(choices));
  refuse(tunable.name + " has no values to search here: leave it out of the configuration");
}

}  // namespace

std::vector<int> whole_numbers(int first, int last) {
  std::vector<int> numbers(static_cast<std::size_t>(last - first + 1));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

bool TuningSpace::is_searched() const {
  return std::any_of(tunables.begin(), tunables.end(), [](const Tunable& t) { return !t.values.empty(); });
}

std::string searched_values(const Tunable& tunable) {
  return describe(tunable, tunable.values, 0);
}

std::string selectable_values(const Tunable& tunable) {
  return describe(tunable, tunable.selectable, tunable.values.size());
}

Configuration read_configuration(const TunedValues& values, const TuningSpace& space, Named named,
                                 const std::string& owner) {
  Configuration configuration;
  for (const auto& [name, text] : values) {
    const Tunable& tunable = find_tunable(space, name, owner);
    const std::optional<int> value = find_value(tunable, text, named);
    if (!value) refuse_value(tunable, text, named);
    configuration.set(name, *value);
  }
  if (configuration.empty() || space.allowed(configuration)) return configuration;
  std::vector<std::string> texts;
  for (const auto& [name, text] : values) texts.push_back(name + " " + text);
  refuse("the configured " + join(texts) + " cannot be combined: leave out some of them");
}

TunedValues text_of(const Configuration& configuration, const TuningSpace& space) {
  TunedValues values;
  for (const Tunable& tunable : space.tunables) {
    const auto found = configuration.values().find(tunable.name);
    if (found == configuration.values().end()) continue;
    std::vector<int> all = tunable.values;
    all.insert(all.end(), tunable.selectable.begin(), tunable.selectable.end());
    const auto at = std::find(all.begin(), all.end(), found->second);
    values[tunable.name] = text_of(tunable, static_cast<std::size_t>(at - all.begin()));
  }
  return values;
}

}  // namespace parallax::detail
