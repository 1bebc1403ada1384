// SPDX-License-Identifier: Apache-2.0
#include "core/available_threads.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <oneapi/tbb/info.h>

#include "parallax/process.h"

#include "core/integers.h"

namespace parallax {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

bool lists_cpu(const std::string& names) {
  const std::vector<std::string> all = split(names, ',');
  return std::find(all.begin(), all.end(), "cpu") != all.end();
}

// A hierarchy of control groups where it is mounted.
struct Mount {
  bool is_version_2;
  fs::path group;   // the group whose folder `folder` is
  fs::path folder;  // relative to the root
};

// Resolves the escapes \ooo of mountinfo: octal codes of spaces and the like.
std::string unescaped(const std::string& text) {
  constexpr std::size_t digits = 3;
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string code = text.substr(i + 1, digits);
    const bool is_escape = text[i] == '\\' && code.size() == digits && code[0] <= '3' &&
                           code.find_first_not_of("01234567") == std::string::npos;
    result += is_escape ? static_cast<char>(std::stoi(code, nullptr, 8)) : text[i];
    if (is_escape) i += digits;
  }
  return result;
}

// The mounts of the hierarchies that have quotas, as proc_pid_mountinfo(5) describes their lines.
std::vector<Mount> mounts(const fs::path& root) {
  std::vector<Mount> found;
  std::ifstream file(root / "proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t separator = line.find(" - ");
    if (separator == std::string::npos) continue;
    std::istringstream place(line.substr(0, separator)), kind(line.substr(separator + 3));
    std::string skipped, group, folder, type, options;
    place >> skipped >> skipped >> skipped >> group >> folder;
    kind >> type >> skipped >> options;
    if (!place || !kind) continue;
    if (type == "cgroup2" || (type == "cgroup" && lists_cpu(options)))
      found.push_back({type == "cgroup2", unescaped(group), fs::path(unescaped(folder)).relative_path()});
  }
  return found;
}

// The group of this process in the hierarchy of a mount, as cgroups(7) describes the lines
// "number:controllers:group"; version 2 has number 0 and no controllers.
std::optional<fs::path> own_group(const fs::path& root, bool is_version_2) {
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool is_it =
        is_version_2 ? line.substr(0, first) == "0" && controllers.empty() : lists_cpu(controllers);
    if (is_it) return line.substr(second + 1);
  }
  return std::nullopt;
}

std::optional<int> processors(long long quota, long long period) {
  if (quota <= 0 || period <= 0) return std::nullopt;
  const long long rounded_up = quota / period + (quota % period != 0 ? 1 : 0);
  return static_cast<int>(std::min<long long>(rounded_up, std::numeric_limits<int>::max()));
}

// A whole number, and nothing else.
std::optional<long long> read_number(std::istream& stream) {
  long long number = 0;
  if (!(stream >> number)) return std::nullopt;
  const int next = stream.peek();
  if (next != std::char_traits<char>::eof() && next != ' ' && next != '\n') return std::nullopt;
  return number;
}

// The quota of a group alone.
std::optional<int> quota(const fs::path& folder, bool is_version_2) {
  std::ifstream both(folder / "cpu.max"), of_v1(folder / "cpu.cfs_quota_us"),
      period_of_v1(folder / "cpu.cfs_period_us");
  const std::optional<long long> quota = read_number(is_version_2 ? both : of_v1);
  const std::optional<long long> period = read_number(is_version_2 ? both : period_of_v1);
  return quota && period ? processors(*quota, *period) : std::nullopt;
}

void take_least(std::optional<int>& least, std::optional<int> value) {
  if (value && (!least || *value < *least)) least = value;
}

}  // namespace

std::optional<int> granted_processors(const fs::path& root) {
  std::optional<int> least;
  for (const Mount& mount : mounts(root)) {
    const std::optional<fs::path> own = own_group(root, mount.is_version_2);
    if (!own) continue;
    // A group outside the mounted one is another container's.
    const fs::path below = own->lexically_normal().lexically_relative(mount.group.lexically_normal());
    if (below.empty() || *below.begin() == "..") continue;
    fs::path folder = root / mount.folder;
    take_least(least, quota(folder, mount.is_version_2));
    for (const fs::path& name : below) take_least(least, quota(folder /= name, mount.is_version_2));
  }
  return least;
}

int available_threads() {
  static const int count = [] {
    const int processors = oneapi::tbb::info::default_concurrency();
    return std::min(processors, granted_processors().value_or(processors));
  }();
  return count;
}

}  // namespace parallax
