// SPDX-License-Identifier: Apache-2.0
// Choices of a plan that do not change its result. Each backend declares its tunables beside its kernels; a
// search tries them, and a plan uses the values found.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "parallax/matcher.h"

namespace parallax::detail {

struct Tunable {
  std::string name;                     // for example "rows_per_thread", as in tuning files
  const char* help;                     // one line
  std::vector<int> values;              // values that a search tries, besides the plan's default
  std::vector<std::string> texts = {};  // names of these values, then of those below; empty = numbers
  std::vector<int> selectable = {};     // values that only a caller can choose: not searched
};

// All integers from first to last.
std::vector<int> whole_numbers(int first, int last);

// Values of some tunables, by name. The plan chooses the others.
class Configuration {
 public:
  Configuration() = default;
  explicit Configuration(std::map<std::string, int, std::less<>> values) : values_(std::move(values)) {}

  int value(std::string_view name, int otherwise) const {
    const auto found = values_.find(name);
    return found == values_.end() ? otherwise : found->second;
  }
  void set(std::string name, int value) { values_.insert_or_assign(std::move(name), value); }
  // Values of `other` replace those of the same name.
  void update(const Configuration& other) {
    for (const auto& [name, value] : other.values_) set(name, value);
  }
  bool empty() const { return values_.empty(); }
  const std::map<std::string, int, std::less<>>& values() const { return values_; }
  bool operator==(const Configuration&) const = default;

 private:
  std::map<std::string, int, std::less<>> values_;
};

// The share of the device that a configuration uses, for searches guided by occupancy.
struct Footprint {
  // Parallelism. CUDA: per cent of the threads that a multiprocessor can hold; OpenCL: work items per group;
  // CPU: tasks per thread.
  int occupancy = 0;
  // Bytes kept on chip: in registers and shared memory of a multiprocessor, or in the caches of a core.
  std::size_t on_chip_bytes = 0;
  bool operator==(const Footprint&) const = default;
};

// The tunables of a backend for one problem: parameters, device and format.
struct TuningSpace {
  // The properties for which kernels are specialised besides labels and size, such as "sad, window 9": part
  // of the key of a stored result.
  std::string variant;
  std::vector<Tunable> tunables;
  // Whether a search may try this combination. Combinations that the plan refuses with an Error need not be
  // excluded.
  std::function<bool(const Configuration&)> allowed = [](const Configuration&) { return true; };
  // Ends the message about an unknown tunable.
  std::string elsewhere;
  // Computed from the configuration, without compiling.
  // \throws Error as the plan does
  std::function<Footprint(const Configuration&)> footprint;

  // Whether a search has several values to try.
  bool is_searched() const;
};

// Accepted values of a tunable.
enum class Named { all, searched };

// Reads a configuration from text.
// \throws Error (argument) for an unknown name (the message lists those of `owner`), an unknown value, and
// values that cannot be combined
Configuration read_configuration(const TunedValues& values, const TuningSpace& space, Named named,
                                 const std::string& owner);
TunedValues text_of(const Configuration& configuration, const TuningSpace& space);

// For messages: "2, 4, 8", or "1 to 128".
std::string searched_values(const Tunable& tunable);
std::string selectable_values(const Tunable& tunable);

}  // namespace parallax::detail
