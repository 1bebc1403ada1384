#include "devices/cuda/program_cache.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

namespace parallax::cuda {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view magic = "parallax program 1\n";

// FNV-1a. A file is compared with the whole key, so the hash need only spread well.
std::uint64_t hash(std::string_view text) {
  std::uint64_t value = 14695981039346656037u;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return value;
}

std::string number(std::uint64_t value) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(value));
  return text.data();
}

// Empty where there is no such folder to be had.
fs::path folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return fs::path(cache) / "parallax";
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? fs::path(home) / ".cache" / "parallax" : fs::path();
}

fs::path file_of(const std::string& key) {
  return folder() / (number(hash(key)) + ".cubin");
}

// What stands before the code.
std::string header(const std::string& key, const std::string& code) {
  return std::string(magic) + number(key.size()) + number(code.size()) + number(hash(code)) + key;
}

bool is_ours(const fs::path& file) {
  struct stat status {};
  return lstat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

std::optional<std::string> read_cached(const std::string& key) {
  const fs::path file = file_of(key);
  if (folder().empty() || !is_ours(file)) return std::nullopt;
  std::ostringstream content;
  content << std::ifstream(file, std::ios::binary).rdbuf();
  const std::string text = content.str();
  const std::size_t start = header(key, "").size();
  if (text.size() < start) return std::nullopt;
  std::string code = text.substr(start);
  if (text.compare(0, start, header(key, code)) != 0) return std::nullopt;
  return code;
}

// A file appears whole or not at all.
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

}  // namespace parallax::cuda
