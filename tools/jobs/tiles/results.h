// SPDX-License-Identifier: Apache-2.0
// The finished part of a job: results of tiles, written maps, and the logs that tell of both, one of each
// process in the folder of the results, with a line of JSON for each tile and map that it finished, or
// failed to.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "tools/jobs/tiles/folder.h"
#include "tools/jobs/tiles/job.h"

namespace parallax::tool {

// "HOST-PID": in names of files that processes of several machines must not share.
std::string process_name();
std::string host_name();
// In UTC, as 2026-11-25T04:00:00.123Z, which sorts as text.
std::string time_text();

class JobLog {
 public:
  explicit JobLog(const JobHead& head);
  JobLog(const JobLog&) = delete;
  JobLog& operator=(const JobLog&) = delete;
  ~JobLog();

  // Writes a line at once. The result is on the disk already, so a failure is only complained of, once.
  void add(nlohmann::ordered_json line);

 private:
  std::string path_, fingerprint_;
  int file_ = -1;
  bool is_cut_ = false;  // the last line in the file
  bool complained_ = false;
};

// Last record of a tile.
struct TileRecord {
  std::string start, host, device;
  double milliseconds = 0;
  std::string error;  // empty = matched
  bool is_transient = false;
};

// A map that was written, by a match of an untiled pair or a merge.
struct MapRecord {
  std::string start;
  std::uint64_t bytes = 0;
  std::string hash;
};

struct JobRecords {
  std::map<int, TileRecord> tiles;
  std::map<int, MapRecord> maps;  // by pair
};

// Skips lines of other plans, and incomplete ones.
// \throws Error (file)
JobRecords read_logs(const JobHead& head);

class JobResults {
 public:
  explicit JobResults(const JobHead& head) : head_(head) {}

  // Whether the map is as this job wrote it: by its size, and `content` by its hash.
  // \throws Error (file)
  bool is_written(const PairJob& job, bool content);
  // State of a tile, or of the map that it became part of. With `content`, all of it is read.
  // \throws Error (file)
  TileState state(const PairJob& job, const Tile& tile, bool content);
  // Records as of the first use of the logs.
  const JobRecords& records();

 private:
  const JobHead& head_;
  std::optional<JobRecords> records_;
};

// Adds what tells later whether a map is still as it was written.
void add_map(nlohmann::ordered_json& line, int pair, std::uint64_t bytes, const std::string& hash);

// "0-4", "7": numbers in order, as --tile takes them.
std::vector<std::string> ranges_of(const std::vector<int>& numbers);
// Numbers of --tile, "0-4,7", each below `count`.
// \throws UsageError
std::vector<int> parse_ranges(const std::string& text, int count);

// "tiles 3, 7 to 12 are missing; tile 2 is damaged"; empty = all are done. `tiles` in order.
std::string describe_undone(std::map<TileState, std::vector<int>> tiles);

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
  // Tiles per second of all processes, from the first start to the last end.
  std::optional<double> tiles_per_second;
  std::vector<std::string> hosts, devices;

  bool all_done() const { return done == tiles; }
};

// `content`: reads all results, and compares their checksums and hashes.
// \throws Error (file)
JobStatus look_at_job(const JobFile& file, bool content);

}  // namespace parallax::tool
