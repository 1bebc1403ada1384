// SPDX-License-Identifier: Apache-2.0
#include "tools/jobs/tiles/results.h"

#include <cerrno>
#include <charconv>
#include <filesystem>

#include "tools/command/file_errors.h"
#include "tools/command/json.h"
#include "tools/files/content_hash.h"

namespace parallax::tool {
namespace {

// First and last of each run of successive numbers.
std::vector<std::pair<int, int>> runs_of(const std::vector<int>& numbers) {
  std::vector<std::pair<int, int>> runs;
  for (const int number : numbers)
    if (!runs.empty() && runs.back().second + 1 == number)
      runs.back().second = number;
    else
      runs.emplace_back(number, number);
  return runs;
}

}  // namespace

const JobRecords& JobResults::records() {
  if (!records_) records_ = read_logs(head_);
  return *records_;
}

bool JobResults::is_written(const PairJob& job, bool content) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(job.output, error);
  if (error) {
    if (is_transient(error.value())) fail_file("read", job.output, error.value());
    return false;
  }
  const auto& maps = records().maps;
  const auto map = maps.find(job.number);
  return map != maps.end() && map->second.bytes == bytes &&
         (!content || file_hash(job.output) == map->second.hash);
}

TileState JobResults::state(const PairJob& job, const Tile& tile, bool content) {
  if (!job.cut->untiled) {
    const TileState state = state_of(job, tile, content);
    if (state != TileState::missing) return state;
  }
  if (is_written(job, content)) return TileState::done;
  if (!job.cut->untiled) return TileState::missing;
  std::error_code unknown;
  const bool changed = records().maps.contains(job.number) && std::filesystem::exists(job.output, unknown);
  return changed ? TileState::damaged : TileState::missing;
}

void add_map(nlohmann::ordered_json& line, int pair, std::uint64_t bytes, const std::string& hash) {
  line["pair"] = pair;
  line["output_bytes"] = bytes;
  line["output_hash"] = hash;
}

std::vector<std::string> ranges_of(const std::vector<int>& numbers) {
  std::vector<std::string> ranges;
  for (const auto& [first, last] : runs_of(numbers))
    ranges.push_back(std::to_string(first) + (last > first ? "-" + std::to_string(last) : ""));
  return ranges;
}

std::vector<int> parse_ranges(const std::string& text, int count) {
  std::vector<int> numbers;
  const auto refuse = [&](const std::string& part) {
    throw UsageError("--tile is '" + text + "'" + (part == text ? "" : ", with '" + part + "'") +
                     ": this plan has tiles 0 to " + std::to_string(count - 1) +
                     "; give ranges such as 0-19,40, or - for ranges on standard input");
  };
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, comma - begin);
    int first = -1, last = -1;
    const char* const end = part.data() + part.size();
    auto [rest, error] = std::from_chars(part.data(), end, first);
    last = first;
    if (error == std::errc{} && rest != end && *rest == '-') {
      const auto second = std::from_chars(rest + 1, end, last);
      rest = second.ptr;
      error = second.ec;
    }
    if (error != std::errc{} || rest != end || first < 0 || last < first || last >= count) refuse(part);
    for (int number = first; number <= last; ++number) numbers.push_back(number);
    begin = comma + 1;
  }
  return numbers;
}

std::string describe_undone(std::map<TileState, std::vector<int>> tiles) {
  std::string message;
  for (const auto& [state, what] : {std::pair{TileState::missing, "missing"},
                                    {TileState::damaged, "damaged"},
                                    {TileState::foreign, "from another plan"}}) {
    const std::vector<int>& numbers = tiles[state];
    if (numbers.empty()) continue;
    std::string list;
    for (const auto& [first, last] : runs_of(numbers)) {
      list += (list.empty() ? "" : ", ") + std::to_string(first);
      if (last > first) list += (last == first + 1 ? ", " : " to ") + std::to_string(last);
    }
    message += (message.empty() ? "" : "; ") + std::string(numbers.size() == 1 ? "tile " : "tiles ") + list +
               (numbers.size() == 1 ? " is " : " are ") + what;
  }
  return message;
}

}  // namespace parallax::tool
