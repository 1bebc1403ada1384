// SPDX-License-Identifier: Apache-2.0
#include "tune/tuning_file.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <span>
#include <stdexcept>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "parallax/formats.h"

#include "core/checks.h"
#include "core/json.h"

namespace parallax {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr int file_version = 1;
// 2 to this power still fits in the type of a number of pixels.
constexpr int highest_size_class = 62;

// The format of the file

// \throws std::out_of_range unless it is an integer that fits in an int
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
    const ordered_json json = parse_json_object(text);
    const int version = whole_number(json.at("version"));
    if (version != file_version)
      throw refuse("has version " + std::to_string(version) + ", this program reads version " +
                   std::to_string(file_version));
    std::vector<TunedConfiguration> entries;
    for (const ordered_json& entry : json.at("entries")) {
      entries.push_back(read_entry(entry));
      const int size_class = entries.back().size_class;
      if (size_class < 0 || size_class > highest_size_class) throw refuse("is damaged");
    }
    return entries;
  } catch (const JsonError& error) {
    throw refuse(std::string("is ") + error.what());
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

// \throws Error (file)
std::string read_text(const fs::path& path) {
  // Opening a pipe could block forever.
  if (!fs::is_regular_file(path))
    throw Error(ErrorCategory::file, "cannot read " + path.string() + ": it is not a regular file");
  constexpr std::size_t max_bytes = 64 << 20;  // some 100,000 entries
  const std::vector<std::byte> bytes = read_file(path.string(), max_bytes);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A lock file, held while the tuning file is read and rewritten. That one is replaced, so it cannot be the
// lock.
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
                "cannot write " + name + ": " + reason + ": set PARALLAX_TUNING to another file name");
  }
  ~Lock() { close(descriptor_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int descriptor_;
};

// Creates the folder and returns the path to write, with links resolved so that all names share one lock.
// \throws Error (file)
fs::path written_file() {
  const fs::path path = tuning::chosen_file();
  if (path.empty())
    throw Error(ErrorCategory::file,
                "there is no place to remember tuning: set PARALLAX_TUNING to a file name");
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
    throw Error(ErrorCategory::file, "cannot rename " + path.string() +
                                         ", which is unreadable: " + error.message() + ": remove it");
}

// Sets an unreadable file aside.
// \throws Error (file)
std::vector<TunedConfiguration> read_or_set_aside(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return {};
  try {
    return tuning::read(path);
  } catch (const Error&) {
    if (!fs::is_regular_file(path, ignored)) throw;
  }
  set_aside(path);
  return {};
}

}  // namespace

namespace tuning {

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

std::optional<Stamp> stamp_of(const fs::path& path) {
  struct stat status {};
  if (path.empty() || stat(path.c_str(), &status) != 0) return std::nullopt;
  return Stamp{path.string(), status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

std::vector<TunedConfiguration> read(const fs::path& path) {
  return detail::parse_tuning(read_text(path), path.string());
}

void change_file(const std::function<void(std::vector<TunedConfiguration>& entries)>& change) {
  const fs::path path = written_file();
  const Lock lock(path);
  std::vector<TunedConfiguration> entries = read_or_set_aside(path);
  change(entries);
  const std::string text = text_of(entries);
  write_file(path.string(), std::as_bytes(std::span(text)));
}

}  // namespace tuning

std::string tuning_file() {
  return tuning::chosen_file().string();
}

void check_tuning_file() {
  const fs::path path = written_file();
  const Lock lock(path);
  std::error_code ignored;
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored))
    throw Error(ErrorCategory::file,
                "cannot write " + path.string() +
                    ": it is not a regular file: set PARALLAX_TUNING to another file name");
}

}  // namespace parallax
