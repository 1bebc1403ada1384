// SPDX-License-Identifier: Apache-2.0
// What of a job is done: results of tiles, and maps that were written.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "tools/jobs/tiles/folder.h"
#include "tools/jobs/tiles/job.h"
#include "tools/jobs/tiles/log.h"

namespace parallax::tool {

class JobResults {
 public:
  explicit JobResults(const JobHead& head) : head_(head) {}

  // Whether the map of a pair is as this job wrote it: by its size, and, with `content`, by its hash.
  // \throws Error (file)
  bool is_written(const PairJob& job, bool content);
  // Of a tile, or of the map that it became part of. With `content`, all of it is read. \throws Error (file)
  TileState state(const PairJob& job, const Tile& tile, bool content);
  // As of the first use of the logs.
  const JobRecords& records();

 private:
  const JobHead& head_;
  std::optional<JobRecords> records_;
};

// Adds what tells later whether a map is still as it was written.
void add_map(nlohmann::ordered_json& line, int pair, std::uint64_t bytes, const std::string& hash);

// "0-4", "7": numbers in order, as --tile takes them.
std::vector<std::string> ranges_of(const std::vector<int>& numbers);
// Numbers of --tile, "0-4,7", each below `count`. \throws UsageError
std::vector<int> parse_ranges(const std::string& text, int count);

// "tiles 3, 7 to 12 are missing; tile 2 is damaged"; empty = all are done. `tiles` in order.
std::string describe_undone(std::map<TileState, std::vector<int>> tiles);

}  // namespace parallax::tool
