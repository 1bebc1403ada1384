// SPDX-License-Identifier: Apache-2.0
// How far a job is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/jobs/tiles/job.h"

namespace parallax::tool {

struct FailedTile {
  int tile = 0;
  std::string reason, host;
  bool is_transient = false;
};

struct JobStatus {
  int tiles = 0, done = 0;
  std::vector<int> missing;        // and damaged ones, but not those that failed; in order
  std::vector<int> damaged;        // or of another plan: those of the missing ones that have a result
  std::vector<FailedTile> failed;  // in order
  int pairs = 0, pairs_done = 0;   // with all their tiles
  int pairs_written = 0;           // with their map
  std::optional<double> milliseconds_per_tile;  // median
  std::optional<double> tiles_per_second;       // of all processes, from the first start to the last end
  std::vector<std::string> hosts, devices;

  bool all_done() const { return done == tiles; }
};

// `content`: reads all results, and compares their checksums and hashes. \throws Error (file)
JobStatus look_at_job(const JobFile& file, bool content);

}  // namespace parallax::tool
