// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>
#include <vector>

#include "tools/command/command.h"
#include "tools/command/command_files.h"
#include "tools/command/json.h"
#include "tools/command/output_files.h"
#include "tools/files/pictures.h"
#include "tools/jobs/tiles/folder.h"
#include "tools/jobs/tiles/merge.h"
#include "tools/jobs/tiles/plan.h"
#include "tools/jobs/tiles/runner.h"

namespace parallax::tool {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

// The job of this match, stored in the folder of its tiles: a new one, or the one to resume.
JobFile open_job(const PairRequest& request, bool resume) {
  const std::string folder = folder_of_tiles(request), path = (fs::path(folder) / "plan.json").string();
  std::error_code unknown;
  if (fs::exists(path, unknown)) {
    if (!resume)
      throw Error(ErrorCategory::file, folder +
                                           " is left over from an interrupted match: continue with --resume, "
                                           "or remove the folder");
    JobFile file(path);
    check_same_job(file, request.pair, request.inputs.format);
    remove_leftovers(folder);
    return file;
  }
  // No plan: the match is new, or was interrupted before its plan was written or at its very end.
  write_job(plan_in_tiles(request), path);
  return JobFile(path);
}

struct TileReport {
  int matched = 0, reused = 0;
  StitchedMap map;
  double match_milliseconds = 0, stitch_milliseconds = 0;
};

[[noreturn]] void fail(const TileOutcome& outcome) {
  show_progress("");
  throw Error(ErrorCategory::file,
              "tile " + std::to_string(outcome.tile->number) + ": " + outcome.failure->message +
                  "; finished tiles are in " + outcome.job->head->folder +
                  ": continue with --resume once that is fixed",
              outcome.failure->status == failed_for_now);
}

void match_tiles(const std::shared_ptr<const PairJob>& pair, const std::vector<Device>& devices,
                 TileReport& report) {
  const PairJob& job = *pair;
  std::vector<const Tile*> tiles;
  for (const Tile& tile : job.plan().tiles)
    if (state_of(job, tile) != TileState::done) tiles.push_back(&tile);
  report.reused = job.tiles() - static_cast<int>(tiles.size());
  if (tiles.empty()) return;
  const Clock::time_point begin = Clock::now();
  const auto show = [&] {
    const int finished = report.reused + report.matched, left = job.tiles() - finished;
    std::string what = "tile " + std::to_string(finished) + " of " + std::to_string(job.tiles());
    if (report.matched > 0)
      what += ", " + duration_text(milliseconds_since(begin) / 1000 / report.matched * left) + " left";
    show_progress(what, static_cast<double>(finished) / job.tiles());
  };
  show();
  TileRun run;
  run.devices = devices;
  auto next = tiles.begin();
  TileRunner(run, std::min(job.cut->at_once, static_cast<int>(tiles.size())), false)
      .run(
          [&] {
            return next == tiles.end() ? TileRunner::Next{} : TileRunner::Next{pair, *next++};
          },
          [&](const TileOutcome& outcome) {
            if (outcome.failure) fail(outcome);
            ++report.matched;
            show();
          });
  show_progress("");
}

TileReport match_and_stitch(const std::shared_ptr<const PairJob>& job, const std::vector<Device>& devices,
                            const std::string& rows_off) {
  TileReport report;
  auto begin = Clock::now();
  match_tiles(job, devices, report);
  report.match_milliseconds = milliseconds_since(begin);
  begin = Clock::now();
  report.map = stitch_tiles(*job, rows_off);
  report.stitch_milliseconds = milliseconds_since(begin);
  return report;
}

// Makes the outputs that need the finished map, and their part of the --json report.
ordered_json finish(const TiledMatch& request, const StitchedMap& map) {
  ordered_json json = ordered_json::object();
  if (request.image.empty() && request.truth.path.empty()) return json;
  const Plane<float> disparity = read_disparity(map.path);
  if (!request.image.empty()) write_output(request.image, encode_coloured(disparity.view()));
  if (const std::optional<Truth> truth = read_truth(request.truth, request.pair.input.left, disparity.size()))
    add_errors(*truth, disparity.view(), json);
  return json;
}

ordered_json job_json(const PairJob& job, const std::vector<Device>& devices, const TileReport& report) {
  const TilePlan& plan = job.plan();
  const Size size = plan.format.size, tile = plan.tiles.front().around.size;
  return {{"method", job.head->search.method},
          {"device", text(devices)},
          {"size", {{"width", size.width}, {"height", size.height}}},
          {"disparities", plan.parameters.disparities()},
          {"parameters", describe_parameters(plan.parameters)},
          {"tiles",
           {{"count", job.tiles()},
            {"width", tile.width},
            {"height", tile.height},
            {"at_once", job.cut->at_once},
            {"matched", report.matched},
            {"reused", report.reused}}},
          {"milliseconds",
           {{"total", report.match_milliseconds + report.stitch_milliseconds},
            {"match", report.match_milliseconds},
            {"stitch", report.stitch_milliseconds}}},
          {"memory_bytes", plan.tile_memory_bytes},
          {"max_memory_bytes", memory_limit(job.head->search.max_memory)},
          {"peak_memory_bytes", peak_memory_bytes()},
          {"valid", report.map.shares.valid},
          {"status", to_json(report.map.shares)}};
}

void tell(const PairJob& job, const std::vector<Device>& devices, const TileReport& report) {
  std::cerr << std::fixed << std::setprecision(1) << "matched " << text(job.plan().format.size) << " by "
            << job.head->search.method << " on " << text(devices) << " in " << job.tiles() << " tiles, "
            << (report.match_milliseconds + report.stitch_milliseconds) / 1000 << " s and "
            << memory_text(peak_memory_bytes()) << ", " << 100 * report.map.shares.valid
            << " % of pixels have a disparity\n";
  if (report.map.rows) std::cerr << describe_row_offsets(*report.map.rows);
}

}  // namespace

int match_in_tiles(const TiledMatch& request) {
  TiledPair named = request.pair;
  // The target of a link is replaced, not the link; the tiles lie beside it.
  named.output = behind_links(named.output);
  const PairRequest settled = settle_pair(named, false, true);
  const std::string folder = folder_of_tiles(settled);
  // Errors are found now rather than at the end.
  check_in_tiles(settled);
  if (!request.image.empty()) check_whole_map_fits(settled, "--image", "leave it out");
  if (!request.truth.path.empty()) check_whole_map_fits(settled, "--truth", "leave it out");
  check_output(request.image);
  check_output(request.rows_off);
  check_not_inside(request.truth.path, folder);
  read_truth(request.truth, named.input.left, settled.inputs.format.size);
  OutputFolders folders;
  folders.make(folder);
  const TileFolderLock lock(folder, TileFolderLock::Use::alone);
  check_nothing_foreign(folder);
  const JobFile file = open_job(settled, request.resume);
  const auto job = std::make_shared<const PairJob>(file.pair(0));
  const std::vector<Device>& devices = request.pair.search.devices;
  const TileReport report = match_and_stitch(job, devices, request.rows_off);
  const ordered_json finished = finish(request, report.map);
  remove_tile_folder(folder);
  if (request.json) {
    ordered_json json = job_json(*job, devices, report);
    if (report.map.rows) json["rows_off"] = row_offsets_json(*report.map.rows);
    json.update(finished);
    std::cout << json.dump(2) << "\n";
  } else {
    tell(*job, devices, report);
  }
  return done;
}

}  // namespace parallax::tool
