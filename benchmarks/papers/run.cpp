// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/papers/run.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>

#include "parallax/tiles.h"

#include "benchmarks/common.h"
#include "tools/command/command.h"
#include "tools/command/forced.h"

namespace parallax::tool {
namespace {

// Memory limit for the plans of one group on processors; a single plan may exceed it. On a GPU, plans fail by
// themselves if there is no room.
constexpr std::size_t max_memory_bytes = std::size_t{4} << 30;

// The value of Grauer-Gray & Cavazos.
constexpr int tile_padding = 20;

// The smallest tile length with which `tiles` tiles cover an extent.
int tile_length(int extent, int tiles, int before, int after, int alignment) {
  const int overlap = before + after + alignment - 1;
  return std::min(extent, (extent + (tiles - 1) * overlap + tiles - 1) / tiles + alignment);
}

TilePlan plan_of_tiles(const MatcherParameters& parameters, const Device& device, const ImageFormat& format,
                       const PlanOptions& limits, Size tiles) {
  const Margins around = margins(parameters, format, tile_padding);
  const Size largest{
      tile_length(format.size.width, tiles.width, around.left, around.right, around.alignment),
      tile_length(format.size.height, tiles.height, around.top, around.bottom, around.alignment)};
  return plan_tiles(parameters, device, format, limits, {tile_padding, largest});
}

template <class T>
View<T> part_of(const View<T>& view, const Rectangle& part) {
  return {view.row(part.y) + part.x, part.size, view.stride_bytes};
}

// Matches the tiles one after another.
class TiledMatcher {
 public:
  explicit TiledMatcher(TilePlan plan) : plan_(std::move(plan)), matcher_(plan_) {}

  std::size_t memory_bytes() const { return plan_.tile_memory_bytes; }

  void run(const PapersImages& images, const DisparityMap& map) {
    for (const Tile& tile : plan_.tiles)
      matcher_.run(tile,
                   {part_of(images.left.view(), tile.around), part_of(images.right.view(), tile.around)},
                   {part_of(map.disparity, tile.inside), part_of(map.status, tile.inside)});
  }

 private:
  TilePlan plan_;
  TileMatcher matcher_;
};

// A row that is being measured.
class Trial {
 public:
  Trial(PapersRow& row, const Device& device, const PapersImages& images, Result& map)
      : row_(row), device_(device), images_(images), map_(map), parameters_(row.step->parameters) {
    parameters_.disparities() = row.group->disparities;
  }

  bool on_processor() const {
    return device_.kind == DeviceKind::cpu || device_.kind == DeviceKind::reference;
  }

  std::size_t memory_needed() const {
    const Forced forced(*row_.step);
    return estimate_memory_bytes(parameters_, device_, format(), row_.step->configuration);
  }

  void plan() {
    const Forced forced(*row_.step);
    if (row_.step->way == Way::in_tiles)
      tiles_ = std::make_unique<TiledMatcher>(
          plan_of_tiles(parameters_, device_, format(), {0, row_.step->configuration}, row_.group->tiles));
    else
      matcher_ =
          std::make_unique<Matcher>(parameters_, device_, format(), PlanOptions{0, row_.step->configuration});
  }

  // The first run determines the number of further runs.
  void warm_up(double seconds) {
    sample();
    // A device may compile kernels in its first run.
    if (!on_processor()) sample();
    Figure figure;
    figure.memory_bytes = tiles_ ? tiles_->memory_bytes() : matcher_->memory_bytes();
    figure.error = evaluate(map_.disparity.view(), images_.truth.view());
    row_.figure = figure;
    milliseconds_ = {milliseconds_.back()};
    matching_ = {matching_.back()};
    const double once = milliseconds_[0] / 1e3;
    // A match that takes longer than `patience` is run only once.
    constexpr double patience = 5, most = 100, least = 3;
    if (once > patience * seconds) return;
    samples_ = static_cast<int>(std::clamp(seconds / once, least, most));
    milliseconds_.clear();
    matching_.clear();
  }

  int samples() const { return samples_; }

  void sample() {
    const Forced forced(*row_.step);
    milliseconds_.push_back(benchmarks::milliseconds([&] {
      if (row_.step->way == Way::planned_for_each_pair) {
        matcher_.reset();
        plan();
      }
      if (tiles_)
        tiles_->run(images_, map_.map());
      else
        matcher_->run(images_.views(), map_.map());
    }));
    matching_.push_back(milliseconds_.back() - copies());
  }

  void finish() {
    row_.figure->milliseconds = median(milliseconds_);
    row_.figure->matching = median(matching_);
    row_.figure->samples = static_cast<int>(milliseconds_.size());
  }

 private:
  // Settings that a step needs in the whole process.
  struct Forced {
    explicit Forced(const Step& step) : tuning(step.tuned), target(step.scalar ? cpu_targets().back() : "") {}
    ForcedTuning tuning;
    ForcedTarget target;
  };

  ImageFormat format() const { return {images_.left.size()}; }

  // The copies of the last run; those of tiles are not told apart.
  double copies() const {
    double milliseconds = 0;
    for (const StageTime& stage : matcher_ ? matcher_->stage_times() : std::vector<StageTime>())
      if (is_copy(stage.stage)) milliseconds += stage.milliseconds;
    return milliseconds;
  }

  PapersRow& row_;
  Device device_;
  const PapersImages& images_;
  Result& map_;
  MatcherParameters parameters_;
  std::unique_ptr<Matcher> matcher_;
  std::unique_ptr<TiledMatcher> tiles_;
  std::vector<double> milliseconds_, matching_;
  int samples_ = 0;
};

// The rows of a group, measured together as far as memory allows.
class GroupRun {
 public:
  GroupRun(const PapersImages& images, const PapersRun& run)
      : images_(images), run_(run), map_(images.left.size()) {}

  void add(PapersRow& row, const Device& device) {
    run_.progress(row.group->name + ", " + row.step->name + ", " + row.device);
    auto trial = std::make_unique<Trial>(row, device, images_, map_);
    row.why_none = plan(*trial);
    if (!row.why_none.empty()) return;
    trial->warm_up(run_.seconds_per_row);
    trials_.push_back(std::move(trial));
  }

  // The samples of all rows are spread evenly over the rounds.
  void finish() {
    int rounds = 0;
    for (const auto& trial : trials_) rounds = std::max(rounds, trial->samples());
    for (int round = 0; round < rounds; ++round)
      for (const auto& trial : trials_)
        if (trial->samples() * round / rounds != trial->samples() * (round + 1) / rounds) trial->sample();
    for (const auto& trial : trials_) trial->finish();
    trials_.clear();
    memory_bytes_ = 0;
  }

 private:
  // The reason why there is no plan; empty = there is one. Earlier plans are released if memory is short.
  std::string plan(Trial& trial) {
    try {
      const std::size_t needed = trial.on_processor() ? trial.memory_needed() : 0;
      if (memory_bytes_ + needed > max_memory_bytes) finish();
      trial.plan();
      memory_bytes_ += needed;
      return "";
    } catch (const Error& error) {
      const bool memory = error.category() == ErrorCategory::memory;
      if (!memory && error.category() != ErrorCategory::device) throw;
      if (!memory || trials_.empty()) return error.what();
    }
    finish();
    return plan(trial);
  }

  const PapersImages& images_;
  const PapersRun& run_;
  Result map_;
  std::vector<std::unique_ptr<Trial>> trials_;
  std::size_t memory_bytes_ = 0;
};

// A step without a device also gets a row.
std::vector<PapersRow> rows_of(const PapersTable& table, const PapersRun& run) {
  std::vector<PapersRow> rows;
  for (const Group& group : table.groups) {
    for (const Step& step : group.steps) {
      const std::size_t before = rows.size();
      for (const Device& device : run.devices)
        if (device.kind == step.device) rows.push_back({&group, &step, device.text(), {}, ""});
      const std::string kind = name(step.device);
      if (rows.size() == before) rows.push_back({&group, &step, kind, {}, "no " + kind + " device"});
    }
  }
  return rows;
}

// The row of this name on the same device, or else on a device of its kind, or else on any.
const PapersRow* find_over(const std::vector<PapersRow>& rows, const PapersRow& row) {
  const PapersRow* found = nullptr;
  const auto closeness = [&](const PapersRow& other) {
    return other.step->device != row.step->device ? 1 : other.device != row.device ? 2 : 3;
  };
  for (const PapersRow& other : rows) {
    if (other.group != row.group || other.step->name != row.step->over) continue;
    if (!found || closeness(other) > closeness(*found)) found = &other;
  }
  return found;
}

void measure_group(std::vector<PapersRow>& rows, const Group& group, const PapersData& data,
                   const PapersRun& run) {
  const std::string absent = data.why_absent(group.pair);
  std::vector<PapersRow*> wanted;
  for (PapersRow& row : rows) {
    if (row.group != &group || !row.why_none.empty()) continue;
    row.why_none = absent;
    wanted.push_back(&row);
  }
  if (wanted.empty() || !absent.empty()) return;
  const PapersImages images = data.load(group.pair);
  GroupRun group_run(images, run);
  for (PapersRow* row : wanted) {
    Device device = Device::parse(row->device);
    device.threads = row->step->threads != 0 ? row->step->threads : run.threads;
    group_run.add(*row, device);
  }
  group_run.finish();
}

}  // namespace

std::vector<Device> devices_of_this_machine() {
  std::vector<Device> devices;
  for (const DeviceDescription& entry : list_devices()) {
    const Device device = Device::parse(entry.device);
    const auto same = [&](const Device& other) { return other.kind == device.kind; };
    if (std::none_of(devices.begin(), devices.end(), same)) devices.push_back(device);
  }
  return devices;
}

std::vector<PapersRow> measure(const PapersTable& table, const PapersData& data, const PapersRun& run) {
  std::vector<PapersRow> rows = rows_of(table, run);
  for (PapersRow& row : rows) row.over = row.step->over.empty() ? nullptr : find_over(rows, row);
  for (const Group& group : table.groups) measure_group(rows, group, data, run);
  run.progress("");
  return rows;
}

std::optional<double> speed_up(const PapersTable& table, const PapersRow& row) {
  if (!row.over || !row.figure || !row.over->figure) return {};
  const auto time = [&](const PapersRow& of) {
    return table.with_copies ? of.figure->milliseconds : of.figure->matching;
  };
  return time(*row.over) / time(row);
}

std::optional<double> published_speed_up(const PapersTable& table, const PapersRow& row) {
  const Published& own = row.step->published;
  if (own.speed_up || !row.over || !own.value || !row.over->step->published.value) return own.speed_up;
  const double ratio = *row.over->step->published.value / *own.value;
  return table.unit == Unit::milliseconds ? ratio : 1 / ratio;
}

}  // namespace parallax::tool
