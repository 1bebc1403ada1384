// SPDX-License-Identifier: Apache-2.0
// Logs of a job: each process appends a line of JSON for each tile and map that it finishes, or fails to, to a file of its own
// in the folder of the results.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

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

  // A line is written at once. The result that it tells of is on the disk, so a failure is only complained of, once.
  void add(nlohmann::ordered_json line);

 private:
  std::string path_, fingerprint_;
  int file_ = -1;
  bool is_cut_ = false;  // the last line in the file
  bool complained_ = false;
};

// What the last line about a tile says.
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

// Reads all logs of a job; lines of other plans and those that are not complete are skipped. \throws Error (file)
JobRecords read_logs(const JobHead& head);

}  // namespace parallax::tool
