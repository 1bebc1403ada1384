// SPDX-License-Identifier: Apache-2.0
#include "devices/program.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "parallax/process.h"

namespace parallax {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view magic = "parallax program 1\n";

std::string number(std::uint64_t value) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(value));
  return text.data();
}

// The hash need only spread well, because a file is compared with the whole key.
std::string hash(std::string_view text) {
  return number(std::hash<std::string_view>()(text));
}

// Empty if there is no cache folder.
fs::path folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return fs::path(cache) / "parallax";
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? fs::path(home) / ".cache" / "parallax" : fs::path();
}

fs::path file_of(const std::string& key) {
  return folder() / (hash(key) + ".program");
}

// The part of a file that precedes the code.
std::string header(const std::string& key, const std::string& code) {
  return std::string(magic) + number(key.size()) + number(code.size()) + hash(code) + key;
}

// A file opened for reading. It is examined through its descriptor, because the path's target could change
// between two calls.
class File {
 public:
  // Refuses symbolic links, which could lead anywhere, and does not block on pipes.
  explicit File(const fs::path& path)
      : descriptor_(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)) {
    if (descriptor_ >= 0 && fstat(descriptor_, &status_) != 0) status_ = {};
  }
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool is_ours() const {
    constexpr off_t max_bytes = 1 << 28;
    return S_ISREG(status_.st_mode) && status_.st_size <= max_bytes && status_.st_uid == geteuid() &&
           (status_.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  }
  // The content, as far as it can be read.
  std::string content() const {
    std::string text(static_cast<std::size_t>(status_.st_size), '\0');
    const ssize_t bytes = read(descriptor_, text.data(), text.size());
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
    return text;
  }

 private:
  int descriptor_;
  struct stat status_ {};
};

std::function<void(const std::string&)>& compilation_listener() {
  static std::function<void(const std::string&)> listener;
  return listener;
}

}  // namespace

std::optional<std::string> read_cached(const std::string& key) {
  if (folder().empty()) return std::nullopt;
  const File file(file_of(key));
  if (!file.is_ours()) return std::nullopt;
  const std::string text = file.content();
  const std::size_t start = header(key, "").size();
  if (text.size() < start) return std::nullopt;
  std::string code = text.substr(start);
  if (text.compare(0, start, header(key, code)) != 0) return std::nullopt;
  return code;
}

// Writes atomically: a file appears complete or not at all.
void write_cached(const std::string& key, const std::string& code) {
  if (folder().empty()) return;
  std::error_code ignored;
  fs::create_directories(folder(), ignored);
  std::string temporary = (folder() / "new-XXXXXX").string();
  const int descriptor = mkstemp(temporary.data());
  if (descriptor < 0) return;
  close(descriptor);
  std::ofstream out(temporary, std::ios::binary);
  out << header(key, code) << code;
  out.close();
  if (out.good()) fs::rename(temporary, file_of(key), ignored);
  fs::remove(temporary, ignored);
}

void on_compilation(std::function<void(const std::string& device)> listener) {
  compilation_listener() = std::move(listener);
}

void tell_compilation(const std::string& device) {
  if (compilation_listener()) compilation_listener()(device);
}

}  // namespace parallax
