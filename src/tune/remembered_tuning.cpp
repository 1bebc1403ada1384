// SPDX-License-Identifier: Apache-2.0
#include "tune/remembered_tuning.h"

#include <algorithm>
#include <bit>
#include <mutex>
#include <optional>
#include <utility>

#include "parallax/parameters.h"
#include "parallax/process.h"

#include "matchers/planning.h"
#include "tune/tuning_file.h"

namespace parallax {
namespace {

using detail::Configuration, detail::TuningSpace;
using tuning::chosen_file, tuning::stamp_of, tuning::Stamp, tuning::switched_off, tuning::change_file;

// Whether an entry applies to a problem. An entry without a driver applies to any driver.
bool fits(const TunedConfiguration& entry, const TunedConfiguration& problem) {
  return entry.device == problem.device && (entry.driver.empty() || entry.driver == problem.driver) &&
         entry.method == problem.method && entry.variant == problem.variant &&
         entry.size_class == problem.size_class && entry.labels == problem.labels;
}

const std::vector<TunedConfiguration>& built_in() {
  static const std::vector<TunedConfiguration> entries = [] {
    std::vector<TunedConfiguration> parsed =
        detail::parse_tuning(detail::tuning_defaults, "the library's tuning");
    for (TunedConfiguration& entry : parsed) entry.built_in = true;
    return parsed;
  }();
  return entries;
}

// The file's entries that this process has read.
class Memory {
 public:
  std::vector<TunedConfiguration> entries() {
    const std::lock_guard guard(mutex_);
    read_if_changed();
    return entries_;
  }

  // Finds an entry in the file, or else in the library's defaults.
  std::optional<TunedConfiguration> find(const TunedConfiguration& problem) {
    const std::lock_guard guard(mutex_);
    read_if_changed();
    for (const auto* list : {&std::as_const(entries_), &built_in()})
      for (const TunedConfiguration& entry : *list)
        if (fits(entry, problem)) return entry;
    return std::nullopt;
  }

  // `device`: empty = any device.
  bool knows(const std::string& method, const std::string& device = "") {
    const std::lock_guard guard(mutex_);
    read_if_changed();
    const auto is_meant = [&](const TunedConfiguration& entry) {
      return entry.method == method && (device.empty() || entry.device == device);
    };
    return std::any_of(entries_.begin(), entries_.end(), is_meant) ||
           std::any_of(built_in().begin(), built_in().end(), is_meant);
  }

  void refuse(const std::string& reason) {
    const std::lock_guard guard(mutex_);
    refused_ = "the remembered tuning was not used: " + reason;
  }

  std::string warning() {
    const std::lock_guard guard(mutex_);
    return unreadable_.empty() ? refused_ : unreadable_;
  }

  void use(bool used) {
    const std::lock_guard guard(mutex_);
    used_ = used;
  }
  bool is_used() {
    const std::lock_guard guard(mutex_);
    return used_ && !switched_off();
  }

 private:
  void read_if_changed() {
    const std::filesystem::path path = chosen_file();
    const std::optional<Stamp> stamp = stamp_of(path);
    if (stamp == stamp_) return;
    stamp_ = stamp;
    entries_.clear();
    unreadable_.clear();
    refused_.clear();
    if (!stamp) return;
    try {
      entries_ = tuning::read(path);
    } catch (const Error& error) {
      unreadable_ = std::string("the remembered tuning was not used: ") + error.what();
    }
  }

  std::mutex mutex_;
  std::optional<Stamp> stamp_;
  std::vector<TunedConfiguration> entries_;
  std::string unreadable_, refused_;
  bool used_ = true;
};

Memory& memory() {
  static Memory one;
  return one;
}

int size_class(Size size) {
  return static_cast<int>(std::bit_width(size.pixels())) - 1;
}

std::string describe(const TunedConfiguration& entry) {
  return entry.method + " " + entry.variant + " on " + entry.device;
}

}  // namespace

namespace detail {

TunedConfiguration tuning_key(const MatcherParameters& parameters, const DeviceIdentity& device,
                              const ImageFormat& format, const TuningSpace& space) {
  TunedConfiguration key;
  key.device = device.name;
  key.driver = device.driver;
  key.method = method_name(parameters);
  key.variant = space.variant;
  key.size_class = size_class(format.size);
  key.labels = searches_full_rows(parameters) ? 0 : parameters.disparities();
  return key;
}

Configuration remembered_configuration(const Backend& backend, const MatcherParameters& parameters,
                                       const Device& device, const ImageFormat& format,
                                       const Configuration& given) {
  const std::string method = method_name(parameters);
  if (backend.tuning_space == nullptr || !memory().is_used() || !memory().knows(method)) return given;
  // Checked first, because making a tuning space may open a context of the device.
  const DeviceIdentity identity = identify(device);
  if (identity.name.empty() || !memory().knows(method, identity.name)) return given;
  const TuningSpace space = backend.tuning_space(parameters, device, format);
  const TunedConfiguration key = tuning_key(parameters, identity, format, space);
  const std::optional<TunedConfiguration> found = memory().find(key);
  if (!found) return given;
  try {
    Configuration best =
        read_configuration(found->values, space, Named::searched, owner_name(parameters, device));
    best.update(given);
    return space.allowed(best) ? best : given;
  } catch (const Error& error) {  // a file's values may be invalid
    refuse_remembered(describe(*found) + ": " + error.what());
    return given;
  }
}

void refuse_remembered(const std::string& reason) {
  memory().refuse(reason);
}

}  // namespace detail

void remember_tuning(const TunedConfiguration& configuration) {
  change_file([&](std::vector<TunedConfiguration>& entries) {
    const auto same = std::find_if(entries.begin(), entries.end(), [&](const TunedConfiguration& entry) {
      return entry.driver == configuration.driver && fits(entry, configuration);
    });
    if (same == entries.end())
      entries.push_back(configuration);
    else
      *same = configuration;
  });
}

std::vector<TunedConfiguration> remembered_tuning() {
  std::vector<TunedConfiguration> all = memory().entries();
  for (const TunedConfiguration& entry : built_in())
    if (std::none_of(all.begin(), all.end(), [&](const TunedConfiguration& own) { return fits(entry, own); }))
      all.push_back(entry);
  return all;
}

std::size_t forget_tuning(const std::string& method, const std::string& device) {
  std::size_t forgotten = 0;
  // Without a file, returns before change_file() creates one.
  if (!stamp_of(chosen_file())) return forgotten;
  change_file([&](std::vector<TunedConfiguration>& entries) {
    forgotten = std::erase_if(entries, [&](const TunedConfiguration& entry) {
      return (method.empty() || entry.method == method) && (device.empty() || entry.device == device);
    });
  });
  return forgotten;
}

std::string tuned_device_name(const Device& device) {
  return identify(device).name;
}

std::string tuning_warning() {
  return memory().warning();
}

void use_tuning(bool used) {
  memory().use(used);
}

}  // namespace parallax
