// SPDX-License-Identifier: Apache-2.0
/// \file
/// Plans tuned for a machine: what a plan may choose without changing a result is tried out, measured, and
/// remembered. docs/tuning.md says how, and what there is to choose.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "parallax/matcher.h"

#pragma GCC visibility push(default)
namespace parallax {

enum class TuningSearch {
  /// Of all configurations that let as much run at once, only the one that keeps most in registers and shared
  /// memory (of a processor: in its caches) is run.
  occupancy,
  /// Whatever there is the time for.
  exhaustive,
};

/// Something that a plan may choose without changing a result.
struct TunableInfo {
  std::string name;        ///< "rows_per_thread"
  std::string help;        ///< one line
  std::string searched;    ///< values that tune() tries: "9, 18, 27"; empty = none
  std::string selectable;  ///< values that PlanLimits::configuration takes besides: "1 to 128"; empty = none
};

/// What can be configured for a problem.
/// \throws Error as estimate_memory_bytes() does, where laying it out takes the device
std::vector<TunableInfo> list_tunables(const MatcherParameters& parameters, const Device& device,
                                       const ImageFormat& format);

/// What was found to be best for one problem on one device. All of the first six decide whether a plan uses
/// it.
struct TunedConfiguration {
  std::string device;   ///< name of a GPU; of a processor also its model, threads and vector instructions
  std::string driver;   ///< its version; empty on a processor. In tuning files: empty = any
  std::string method;   ///< as the command line spells it: "bp"
  std::string variant;  ///< of its parameters, what kernels are made for, such as an arithmetic
  int size_class = 0;   ///< whole part of the binary logarithm of the number of pixels
  int labels = 0;       ///< disparities; 0 = a full row
  TunedValues values;   ///< empty: what the plan chooses by itself is best
  double milliseconds = 0, default_milliseconds = 0;  ///< when it was found, side by side
  bool built_in = false;                              ///< from the defaults that come with the library
};

struct TuningOptions {
  TuningSearch search = TuningSearch::exhaustive;
  /// After about as many seconds the search ends with what it knows; above 0.
  double budget_seconds = 60;
  /// What a plan may use; several are held at once where they fit. What its configuration names is not
  /// searched; it takes values that a search would try, and is a part of what is found.
  PlanLimits limits;
  /// Is told now and then what is being done.
  std::function<void(const std::string&)> progress = nullptr;
};

/// What a configuration makes of a device.
struct TuningFootprint {
  /// Per cent of the threads of a CUDA multiprocessor; with OpenCL, work items of a group; on a processor,
  /// tasks a thread.
  int occupancy = 0;
  std::size_t on_chip_bytes = 0;  ///< kept in registers and shared memory, or in caches
};

/// A configuration that was tried.
struct TuningTrial {
  TunedValues values;
  std::optional<TuningFootprint> footprint;  ///< only the search by occupancy counts it
  double milliseconds = 0;                   ///< 0 = was not measured
  double relative = 0;                       ///< to the default in the same rounds
  std::string failure;  ///< why it is out: it failed to build or to run, or gave other bytes
};

struct TuningResult {
  TunedConfiguration found;
  /// Whether anything was compared with the default, and that went on working. Else nothing was found: there
  /// is nothing to remember.
  bool compared = false;
  std::vector<TuningTrial> trials;  ///< those that were built, or are out; the first is the default
  std::size_t candidates = 0;       ///< how many there are
  double seconds = 0;
  std::string ended_early;  ///< why not all were tried; else empty
};

/// Searches for the configuration that matches `pair` fastest, transfers left out. Every configuration that
/// is measured has given the bytes of the default; the one found was faster than the default when both were
/// measured once more, or is the default. What is remembered for the problem is tried first. Remembers
/// nothing.
/// \throws Error as a Matcher does, and (device) where the method has nothing to tune on the device,
/// (argument) for a budget that is not above 0, and for a configuration that it does not take
TuningResult tune(const MatcherParameters& parameters, const Device& device, const StereoPair& pair,
                  const TuningOptions& options = {});

/// The file of what is remembered: PARALLAX_TUNING, else parallax/tuning.json in XDG_CONFIG_HOME, else in
/// ~/.config. Empty where there is no such place, or PARALLAX_TUNING is "off".
std::string tuning_file();

/// Makes the folder of tuning_file() and sees whether it can be written, so that no search ends with what
/// cannot be remembered. \throws Error (file)
void check_tuning_file();

/// Writes it to tuning_file(), instead of what was known for the same problem. The file is written whole or
/// not at all, and what others add meanwhile stays.
/// \throws Error (file)
void remember_tuning(const TunedConfiguration& configuration);

/// What plans use: the file's, then the library's defaults for all else.
std::vector<TunedConfiguration> remembered_tuning();

/// Removes entries of the file: those of a method, and of a device as TunedConfiguration::device names it;
/// empty = any. Returns how many there were. \throws Error (file)
std::size_t forget_tuning(const std::string& method, const std::string& device);

/// TunedConfiguration::device of a device here; empty when there is no such device.
std::string tuned_device_name(const Device& device);

/// Why something that is remembered was not used, in one line: the file could not be read, or a plan refused
/// its configuration. Empty when there is nothing to say.
std::string tuning_warning();

/// Whether plans use what is remembered: yes, unless PARALLAX_TUNING is "off". For measurements; concerns the
/// whole process.
void use_tuning(bool used);

}  // namespace parallax
#pragma GCC visibility pop
