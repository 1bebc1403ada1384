// SPDX-License-Identifier: Apache-2.0
// A pair larger than memory: planned, matched in processes, put together.

#include <chrono>
#include <filesystem>
#include <iomanip>
#include <iostream>

#include <nlohmann/json.hpp>

#include "tools/parallax/command_files.h"
#include "tools/parallax/file_errors.h"
#include "tools/parallax/memory.h"
#include "tools/parallax/method_options.h"
#include "tools/parallax/output_files.h"
#include "tools/parallax/pictures/colour.h"
#include "tools/parallax/tile_folder.h"
#include "tools/parallax/tile_results.h"
#include "tools/parallax/tile_stitch.h"
#include "tools/parallax/tile_workers.h"
#include "tools/parallax/truth.h"

namespace parallax::tool {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

std::string plan_path(const std::string& folder) {
  return (fs::path(folder) / "plan.json").string();
}

// The job of this match, whose plan lies in the folder of its tiles: a new one, or the one to go on with.
TileJob open_job(const TileRequest& request) {
  const std::string folder = request.folder(), path = plan_path(folder);
  std::error_code unknown;
  const bool left_over = fs::exists(path, unknown);
  if (left_over && !request.match.resume)
    throw Error(ErrorCategory::file, folder +
                                         " is left over from an interrupted match: go on with --resume, or "
                                         "remove the folder");
  if (left_over) {
    TileJob job = read_job(path);
    check_same_job(job, path, request);
    remove_maps(folder);
    return job;
  }
  // It may have been interrupted before there was a plan, or by its very end.
  const TileJob job = plan_job(request);
  write_job(job, path);
  return read_job(path);
}

std::vector<int> unfinished_tiles(const TileJob& job) {
  std::vector<int> numbers;
  for (const Tile& tile : job.plan.tiles)
    if (state_of(job, tile) != TileState::done) numbers.push_back(tile.number);
  return numbers;
}

class Progress {
 public:
  Progress(int reused, int count) : reused_(reused), count_(count) {}
  void show(int finished) const {
    const double seconds = milliseconds_since(begin_) / 1000;
    const int left = count_ - reused_ - finished;
    std::string what = "tile " + std::to_string(reused_ + finished) + " of " + std::to_string(count_);
    if (finished > 0) what += ", " + std::to_string(static_cast<int>(seconds / finished * left)) + " s left";
    show_progress(what, static_cast<double>(reused_ + finished) / count_);
  }

 private:
  int reused_, count_;
  Clock::time_point begin_ = Clock::now();
};

// \throws Error (file) that names tiles that could not be matched
void check_all_matched(const TileJob& job, const TileWork& work) {
  if (work.failed.empty()) return;
  std::vector<int> numbers;
  for (const FailedTile& tile : work.failed) numbers.push_back(tile.number);
  throw Error(ErrorCategory::file, (numbers.size() == 1 ? "tile " : "tiles ") + text_of_numbers(numbers) +
                                       " failed twice (" + work.failed.front().reason +
                                       "); the other tiles are in " + job.folder +
                                       ": go on with --resume once that is mended");
}

struct TileReport {
  int reused = 0;
  TileWork work;
  StitchedMap map;
  double match_milliseconds = 0, stitch_milliseconds = 0;
  std::size_t peak_memory_bytes = 0;
};

TileReport match_and_stitch(const TileJob& job) {
  TileReport report;
  report.peak_memory_bytes = peak_memory_bytes();
  forget_peak_memory();
  auto begin = Clock::now();
  const std::vector<int> tiles = unfinished_tiles(job);
  report.reused = job.count() - static_cast<int>(tiles.size());
  const Progress progress(report.reused, job.count());
  progress.show(0);
  report.work =
      match_in_processes(job, plan_path(job.folder), tiles, [&](int finished) { progress.show(finished); });
  show_progress("");
  report.match_milliseconds = milliseconds_since(begin);
  check_all_matched(job, report.work);
  report.peak_memory_bytes =
      std::max(report.peak_memory_bytes, peak_memory_bytes() + report.work.peak_memory_bytes);
  begin = Clock::now();
  report.map = stitch_tiles(job, plan_path(job.folder));
  report.stitch_milliseconds = milliseconds_since(begin);
  return report;
}

Truth read_truth(const TileRequest& request) {
  Truth truth(request.match.truth, request.match.truth_scale);
  truth.check_size(request.match.left, request.inputs.format.size);
  return truth;
}

// What is made of the map once it is there.
nlohmann::ordered_json finish(const TileRequest& settled, const StitchedMap& map) {
  const MatchRequest& request = settled.match;
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (request.image.empty() && request.truth.empty()) return json;
  const Plane<float> disparity = read_disparity(map.path);
  if (!request.image.empty()) write_output(request.image, encode_coloured(disparity.view()));
  if (!request.truth.empty()) {
    const ErrorMetrics error = read_truth(settled).compare(disparity.view());
    json["mismatches"] = error.mismatches;
    json["error"] = to_json(error);
  }
  return json;
}

nlohmann::ordered_json job_json(const TileJob& job, const TileReport& report) {
  const Size size = job.plan.format.size, tile = job.plan.tiles.front().around.size;
  return {{"method", job.request.method},
          {"device", job.plan.device.text()},
          {"size", {{"width", size.width}, {"height", size.height}}},
          {"disparities", job.request.parameters.disparities()},
          {"parameters", describe_parameters(job.request.parameters)},
          {"tiles",
           {{"count", job.count()},
            {"width", tile.width},
            {"height", tile.height},
            {"workers", job.workers},
            {"matched", report.work.matched},
            {"reused", report.reused},
            {"retried", report.work.retried}}},
          {"milliseconds",
           {{"total", report.match_milliseconds + report.stitch_milliseconds},
            {"match", report.match_milliseconds},
            {"stitch", report.stitch_milliseconds}}},
          {"memory_bytes", job.plan.tile_memory_bytes},
          {"max_memory_bytes", memory_limit(job.request)},
          {"peak_memory_bytes", report.peak_memory_bytes},
          {"valid", report.map.shares.valid},
          {"status", to_json(report.map.shares)}};
}

void tell(const TileJob& job, const TileReport& report) {
  std::cerr << std::fixed << std::setprecision(1) << "matched " << text(job.plan.format.size) << " by "
            << job.request.method << " on " << job.plan.device.text() << " in " << job.count() << " tiles, "
            << (report.match_milliseconds + report.stitch_milliseconds) / 1000 << " s and "
            << memory_text(report.peak_memory_bytes) << ", " << 100 * report.map.shares.valid
            << " % of pixels have a disparity\n";
}

}  // namespace

int match_by_tiles(const MatchRequest& request) {
  check_goes_in_tiles(request);
  const TileRequest settled = settle_request(request);
  // Found out now, and not in the end.
  check_output(request.image);
  if (!request.truth.empty()) read_truth(settled);
  OutputFolders folders;
  folders.make(settled.folder());
  const TileFolderLock lock(settled.folder(), TileFolderLock::Use::alone);
  check_nothing_foreign(settled.folder());
  const TileJob job = open_job(settled);
  TileReport report = match_and_stitch(job);
  const nlohmann::ordered_json finished = finish(settled, report.map);
  report.peak_memory_bytes = std::max(report.peak_memory_bytes, peak_memory_bytes());
  remove_tile_folder(job.folder);
  if (request.json) {
    nlohmann::ordered_json json = job_json(job, report);
    json.update(finished);
    std::cout << json.dump(2) << "\n";
  } else {
    tell(job, report);
  }
  return done;
}

}  // namespace parallax::tool
