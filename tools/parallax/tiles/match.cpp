// SPDX-License-Identifier: Apache-2.0
// Matches tiles: all tiles of a pair larger than memory, from plan to map; or, for an external scheduler,
// single ones: 'parallax match --plan FILE --tile K'.

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iomanip>
#include <iostream>
#include <optional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/parallax/file_errors.h"
#include "tools/parallax/memory.h"
#include "tools/parallax/options.h"
#include "tools/parallax/output_files.h"
#include "tools/parallax/pictures/colour.h"
#include "tools/parallax/pipeline.h"
#include "tools/parallax/tiles/folder.h"
#include "tools/parallax/tiles/merge.h"
#include "tools/parallax/tiles/plan.h"

namespace parallax::tool {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using nlohmann::ordered_json;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// Matches tiles of a job.
class TileRunner {
 public:
  // Keeps `at_once` tiles in flight, each with its own matcher: some are matched while others are read or
  // written.
  TileRunner(const TileJob& job, int at_once)
      : job_(job),
        left_(job.request.left),
        right_(job.request.right),
        left_mask_(job.request.left_mask),
        right_mask_(job.request.right_mask) {
    for (int i = 0; i < at_once; ++i) items_.emplace_back(job.plan);
  }

  // `next` returns the next tile or null; `done` is called for each tile that is on disk.
  // \throws Error naming the tile that fails, and whatever `next` throws
  void run(const std::function<const Tile*()>& next,
           const std::function<void(const Tile& tile, double milliseconds)>& done) {
    const auto take = [&](std::size_t slot) {
      items_[slot].tile = next();
      items_[slot].begin = Clock::now();
      return items_[slot].tile != nullptr;
    };
    const auto finish = [&](Item& item) {
      write_tile(job_, *item.tile, item.map().disparity, item.map().status);
      done(*item.tile, milliseconds_since(item.begin));
    };
    run_pipeline(items_.size(), take,
                 {stage(true, [this](Item& item) { read(item); }),
                  stage(false, [this](Item& item) { match(item); }), stage(true, finish)});
  }

 private:
  struct Item {
    explicit Item(const TilePlan& plan)
        : matcher(plan), disparity(plan.tiles.front().around.size), status(disparity.size()) {}

    // As large as what the tile decides.
    DisparityMap map() {
      const Size size = tile->inside.size;
      return {{disparity.row(0), size, disparity.view().stride_bytes},
              {status.row(0), size, status.view().stride_bytes}};
    }

    TileMatcher matcher;
    const Tile* tile = nullptr;
    Clock::time_point begin;
    Picture left, right, left_mask, right_mask;
    Plane<float> disparity;  // of any tile
    Plane<std::uint8_t> status;
  };

  // A picture, where there is one.
  class Input {
   public:
    explicit Input(const std::string& path) {
      if (path.empty()) return;
      parts_.emplace(path);
      // Before the matcher is made: opening takes more memory than reading.
      parts_->decode();
    }
    void read(const Rectangle& region, Picture& part) {
      if (parts_) parts_->read(region, part);
    }

   private:
    std::optional<PictureParts> parts_;
  };

  template <class Body>
  PipelineStage stage(bool one_at_a_time, Body body) {
    return {one_at_a_time, [this, body](std::size_t slot) {
              Item& item = items_[slot];
              try {
                body(item);
              } catch (const Error& error) {
                throw Error(error.category(),
                            "tile " + std::to_string(item.tile->number) + ": " + error.what(),
                            error.may_pass());
              }
            }};
  }

  void read(Item& item) {
    const Rectangle& around = item.tile->around;
    left_.read(around, item.left);
    right_.read(around, item.right);
    left_mask_.read(around, item.left_mask);
    right_mask_.read(around, item.right_mask);
  }

  void match(Item& item) {
    const auto mask = [](const Picture& picture) -> View<const std::uint8_t> {
      const ImageView& view = picture.view();
      return {static_cast<const std::uint8_t*>(view.data), view.format.size, view.stride_bytes};
    };
    item.matcher.run(*item.tile,
                     {item.left.view(), item.right.view(), mask(item.left_mask), mask(item.right_mask)},
                     item.map());
  }

  const TileJob& job_;
  Input left_, right_, left_mask_, right_mask_;
  std::vector<Item> items_;
};

std::string plan_path(const std::string& folder) {
  return (fs::path(folder) / "plan.json").string();
}

// The job of this match, stored in the folder of its tiles: a new one, or the one to resume.
TileJob open_job(const TileRequest& request) {
  const std::string folder = request.folder(), path = plan_path(folder);
  std::error_code unknown;
  if (fs::exists(path, unknown)) {
    if (!request.match.resume)
      throw Error(ErrorCategory::file, folder +
                                           " is left over from an interrupted match: continue with --resume, "
                                           "or remove the folder");
    TileJob job = read_job(path);
    check_same_job(job, path, request.match, request.inputs.format);
    remove_maps(folder);
    return job;
  }
  // No plan: the match is new, or was interrupted before its plan was written or at its very end.
  write_job(plan_job(request), path);
  return read_job(path);
}

struct TileReport {
  int matched = 0, reused = 0;
  StitchedMap map;
  double match_milliseconds = 0, stitch_milliseconds = 0;
};

// Matches the tiles that are not done.
void match_tiles(const TileJob& job, TileReport& report) {
  std::vector<const Tile*> tiles;
  for (const Tile& tile : job.plan.tiles)
    if (state_of(job, tile) != TileState::done) tiles.push_back(&tile);
  report.reused = job.count() - static_cast<int>(tiles.size());
  if (tiles.empty()) return;
  const Clock::time_point begin = Clock::now();
  const auto show = [&] {
    const int finished = report.reused + report.matched, left = job.count() - finished;
    std::string what = "tile " + std::to_string(finished) + " of " + std::to_string(job.count());
    if (report.matched > 0)
      what += ", " +
              std::to_string(static_cast<int>(milliseconds_since(begin) / 1000 / report.matched * left)) +
              " s left";
    show_progress(what, static_cast<double>(finished) / job.count());
  };
  show();
  auto next = tiles.begin();
  try {
    TileRunner(job, std::min(job.at_once, static_cast<int>(tiles.size())))
        .run([&]() -> const Tile* { return next == tiles.end() ? nullptr : *next++; },
             [&](const Tile&, double) {
               ++report.matched;
               show();
             });
  } catch (const Error& error) {
    show_progress("");
    throw Error(error.category(),
                std::string(error.what()) + "; finished tiles are in " + job.folder +
                    ": continue with --resume once that is fixed",
                error.may_pass());
  }
  show_progress("");
}

TileReport match_and_stitch(const TileJob& job) {
  TileReport report;
  auto begin = Clock::now();
  match_tiles(job, report);
  report.match_milliseconds = milliseconds_since(begin);
  begin = Clock::now();
  report.map = stitch_tiles(job, plan_path(job.folder));
  report.stitch_milliseconds = milliseconds_since(begin);
  return report;
}

// Makes the outputs that need the finished map, and their part of the --json report.
ordered_json finish(const MatchRequest& request, const StitchedMap& map) {
  ordered_json json = ordered_json::object();
  if (request.image.empty() && request.truth.empty()) return json;
  const Plane<float> disparity = read_disparity(map.path);
  if (!request.image.empty()) write_output(request.image, encode_coloured(disparity.view()));
  if (const std::optional<Truth> truth = read_truth(request, disparity.size()))
    add_errors(*truth, disparity.view(), json);
  return json;
}

ordered_json job_json(const TileJob& job, const TileReport& report) {
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
            {"at_once", job.at_once},
            {"matched", report.matched},
            {"reused", report.reused}}},
          {"milliseconds",
           {{"total", report.match_milliseconds + report.stitch_milliseconds},
            {"match", report.match_milliseconds},
            {"stitch", report.stitch_milliseconds}}},
          {"memory_bytes", job.plan.tile_memory_bytes},
          {"max_memory_bytes", memory_limit(job.request)},
          {"peak_memory_bytes", peak_memory_bytes()},
          {"valid", report.map.shares.valid},
          {"status", to_json(report.map.shares)}};
}

void tell(const TileJob& job, const TileReport& report) {
  std::cerr << std::fixed << std::setprecision(1) << "matched " << text(job.plan.format.size) << " by "
            << job.request.method << " on " << job.plan.device.text() << " in " << job.count() << " tiles, "
            << (report.match_milliseconds + report.stitch_milliseconds) / 1000 << " s and "
            << memory_text(peak_memory_bytes()) << ", " << 100 * report.map.shares.valid
            << " % of pixels have a disparity\n";
}

const Tile& find_tile(const TileJob& job, const std::string& text) {
  int number = -1;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || rest != end || number < 0 || number >= job.count())
    throw UsageError("--tile is '" + text + "': this plan has tiles 0 to " + std::to_string(job.count() - 1) +
                     "; - reads numbers from standard input");
  return job.plan.tiles[static_cast<std::size_t>(number)];
}

}  // namespace

int match_by_tiles(const MatchRequest& request) {
  const TileRequest settled = settle_request(request);
  // Errors are found now rather than at the end.
  check_output(request.image);
  read_truth(request, settled.inputs.format.size);
  OutputFolders folders;
  folders.make(settled.folder());
  const TileFolderLock lock(settled.folder(), TileFolderLock::Use::alone);
  check_nothing_foreign(settled.folder());
  const TileJob job = open_job(settled);
  const TileReport report = match_and_stitch(job);
  const ordered_json finished = finish(settled.match, report.map);
  remove_tile_folder(job.folder);
  if (request.json) {
    ordered_json json = job_json(job, report);
    json.update(finished);
    std::cout << json.dump(2) << "\n";
  } else {
    tell(job, report);
  }
  return done;
}

int match_planned_tiles(const Arguments& arguments) {
  std::string path, number;
  Options options("match", "Match tiles of a plan, with the method and options that it records.");
  options.add("--plan FILE", path, "Plan written by 'parallax plan'").required();
  options
      .add("--tile N", number,
           "Number of a tile, or - to read numbers from standard input, one per line; each tile written is "
           "reported as a line of JSON")
      .required();
  options.read(arguments);

  const TileJob job = read_job(path);
  check_inputs_unchanged(job, path);
  const Tile* single = number == "-" ? nullptr : &find_tile(job, number);
  OutputFolders folders;
  folders.make(job.folder);
  const TileFolderLock lock(job.folder, TileFolderLock::Use::shared);
  const auto next = [&]() -> const Tile* {
    if (number != "-") return std::exchange(single, nullptr);
    // Stops if the reader of standard output is gone.
    std::string line;
    return std::cout && std::getline(std::cin, line) ? &find_tile(job, line) : nullptr;
  };
  // One at a time: the scheduler may wait for the answer before it sends the next number.
  TileRunner(job, 1).run(next, [](const Tile& tile, double milliseconds) {
    const ordered_json answer{
        {"tile", tile.number}, {"milliseconds", milliseconds}, {"peak_memory_bytes", peak_memory_bytes()}};
    std::cout << answer.dump() << std::endl;
  });
  return done;
}

}  // namespace parallax::tool
