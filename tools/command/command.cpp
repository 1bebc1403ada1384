// SPDX-License-Identifier: Apache-2.0
#include "tools/command/command.h"

#include <fstream>
#include <mutex>
#include <set>
#include <sstream>

#include <sys/ioctl.h>
#include <unistd.h>

#include "parallax/matcher.h"
#include "parallax/process.h"

namespace parallax::tool {

std::string text(Size size) {
  return std::to_string(size.width) + "×" + std::to_string(size.height);
}

std::string rounded(double value, int decimals) {
  const std::string text = with_decimals(value, decimals);
  return text.find_first_not_of("-0.") == std::string::npos ? with_decimals(0, decimals) : text;
}

void write_message(std::string_view text) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string printable(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F are control characters of two bytes.
    const bool two_bytes = byte == 0xC2 && i + 1 < text.size() &&
                           static_cast<unsigned char>(text[i + 1]) >= 0x80 &&
                           static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (byte >= 0x20 && byte != 0x7F && !two_bytes) {
      result += text[i];
      continue;
    }
    char code[8];
    std::snprintf(code, sizeof code, "\\x%02x", two_bytes ? static_cast<unsigned char>(text[++i]) : byte);
    result += code;
  }
  return result;
}

void write_notice(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> written;
  const std::lock_guard lock(mutex);
  if (written.insert(text).second) write_message(printable(text) + "\n");
}

void complain(const std::string& message) {
  write_message("parallax: " + printable(message) + "\n");
}

std::string quoted_for_shell(const std::string& word) {
  constexpr const char* plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char letter : word) quoted += letter == '\'' ? "'\\''" : std::string(1, letter);
  return quoted + "'";
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<long long>(seconds);
  if (whole < 120) return std::to_string(whole) + " s";
  return whole < 7200 ? std::to_string(whole / 60) + " min" : std::to_string(whole / 3600) + " h";
}

std::string join(const std::vector<std::string>& words, const std::string& separator) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
  return text;
}

namespace {

// Width of the terminal that messages go to; 0 = not a terminal.
std::size_t terminal_columns() {
  if (::isatty(STDERR_FILENO) == 0) return 0;
  constexpr std::size_t usual = 80;
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : usual;
}

}  // namespace

void show_progress(const std::string& what, std::optional<double> share) {
  const std::size_t columns = terminal_columns();
  if (columns == 0) return;
  std::string line;
  if (share) {
    constexpr std::size_t cells = 24;
    const auto full = static_cast<std::size_t>(cells * std::clamp(*share, 0.0, 1.0));
    line.append("[").append(full, '#').append(cells - full, '.').append("] ");
  }
  line += printable(what);
  // A line that wraps could not be cleared.
  write_message("\r\033[K" + line.substr(0, columns - 1));
}

CompilationNotice::CompilationNotice() {
  on_compilation([](const std::string& device) {
    show_progress("Compiling kernels for " + device + " (first time only) ...");
  });
}

CompilationNotice::~CompilationNotice() {
  on_compilation(nullptr);
  show_progress("");
}

std::string memory_text(std::size_t bytes) {
  static constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  auto value = static_cast<double>(bytes);
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  return with_decimals(value, unit == 0 ? 0 : 1) + " " + units[unit];
}

std::size_t memory_limit(std::size_t max_memory) {
  // Leaves an eighth to the system and other programs.
  return max_memory > 0 ? max_memory : whole_memory() / 8 * 7;
}

// Measured, and rounded up generously; docs/measurements/tiles.md says how.
std::size_t program_bytes(const Device& device) {
  constexpr std::size_t mebibyte = 1 << 20;
  if (device.kind == DeviceKind::cuda) return 512 * mebibyte;
  return (device.kind == DeviceKind::opencl ? 192 : 48) * mebibyte;
}

std::size_t peak_memory_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string key;
    std::size_t kibibytes = 0;
    if (words >> key >> kibibytes && key == "VmHWM:") return 1024 * kibibytes;
  }
  return 0;
}

}  // namespace parallax::tool
