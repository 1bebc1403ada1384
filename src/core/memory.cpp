// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

#include <unistd.h>

#include "parallax/matcher.h"

#include "core/cancellation.h"
#include "core/checks.h"

namespace parallax {

void clear_memory(void* memory, std::size_t bytes) {
  constexpr std::size_t part = std::size_t{1} << 24;
  for (std::size_t done = 0; done < bytes; done += part) {
    stop_if_cancelled();
    std::memset(static_cast<char*>(memory) + done, 0, std::min(part, bytes - done));
  }
}

std::string bytes_text(std::size_t bytes) {
  static constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  auto value = static_cast<double>(bytes);
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  return with_decimals(value, unit == 0 ? 0 : 1) + " " + units[unit];
}

namespace {

namespace fs = std::filesystem;

// SIZE_MAX if the file is missing or says "max".
std::size_t limit_in(const fs::path& file) {
  std::size_t limit = 0;
  std::ifstream(file) >> limit;
  return limit == 0 ? SIZE_MAX : limit;
}

// The least limit of a group and of its ancestors. In a container, the root of the mounted hierarchy may be
// the container's own group: then the group's path on the host does not exist here.
std::size_t min_limit(const fs::path& mounted, std::string_view group, const char* file) {
  std::size_t least = limit_in(mounted / file);
  fs::path folder = mounted;
  for (const fs::path& name : fs::path(group).relative_path()) {
    folder /= name;
    least = std::min(least, limit_in(folder / file));
  }
  return least;
}

// Controllers are separated by commas.
bool names_memory(std::string_view controllers) {
  while (!controllers.empty()) {
    const std::size_t length = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, length) == "memory") return true;
    controllers.remove_prefix(std::min(length + 1, controllers.size()));
  }
  return false;
}

}  // namespace

// Lines of /proc/self/cgroup read number:controllers:group. In version 2, the number is 0 and no controllers
// are named.
std::size_t container_memory(const fs::path& root) {
  const fs::path mounted = root / "sys/fs/cgroup";
  std::size_t least = min_limit(mounted, "", "memory.max");
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string_view text = line;
    const std::string_view controllers = text.substr(first + 1, second - first - 1);
    const std::string_view group = text.substr(second + 1);
    if (controllers.empty()) least = std::min(least, min_limit(mounted, group, "memory.max"));
    if (names_memory(controllers))
      least = std::min(least, min_limit(mounted / "memory", group, "memory.limit_in_bytes"));
  }
  return least;
}

std::size_t whole_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  const bool known = pages > 0 && page > 0;
  const std::size_t physical =
      known ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) : SIZE_MAX;
  return std::min(physical, container_memory("/"));
}

}  // namespace parallax
