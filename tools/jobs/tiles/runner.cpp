// SPDX-License-Identifier: Apache-2.0
#include "tools/jobs/tiles/runner.h"

#include <algorithm>

#include "parallax/matcher.h"

#include "tools/command/command_files.h"
#include "tools/command/output_files.h"
#include "tools/command/pipeline.h"
#include "tools/files/content_hash.h"
#include "tools/jobs/tiles/results.h"
#include "tools/match/match_plan.h"

namespace parallax::tool {
namespace {

void check_planned(const ImageFormat& format, const ImageFormat& planned, const std::string& path) {
  if (format != planned)
    throw Error(ErrorCategory::file, path + " is " + describe(format) + ", and was " + describe(planned) +
                                         " when the plan was made: make a new plan");
}

Device device_of(const PairCut& cut, const TileRun& run, const JobHead& head) {
  Device device = run.device.empty() ? Device::parse(head.search.device) : Device::parse(run.device);
  const int cores = static_cast<int>(pipeline_slots()) - 2;
  device.threads = run.threads > 0           ? run.threads
                   : head.search.threads > 0 ? head.search.threads
                                             : std::min(cores, cut.plan.device.threads);
  return device;
}

// Memory that a tile, or an untiled pair, may take on this device; 0 = what there is.
// \throws Error (memory) if the run allows less than was planned
std::size_t allowed_bytes(const PairCut& cut, const TileRun& run, const Device& device) {
  const Device& planned = cut.plan.device;
  if (run.max_memory == 0)
    return device.kind == planned.kind && device.threads <= planned.threads ? cut.plan.tile_memory_bytes : 0;
  const std::size_t needed =
      cut.process_bytes - std::min(cut.process_bytes, program_bytes(planned)) + program_bytes(device);
  if (needed > run.max_memory)
    throw Error(ErrorCategory::memory, "matching it needs " + memory_text(needed) + ", and " +
                                           memory_text(run.max_memory) +
                                           " are allowed: raise the limit, or plan with it");
  const std::size_t fixed =
      program_bytes(device) + cut.held_bytes * static_cast<std::size_t>(cut.untiled ? cut.at_once : 1);
  return (run.max_memory - fixed) / static_cast<std::size_t>(cut.untiled ? 1 : cut.at_once);
}

View<const std::uint8_t> mask_of(const Picture& picture) {
  const ImageView& view = picture.view();
  return {static_cast<const std::uint8_t*>(view.data), view.format.size, view.stride_bytes};
}

}  // namespace

struct TileRunner::Item {
  TileOutcome outcome;
  Clock::time_point begin;
  std::array<Picture, 4> pictures;  // pictures of PairJob::files
  Result result;                    // as large as what a tile is matched from

  const PairCut& cut() const { return *outcome.job->cut; }
  StereoPair pair() const {
    StereoPair pair{pictures[0].view(), pictures[1].view(), mask_of(pictures[2]), mask_of(pictures[3])};
    if (!pictures[0].mask().empty()) pair.left_mask = pictures[0].mask();
    if (!pictures[1].mask().empty()) pair.right_mask = pictures[1].mask();
    return pair;
  }
  // Adds masks of files to those of their pictures.
  void add_masks() {
    for (std::size_t i = 0; i < 2; ++i)
      if (!pictures[i].mask().empty() && !pictures[i + 2].empty())
        pictures[i].add_to_mask(mask_of(pictures[i + 2]));
  }
  // The part of the map that the tile decides.
  DisparityMap map() {
    const Size size = outcome.tile->inside.size;
    DisparityMap map = result.map();
    map.disparity.size = map.status.size = size;
    if (cut().plan.row_offsets) map.row_offset.size = size;
    return map;
  }
};

// The pictures of a pair whose tiles are read one after the other.
class TileRunner::OpenPair {
 public:
  OpenPair(const PairJob& job, bool verify) : number_(job.number) {
    job.check_inputs(verify);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const std::string& path = job.files[i].path;
      if (path.empty()) continue;
      // Decoded before the matcher is made: opening takes more memory than reading.
      parts_[i].emplace(path, i < 2 ? job.options() : PictureOptions{}).decode();
    }
    for (std::size_t i = 0; i < 2; ++i)
      check_planned(parts_[i]->format(), job.plan().format, job.files[i].path);
    const ValueRange range = value_range(*parts_[0], *parts_[1]);
    for (std::size_t i = 0; i < 2; ++i) parts_[i]->stretch_from(range);
  }

  int number() const { return number_; }
  void read(Item& item) {
    const Rectangle& around = item.outcome.tile->around;
    for (std::size_t i = 0; i < parts_.size(); ++i)
      if (parts_[i]) parts_[i]->read(around, item.pictures[i]);
    item.add_masks();
  }

 private:
  int number_;
  std::array<std::optional<PictureParts>, 4> parts_;  // parts of PairJob::files
};

// A matcher for tiles of one cut, or for pairs of one size.
class TileRunner::Engine {
 public:
  void run(Item& item, const TileRun& run) {
    if (cut_ != item.outcome.job->cut) plan(item.outcome, run);
    item.outcome.device = device_;
    try {
      if (tiles_)
        tiles_->run(*item.outcome.tile, item.pair(), item.map());
      else
        untiled_->run(item.pair(), item.map());
    } catch (...) {
      // A device that failed may be used again only by a new matcher.
      cut_.reset();
      throw;
    }
  }

 private:
  void plan(const TileOutcome& outcome, const TileRun& run) {
    const PairCut& cut = *outcome.job->cut;
    cut_.reset();
    tiles_.reset();
    untiled_.reset();
    const Device device = device_of(cut, run, *outcome.job->head);
    device_ = device.text();
    const std::size_t allowed = allowed_bytes(cut, run, device);
    const CompilationNotice notice;
    if (cut.untiled) {
      untiled_.emplace(cut.plan.parameters, device, cut.plan.format,
                       PlanOptions{allowed, cut.plan.configuration});
    } else {
      TilePlan plan = cut.plan;
      plan.device = device;
      plan.tile_memory_bytes = allowed;
      tiles_.emplace(plan);
    }
    cut_ = outcome.job->cut;
  }

  std::shared_ptr<const PairCut> cut_;  // cut of the matcher; null = none
  std::optional<TileMatcher> tiles_;
  std::optional<Matcher> untiled_;
  std::string device_;
};

TileRunner::TileRunner(const TileRun& run, int at_once, bool one_matcher) : run_(run) {
  for (int i = 0; i < at_once; ++i) items_.push_back(std::make_unique<Item>());
  for (int i = 0; i < (one_matcher ? 1 : at_once); ++i) engines_.push_back(std::make_unique<Engine>());
}

TileRunner::~TileRunner() = default;

void TileRunner::run(const std::function<Next()>& next, const std::function<void(const TileOutcome&)>& done) {
  const auto take = [&](std::size_t slot) {
    Item& item = *items_[slot];
    const Next tile = next();
    item.outcome = {};
    item.outcome.job = tile.job;
    item.outcome.tile = tile.tile;
    item.outcome.start = time_text();
    item.begin = Clock::now();
    return tile.job != nullptr;
  };
  // What fails is the tile, not the others.
  const auto stage = [&](bool one_at_a_time, auto body) {
    return PipelineStage{one_at_a_time, [this, body](std::size_t slot) {
                           Item& item = *items_[slot];
                           if (item.outcome.failure) return;
                           try {
                             body(item, *engines_[slot % engines_.size()]);
                           } catch (...) {
                             item.outcome.failure = current_failure();
                           }
                         }};
  };
  Clock::time_point last_end;
  const auto finish = [&](std::size_t slot) {
    Item& item = *items_[slot];
    item.outcome.milliseconds = milliseconds_since(std::max(item.begin, last_end));
    last_end = Clock::now();
    if (pool_) notice_.tell(pool_->lost_devices());
    done(item.outcome);
  };
  run_pipeline(items_.size(), take,
               {stage(false, [this](Item& item, Engine&) { read(item); }),
                stage(engines_.size() == 1 && run_.devices.size() < 2,
                      [this](Item& item, Engine& engine) { match(item, engine); }),
                stage(false, [this](Item& item, Engine&) { write(item); }), PipelineStage{true, finish}});
}

void TileRunner::read(Item& item) {
  const PairJob& job = *item.outcome.job;
  if (item.cut().untiled) {
    job.check_names();
    job.check_inputs(run_.verify);
    for (std::size_t i = 0; i < job.files.size(); ++i) {
      const std::string& path = job.files[i].path;
      item.pictures[i] =
          path.empty() ? Picture() : read_picture(path, i < 2 ? job.options() : PictureOptions{});
    }
    const PicturePair pair = with_expected_values({item.pictures[0], item.pictures[1]});
    item.pictures[0] = pair.left;
    item.pictures[1] = pair.right;
    item.add_masks();
    for (std::size_t i = 0; i < 2; ++i)
      check_planned(item.pictures[i].view().format, job.plan().format, job.files[i].path);
    return;
  }
  const std::lock_guard lock(opening_);
  if (open_ == nullptr || open_->number() != job.number) {
    open_.reset();
    open_ = std::make_unique<OpenPair>(job, run_.verify);
  }
  open_->read(item);
}

void TileRunner::match(Item& item, Engine& engine) {
  const Size size = item.outcome.tile->around.size;
  const bool has_row_offset = item.cut().plan.row_offsets;
  if (item.result.disparity.size() != size || (item.result.row_offset.width() > 0) != has_row_offset)
    item.result = Result(size, false, has_row_offset);
  if (run_.devices.size() > 1)
    match_in_pool(item);
  else
    engine.run(item, run_);
}

void TileRunner::match_in_pool(Item& item) {
  TilePool& pool = pool_of(*item.outcome.job);
  try {
    item.outcome.device = pool.wait(pool.submit(*item.outcome.tile, item.pair(), item.map())).device.text();
  } catch (const PairError& error) {
    throw Error(error.category(), error.reason(), error.is_transient());
  }
}

TilePool& TileRunner::pool_of(const PairJob& job) {
  const std::lock_guard lock(planning_);
  if (!pool_) {
    TilePlan plan = job.plan();
    // Planned for the first device: others may need more, unless the user limits them.
    if (job.head->search.max_memory == 0) plan.tile_memory_bytes = 0;
    pool_.emplace(plan, run_.devices);
  }
  return *pool_;
}

void TileRunner::write(Item& item) {
  const PairJob& job = *item.outcome.job;
  const DisparityMap map = item.map();
  if (!item.cut().untiled) return write_tile(job, *item.outcome.tile, map);
  const std::vector<std::byte> bytes = encode_disparity(job.output, map.disparity);
  make_folder_of(job.output);
  write_output(job.output, bytes);
  item.outcome.output_bytes = bytes.size();
  item.outcome.output_hash = content_hash(bytes);
}

}  // namespace parallax::tool
