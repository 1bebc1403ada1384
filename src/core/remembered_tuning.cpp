// SPDX-License-Identifier: Apache-2.0
#include "core/remembered_tuning.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "parallax/formats.h"
#include "parallax/parameters.h"

#include "devices/devices.h"

namespace parallax {
namespace {

namespace fs = std::filesystem;
using detail::Configuration, detail::TuningSpace;
using nlohmann::ordered_json;

constexpr int file_version = 1;
// 2 to that power is a number of pixels.
constexpr int highest_size_class = 62;

// The form of the file

// \throws std::out_of_range for what is no whole number, or none of an int's
int whole_number(const ordered_json& json) {
  const bool fits = json.is_number_unsigned()  ? std::in_range<int>(json.get<std::uint64_t>())
                    : json.is_number_integer() ? std::in_range<int>(json.get<std::int64_t>())
                                               : false;
  if (!fits) throw std::out_of_range("no int");
  return json.get<int>();
}

// \throws nlohmann::json::exception, std::out_of_range
TunedConfiguration read_entry(const ordered_json& json) {
  TunedConfiguration entry;
  entry.device = json.at("device").get<std::string>();
  entry.driver = json.value("driver", "");
  entry.method = json.at("method").get<std::string>();
  entry.variant = json.at("variant").get<std::string>();
  entry.size_class = whole_number(json.at("size_class"));
  entry.labels = whole_number(json.at("labels"));
  const auto values = json.at("configuration").get<std::map<std::string, ordered_json>>();
  for (const auto& [name, value] : values)
    entry.values[name] = value.is_string() ? value.get<std::string>() : std::to_string(whole_number(value));
  entry.milliseconds = json.value("milliseconds", 0.0);
  entry.default_milliseconds = json.value("default_milliseconds", 0.0);
  return entry;
}

bool is_whole_number(const std::string& text) {
  return !text.empty() && text.size() < 10 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

ordered_json to_json(const TunedConfiguration& entry) {
  ordered_json values = ordered_json::object();
  for (const auto& [name, value] : entry.values)
    if (is_whole_number(value))
      values[name] = std::stoi(value);
    else
      values[name] = value;
  return {{"device", entry.device},
          {"driver", entry.driver},
          {"method", entry.method},
          {"variant", entry.variant},
          {"size_class", entry.size_class},
          {"labels", entry.labels},
          {"configuration", values},
          {"milliseconds", entry.milliseconds},
          {"default_milliseconds", entry.default_milliseconds}};
}

}  // namespace

std::vector<TunedConfiguration> detail::parse_tuning(const std::string& text, const std::string& path) {
  const auto refuse = [&](const std::string& reason) {
    return Error(ErrorCategory::file, path + " " + reason + ": tune again, or remove it");
  };
  try {
    const ordered_json json = ordered_json::parse(text);
    const int version = whole_number(json.at("version"));
    if (version != file_version)
      throw refuse("is of version " + std::to_string(version) + ", this program reads version " +
                   std::to_string(file_version));
    std::vector<TunedConfiguration> entries;
    for (const ordered_json& entry : json.at("entries")) {
      entries.push_back(read_entry(entry));
      const int size_class = entries.back().size_class;
      if (size_class < 0 || size_class > highest_size_class) throw refuse("is damaged");
    }
    return entries;
  } catch (const nlohmann::json::exception&) {
    throw refuse("is damaged");
  } catch (const std::out_of_range&) {
    throw refuse("is damaged");
  }
}

namespace {

std::string text_of(const std::vector<TunedConfiguration>& entries) {
  ordered_json list = ordered_json::array();
  for (const TunedConfiguration& entry : entries) list.push_back(to_json(entry));
  return ordered_json{{"version", file_version}, {"entries", list}}.dump(
             2, ' ', false, ordered_json::error_handler_t::replace) +
         "\n";
}

// Whether it is what is remembered for a problem: without a driver, it is of any.
bool fits(const TunedConfiguration& entry, const TunedConfiguration& problem) {
  return entry.device == problem.device && (entry.driver.empty() || entry.driver == problem.driver) &&
         entry.method == problem.method && entry.variant == problem.variant &&
         entry.size_class == problem.size_class && entry.labels == problem.labels;
}

// Where it is

bool switched_off() {
  const char* path = std::getenv("PARALLAX_TUNING");
  return path != nullptr && std::strcmp(path, "off") == 0;
}

fs::path chosen_file() {
  if (switched_off()) return {};
  if (const char* path = std::getenv("PARALLAX_TUNING"); path != nullptr && *path != '\0') return path;
  const char* config = std::getenv("XDG_CONFIG_HOME");
  if (config != nullptr && *config == '/') return fs::path(config) / "parallax" / "tuning.json";
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? fs::path(home) / ".config" / "parallax" / "tuning.json"
                                         : fs::path();
}

// \throws Error (file)
std::string read_text(const fs::path& path) {
  // Opening a pipe might take for ever.
  if (!fs::is_regular_file(path))
    throw Error(ErrorCategory::file, "cannot read " + path.string() + ": it is no file");
  constexpr std::size_t most_bytes = 64 << 20;  // some 100,000 entries
  const std::vector<std::byte> bytes = read_file(path.string(), most_bytes);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Held while the file is read and written anew, beside it: the file itself is replaced.
class Lock {
 public:
  explicit Lock(const fs::path& path) {
    const std::string name = path.string() + ".lock";
    descriptor_ = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    int result = -1;
    if (descriptor_ >= 0) {
      do result = flock(descriptor_, LOCK_EX);
      while (result != 0 && errno == EINTR);
    }
    if (result == 0) return;
    const std::string reason = std::strerror(errno);
    if (descriptor_ >= 0) close(descriptor_);
    throw Error(ErrorCategory::file,
                "cannot write " + name + ": " + reason + ": name another place in PARALLAX_TUNING");
  }
  ~Lock() { close(descriptor_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int descriptor_;
};

// What tells a file from the one that was read.
struct Stamp {
  std::string path;
  ino_t number = 0;
  off_t bytes = 0;
  time_t seconds = 0;
  long nanoseconds = 0;
  bool operator==(const Stamp&) const = default;
};

std::optional<Stamp> stamp_of(const fs::path& path) {
  struct stat status {};
  if (path.empty() || stat(path.c_str(), &status) != 0) return std::nullopt;
  return Stamp{path.string(), status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
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

// What this process knows of the file.
class Memory {
 public:
  std::vector<TunedConfiguration> entries() {
    const std::lock_guard guard(mutex_);
    read_if_changed();
    return entries_;
  }

  // Of the file, else of the library.
  std::optional<TunedConfiguration> find(const TunedConfiguration& problem) {
    const std::lock_guard guard(mutex_);
    read_if_changed();
    for (const auto* list : {&std::as_const(entries_), &built_in()})
      for (const TunedConfiguration& entry : *list)
        if (fits(entry, problem)) return entry;
    return std::nullopt;
  }

  // An empty device: on any.
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
    refused_ = "what is remembered of tuning was not used: " + reason;
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
    const fs::path path = chosen_file();
    const std::optional<Stamp> stamp = stamp_of(path);
    if (stamp == stamp_) return;
    stamp_ = stamp;
    entries_.clear();
    unreadable_.clear();
    refused_.clear();
    if (!stamp) return;
    try {
      entries_ = detail::parse_tuning(read_text(path), path.string());
    } catch (const Error& error) {
      unreadable_ = std::string("what is remembered of tuning was not used: ") + error.what();
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

// The file that is written: where there is a link to it, the lock of all its names is beside it. Makes its
// folder. \throws Error (file)
fs::path written_file() {
  const fs::path path = chosen_file();
  if (path.empty())
    throw Error(ErrorCategory::file,
                "there is no place to remember tuning in: set PARALLAX_TUNING to the name of a file");
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  const fs::path target = fs::weakly_canonical(path, error);
  return error ? path : target;
}

// \throws Error (file)
void set_aside(const fs::path& path) {
  std::error_code error;
  fs::rename(path, path.string() + ".old", error);
  if (error)
    throw Error(ErrorCategory::file, "cannot set " + path.string() +
                                         " aside, which cannot be read: " + error.message() + ": remove it");
}

// What cannot be read is set aside. \throws Error (file)
std::vector<TunedConfiguration> read_or_set_aside(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return {};
  try {
    return detail::parse_tuning(read_text(path), path.string());
  } catch (const Error&) {
    if (!fs::is_regular_file(path, ignored)) throw;
  }
  set_aside(path);
  return {};
}

// Reads the file again, for others may have written it, and writes what `change` makes of it.
template <class Change>
void change_file(const Change& change) {
  const fs::path path = written_file();
  const Lock lock(path);
  std::vector<TunedConfiguration> entries = read_or_set_aside(path);
  change(entries);
  const std::string text = text_of(entries);
  write_file(path.string(), std::as_bytes(std::span(text)));
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
  // To lay a space out may take a context of the device.
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
  } catch (const Error& error) {  // a file may say anything
    refuse_remembered(describe(*found) + ": " + error.what());
    return given;
  }
}

void refuse_remembered(const std::string& reason) {
  memory().refuse(reason);
}

}  // namespace detail

std::string tuning_file() {
  return chosen_file().string();
}

void check_tuning_file() {
  const fs::path path = written_file();
  const Lock lock(path);
  std::error_code ignored;
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored))
    throw Error(ErrorCategory::file,
                "cannot write " + path.string() + ": it is no file: name another place in PARALLAX_TUNING");
}

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
  // No file is made where there is none.
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
