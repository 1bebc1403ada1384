// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <iostream>

#include "tools/command/json.h"
#include "tools/command/options.h"
#include "tools/jobs/tiles/results.h"
#include "tools/parallax/pair_options.h"

namespace parallax::tool {
namespace {

using nlohmann::ordered_json;

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
  constexpr std::size_t max_named = 20;
  for (std::size_t i = 0; i < std::min(status.failed.size(), max_named); ++i) {
    const FailedTile& tile = status.failed[i];
    std::cout << "tile " << tile.tile << " failed on " << printable(tile.host)
              << (tile.is_transient ? " for a reason that may pass: " : ": ") << printable(tile.reason)
              << "\n";
  }
  if (status.failed.size() > max_named)
    std::cout << "and " << status.failed.size() - max_named << " more failed: --json names them\n";
  if (!status.milliseconds_per_tile) return;
  std::cout << with_decimals(*status.milliseconds_per_tile, 1) << " ms a tile (median)";
  if (status.tiles_per_second)
    std::cout << ", " << with_decimals(*status.tiles_per_second, 1) << " tiles/s on " << status.hosts.size()
              << (status.hosts.size() == 1 ? " host" : " hosts");
  std::cout << "\n";
}

}  // namespace

int status_command(const Arguments& arguments) {
  PlanFile plan;
  bool json = false, verify = false;
  Options options("status",
                  "Show which tiles of a plan are done, missing or failed. Exit status 0 = all are done.");
  add_plan_argument(options, plan);
  options.add_flag("--json", json, "Report as JSON");
  options.add_flag("--verify", verify, "Read all results, and compare their checksums");
  add_path_map_option(options, plan);
  options.read(arguments);
  const JobStatus status = look_at_job(plan.open(), verify);
  if (json)
    std::cout << json_text(to_json(status), 2) << "\n";
  else
    tell(status);
  return status.all_done() ? done : failed;
}

}  // namespace parallax::tool
