// SPDX-License-Identifier: Apache-2.0
// Processes that match tiles of a job: this program, as 'match --plan FILE --tile -'.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/parallax/tile_job.h"

namespace parallax::tool {

struct FailedTile {
  int number = 0;
  std::string reason;
};

struct TileWork {
  int matched = 0, retried = 0;
  std::vector<FailedTile> failed;  // in order of their numbers
  // The most that all processes held, the peaks of each that ran side by side added up.
  std::size_t peak_memory_bytes = 0;
};

// Matches these tiles. A tile whose process dies is tried once more, in another process. `done` is told how
// many are finished. \throws Error (internal, file) when there can be no processes
TileWork match_in_processes(const TileJob& job, const std::string& plan_path, std::vector<int> tiles,
                            const std::function<void(int finished)>& done);

// What a process says of each tile that is on the disk, in a line.
struct TileAnswer {
  int tile = 0;
  double milliseconds = 0;
  std::size_t peak_memory_bytes = 0;
};
std::string to_line(const TileAnswer& answer);

}  // namespace parallax::tool
