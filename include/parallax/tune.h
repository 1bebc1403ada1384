// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tuning for a machine: finds and remembers the fastest values of the choices that never change a result.
/// docs/howto/tuning.md describes the search, docs/reference/tunables.md the choices.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "parallax/matcher.h"

#pragma GCC visibility push(default)
namespace parallax {

/// Which configurations tune() runs.
enum class TuningSearch {
  /// For each step of occupancy, runs only the configuration that keeps most in registers and shared memory
  /// (on a processor, in its caches); then varies, on the fastest, each tunable that affects neither.
  occupancy,
  /// Runs all configurations for which there is time.
  exhaustive,
};

/// A tunable: a choice that a plan may make without changing a result.
struct TunableInfo {
  std::string name;        ///< "rows_per_thread"
  std::string help;        ///< one line
  std::string searched;    ///< values that tune() tries: "9, 18, 27"; empty = none
  std::string selectable;  ///< further values that PlanOptions::configuration takes: "1 to 128"; empty = none
};

/// Lists the tunables of a problem.
/// \throws Error as estimate_memory_bytes() does, but for a missing device only if the tunables depend on it.
std::vector<TunableInfo> list_tunables(const MatcherParameters& parameters, const Device& device,
                                       const ImageFormat& format);

/// The best configuration found for one problem on one device. A plan uses it only if the first six fields
/// match.
struct TunedConfiguration {
  std::string device;       ///< device name; for a processor also its model, threads and vector instructions
  std::string driver;       ///< driver version; empty on a processor. In tuning files, empty = any
  std::string method;       ///< as the command line spells it: "bp"
  std::string variant;      ///< the parameters for which kernels are specialised, such as an arithmetic
  int size_class = 0;       ///< integer part of the binary logarithm of the number of pixels
  int labels = 0;           ///< number of disparities; 0 = a full row
  TunedValues values;       ///< empty: the plan's own choice is best
  double milliseconds = 0;  ///< time of a match, measured when it was found
  double default_milliseconds = 0;  ///< time with the plan's own choice, measured side by side
  bool built_in = false;            ///< one of the defaults that come with the library
};

/// What tune() searches, and for how long.
struct TuningOptions {
  TuningSearch search = TuningSearch::exhaustive;  ///< which configurations it runs
  /// The search ends after about this many seconds with the best configuration so far; above 0.
  double budget_seconds = 60;
  /// Options of each plan; the search holds several plans at once if they fit. Tunables that `configuration`
  /// names keep their values, which must be among those that a search tries, and are part of the result.
  PlanOptions plan;
  /// Progress callback; receives a line of text from time to time.
  std::function<void(const std::string&)> progress = nullptr;
};

/// How a configuration uses a device.
struct TuningFootprint {
  /// How much runs at once: with CUDA, per cent of the threads of a multiprocessor; with OpenCL, work items
  /// per group; on a processor, tasks per thread.
  int occupancy = 0;
  std::size_t on_chip_bytes = 0;  ///< bytes kept in registers and shared memory, or in caches
};

/// A configuration that was tried.
struct TuningTrial {
  TunedValues values;                        ///< empty: the plan's own choice
  std::optional<TuningFootprint> footprint;  ///< only TuningSearch::occupancy computes it
  double milliseconds = 0;                   ///< 0 = not measured
  double relative = 0;                       ///< time relative to the default in the same rounds
  std::string failure;  ///< why it was rejected: it failed to build or run, or gave other bytes; else empty
};

/// What tune() found, and what it tried.
struct TuningResult {
  TunedConfiguration found;  ///< the fastest configuration
  /// Whether any configuration was compared with the default and the default kept working. If not, nothing
  /// was found and there is nothing to remember.
  bool compared = false;
  std::vector<TuningTrial> trials;  ///< those that were built or rejected; the first is the default
  std::size_t candidates = 0;       ///< number of configurations that could be tried
  double seconds = 0;               ///< duration of the search
  std::string ended_early;          ///< why the search ended before all were tried; else empty
};

/// Searches for the configuration that matches `pair` fastest, not counting transfers. A configuration is
/// measured only if it gives the bytes of the default. The one found was faster than the default when both
/// were measured once more, or is the default. A configuration that is remembered for the problem is tried
/// first. Remembers nothing itself.
/// \throws Error as a Matcher does; (device) when the method has nothing to tune on the device; (argument)
/// for a budget that is not above 0, and for values in `options.plan` that a search does not try.
TuningResult tune(const MatcherParameters& parameters, const Device& device, const StereoPair& pair,
                  const TuningOptions& options = {});

/// Returns the path of the user's tuning file: PARALLAX_TUNING, else parallax/tuning.json in XDG_CONFIG_HOME,
/// else in ~/.config. Empty if there is no such place, or PARALLAX_TUNING is "off".
std::string tuning_file();

/// Creates the folder of tuning_file() and checks that the file can be written. Call it before a search, so
/// that the result can be remembered.
/// \throws Error (file) when it cannot be written.
void check_tuning_file();

/// Writes a configuration to tuning_file(), replacing the one for the same problem. The file is written
/// completely or not at all, and entries that other processes add meanwhile are kept.
/// \throws Error (file) when it cannot be written.
void remember_tuning(const TunedConfiguration& configuration);

/// Lists the configurations that plans use: those of the file, then the library's defaults for other
/// problems.
std::vector<TunedConfiguration> remembered_tuning();

/// Removes from the file the entries of a method and of a device, named as in TunedConfiguration::device;
/// empty = any. Returns the number of removed entries.
/// \throws Error (file) when the file cannot be written.
std::size_t forget_tuning(const std::string& method, const std::string& device);

/// Returns TunedConfiguration::device for a device of this machine; empty when there is no such device.
std::string tuned_device_name(const Device& device);

/// Returns in one line why a remembered configuration was not used: the file could not be read, or a plan
/// refused the configuration. Empty when there is no such problem.
std::string tuning_warning();

}  // namespace parallax
#pragma GCC visibility pop
