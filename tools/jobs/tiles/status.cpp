// SPDX-License-Identifier: Apache-2.0
#include "tools/jobs/tiles/status.h"

#include <algorithm>
#include <ctime>
#include <set>
#include <unordered_set>

#include "tools/command/command.h"
#include "tools/jobs/tiles/results.h"

namespace parallax::tool {
namespace {

// Of time_text(), in seconds; 0 = not a time.
double seconds_of(const std::string& text) {
  std::tm utc{};
  const char* const rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &utc);
  return rest == nullptr ? 0 : static_cast<double>(::timegm(&utc)) + std::strtod(rest, nullptr);
}

// Figures of the tiles that were matched.
void add_rates(const JobRecords& records, JobStatus& status) {
  std::vector<double> milliseconds;
  std::set<std::string> hosts, devices;
  double first = 0, last = 0;
  for (const auto& [tile, record] : records.tiles) {
    if (!record.error.empty()) continue;
    milliseconds.push_back(record.milliseconds);
    hosts.insert(record.host);
    devices.insert(record.device);
    const double start = seconds_of(record.start);
    if (milliseconds.size() == 1 || start < first) first = start;
    last = std::max(last, start + record.milliseconds / 1000);
  }
  status.hosts.assign(hosts.begin(), hosts.end());
  status.devices.assign(devices.begin(), devices.end());
  if (milliseconds.empty()) return;
  const auto count = static_cast<double>(milliseconds.size());
  status.milliseconds_per_tile = median(std::move(milliseconds));
  if (last > first) status.tiles_per_second = count / (last - first);
}

class JobLook {
 public:
  JobLook(const JobFile& file, bool content) : file_(file), results_(file.head()), content_(content) {
    for (const int tile : list_tiles(file.head().folder)) listed_.insert(tile);
    status_.tiles = file.head().tiles;
    status_.pairs = file.head().pairs;
  }

  JobStatus run() {
    for (int number = 0; number < status_.pairs; ++number) look(file_.pair(number));
    add_rates(results_.records(), status_);
    return std::move(status_);
  }

 private:
  void look(const PairJob& job) {
    const bool written = results_.is_written(job, content_);
    const int before = status_.done;
    for (const Tile& tile : job.plan().tiles)
      add(job.number_of(tile), written ? TileState::done : state(job, tile));
    status_.pairs_written += written;
    status_.pairs_done += status_.done - before == job.tiles();
  }

  TileState state(const PairJob& job, const Tile& tile) {
    if (job.cut->untiled) return results_.state(job, tile, content_);
    return listed_.contains(job.number_of(tile)) ? state_of(job, tile, content_) : TileState::missing;
  }

  void add(int tile, TileState state) {
    if (state == TileState::done) {
      ++status_.done;
      return;
    }
    const auto& records = results_.records().tiles;
    const auto record = records.find(tile);
    if (record != records.end() && !record->second.error.empty()) {
      status_.failed.push_back(
          {tile, record->second.error, record->second.host, record->second.is_transient});
      return;
    }
    status_.missing.push_back(tile);
    if (state != TileState::missing) status_.damaged.push_back(tile);
  }

  const JobFile& file_;
  JobResults results_;
  bool content_;
  std::unordered_set<int> listed_;
  JobStatus status_;
};

}  // namespace

JobStatus look_at_job(const JobFile& file, bool content) {
  return JobLook(file, content).run();
}

}  // namespace parallax::tool
