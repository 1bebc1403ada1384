// SPDX-License-Identifier: Apache-2.0
// What a plan may choose without changing a result. Each backend declares its tunables beside its kernels; a
// search tries them out, and a plan takes what was found.
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
  std::string name;                     // as tuning files spell it: "rows_per_thread"
  const char* help;                     // one line
  std::vector<int> values;              // that a search tries, besides what the plan chooses by itself
  std::vector<std::string> texts = {};  // names of these values, then of those below; empty = numbers
  std::vector<int> selectable = {};     // values that only a caller asks for: a search does not try them
};

// All whole numbers from first to last.
std::vector<int> whole_numbers(int first, int last);

// Values for the tunables that it names. For all others the plan decides.
class Configuration {
 public:
  Configuration() = default;
  explicit Configuration(std::map<std::string, int, std::less<>> values) : values_(std::move(values)) {}

  int value(std::string_view name, int otherwise) const {
    const auto found = values_.find(name);
    return found == values_.end() ? otherwise : found->second;
  }
  void set(std::string name, int value) { values_.insert_or_assign(std::move(name), value); }
  // What the other one names is as it says.
  void update(const Configuration& other) {
    for (const auto& [name, value] : other.values_) set(name, value);
  }
  bool empty() const { return values_.empty(); }
  const std::map<std::string, int, std::less<>>& values() const { return values_; }
  bool operator==(const Configuration&) const = default;

 private:
  std::map<std::string, int, std::less<>> values_;
};

// What a configuration makes of the device: the ground of a search by occupancy.
struct Footprint {
  // How much runs at once: on a GPU, per cent of the threads that a multiprocessor may hold; with OpenCL,
  // work items of a group; on a processor, tasks a thread.
  int occupancy = 0;
  // What is kept near while it runs: in registers and shared memory of a multiprocessor, in caches of a core.
  std::size_t on_chip_bytes = 0;
  bool operator==(const Footprint&) const = default;
};

// All that a backend has for one problem: parameters, device and format.
struct TuningSpace {
  // What kernels are made for besides labels and size, such as "sad, window 9": a part of what a result is
  // remembered under.
  std::string variant;
  std::vector<Tunable> tunables;
  // May this combination be tried? What the plan refuses by an Error needs no word here.
  std::function<bool(const Configuration&)> allowed = [](const Configuration&) { return true; };
  // Counted from the configuration: nothing is compiled for it. \throws Error as the plan does
  std::function<Footprint(const Configuration&)> footprint;

  // Is there anything that a search can try?
  bool is_searched() const;
};

// Which values of a tunable may be named.
enum class Named { all, searched };

// From text. \throws Error (argument) for an unknown name, which says what `owner` has; for an unknown value;
// and for values that do not go together
Configuration read_configuration(const TunedValues& values, const TuningSpace& space, Named named,
                                 const std::string& owner);
TunedValues text_of(const Configuration& configuration, const TuningSpace& space);

// For people: "2, 4, 8", or "1 to 128".
std::string searched_values(const Tunable& tunable);
std::string selectable_values(const Tunable& tunable);

}  // namespace parallax::detail
