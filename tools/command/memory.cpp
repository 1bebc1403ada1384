// SPDX-License-Identifier: Apache-2.0
#include "tools/command/memory.h"

#include <fstream>
#include <sstream>

#include "parallax/matcher.h"

namespace parallax::tool {

std::string memory_text(std::size_t bytes) {
  static constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  auto value = static_cast<double>(bytes);
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  std::ostringstream text;
  text.precision(unit == 0 ? 0 : 1);
  text << std::fixed << value << " " << units[unit];
  return text.str();
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
