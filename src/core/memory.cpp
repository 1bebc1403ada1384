#include "core/memory.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>

#include <unistd.h>

namespace parallax {

std::string bytes_text(std::size_t bytes) {
  static constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  auto value = static_cast<double>(bytes);
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  std::ostringstream text;
  text.precision(unit == 0 ? 0 : 1);
  text << std::fixed << value << " " << units[unit];
  return text.str();
}

std::size_t whole_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  const bool known = pages > 0 && page > 0;
  const std::size_t physical =
      known ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) : SIZE_MAX;
  std::size_t container = 0;  // stays 0 where the file is missing, or says "max"
  std::ifstream("/sys/fs/cgroup/memory.max") >> container;
  return container == 0 ? physical : std::min(physical, container);
}

}  // namespace parallax
