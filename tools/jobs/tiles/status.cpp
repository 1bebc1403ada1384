// SPDX-License-Identifier: Apache-2.0
#include "tools/jobs/tiles/status.h"

#include <algorithm>
#include <ctime>
#include <iostream>
#include <set>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "tools/command/command.h"
#include "tools/jobs/tiles/results.h"

namespace parallax::tool {
namespace {

using nlohmann::ordered_json;

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

ordered_json to_json(const JobStatus& status) {
  ordered_json json{{"tiles", status.tiles},
                    {"done", status.done},
                    {"missing", ranges_of(status.missing)},
                    {"damaged", ranges_of(status.damaged)},
                    {"failed", ordered_json::array()},
                    {"pairs", status.pairs},
                    {"pairs_done", status.pairs_done},
                    {"pairs_written", status.pairs_written}};
  for (const FailedTile& tile : status.failed)
    json["failed"].push_back({{"tile", tile.tile},
                              {"reason", tile.reason},
                              {"is_transient", tile.is_transient},
                              {"host", tile.host}});
  const auto number = [](const std::optional<double>& value) {
    return value ? ordered_json(*value) : ordered_json();
  };
  json["milliseconds_per_tile"] = number(status.milliseconds_per_tile);
  json["tiles_per_second"] = number(status.tiles_per_second);
  json["hosts"] = status.hosts;
  json["devices"] = status.devices;
  return json;
}

void tell(const JobStatus& status) {
  std::cout << status.done << " of " << status.tiles << " tiles are done; of " << status.pairs << " pairs, "
            << status.pairs_done << " are matched and " << status.pairs_written << " have their map\n";
  if (!status.missing.empty()) std::cout << "missing: " << join(ranges_of(status.missing), ",") << "\n";
  if (!status.damaged.empty())
    std::cout << "of these, damaged or of another plan: " << join(ranges_of(status.damaged), ",") << "\n";
  constexpr std::size_t most_named = 20;
  for (std::size_t i = 0; i < std::min(status.failed.size(), most_named); ++i) {
    const FailedTile& tile = status.failed[i];
    std::cout << "tile " << tile.tile << " failed on " << printable(tile.host)
              << (tile.is_transient ? " for a reason that may pass: " : ": ") << printable(tile.reason)
              << "\n";
  }
  if (status.failed.size() > most_named)
    std::cout << "and " << status.failed.size() - most_named << " more failed: --json names them\n";
  if (!status.milliseconds_per_tile) return;
  std::cout << with_decimals(*status.milliseconds_per_tile, 1) << " ms a tile (median)";
  if (status.tiles_per_second)
    std::cout << ", " << with_decimals(*status.tiles_per_second, 1) << " tiles/s on " << status.hosts.size()
              << (status.hosts.size() == 1 ? " host" : " hosts");
  std::cout << "\n";
}

}  // namespace

JobStatus look_at_job(const JobFile& file, bool content) {
  return JobLook(file, content).run();
}

int status_command(const Arguments& arguments) {
  std::string path;
  bool json = false, verify = false;
  std::vector<std::string> maps;
  Options options("status",
                  "Show which tiles of a plan are done, missing or failed. Exit status 0 = all are done.");
  options.add("PLAN", path, "Plan written by 'parallax plan'").required();
  options.add_flag("--json", json, "Report as JSON");
  options.add_flag("--verify", verify, "Read all results, and compare their checksums");
  add_path_map_option(options, maps);
  options.read(arguments);
  const JobStatus status = look_at_job(JobFile(path, parse_path_maps(maps)), verify);
  if (json)
    std::cout << to_json(status).dump(2, ' ', false, ordered_json::error_handler_t::replace) << "\n";
  else
    tell(status);
  return status.all_done() ? done : failed;
}

}  // namespace parallax::tool
