// SPDX-License-Identifier: Apache-2.0
// Semi-global matching on the CPU.

#include <algorithm>
#include <array>
#include <span>

#include "devices/cpu/tuning.h"
#include "matchers/host_plan.h"
#include "matchers/semi_global/cpu_costs.h"
#include "matchers/semi_global/cpu_passes.h"
#include "matchers/semi_global/cpu_paths.h"
#include "matchers/semi_global/cpu_winners.h"

namespace parallax::semi_global {
namespace {

class Cpu final : public host::Plan {
 public:
  Cpu(const SemiGlobalParameters& parameters, int threads, const ImageFormat& format)
      : host::Plan(parameters.refine, format.size,
                   data_cost::volume_labels(parameters.cost, parameters.disparities),
                   cpu::match_workers(threads, format.size)),
        model_(make_model(parameters)),
        parameters_(parameters),
        layout_(model_, size_),
        passes_(parameters),
        costs_(model_, layout_, kept_pixels(), format, workers_.slots()),
        paths_(model_, layout_, passes_, costs_, workers_.slots()),
        winners_(model_, layout_, checks_left_right_ && !matches_right(), workers_.slots()) {
    data_cost::check_reachable(model_, size_);
    judge_afterwards(parameters.min_confidence);
    plan_memory(parameters.row_tolerance > 0);
  }

 private:
  bool matches_right() const { return checks_left_right_ && parameters_.right_map == RightMap::match; }

  // Pixels whose costs a thread keeps: those of a tile; of a row, if there are two passes; and of a column.
  int kept_columns() const { return passes_.has_two() ? size_.width : layout_.tile_columns(); }
  int kept_pixels() const {
    return std::max(band_rows * kept_columns(),
                    passes_.has_columns() ? size_.height * layout_.tile_columns() : 0);
  }

  void reserve(Arena& arena) override {
    costs_.reserve(arena);
    passes_.reserve(layout_, arena);
    paths_.reserve(arena);
    winners_.reserve(arena);
  }

  void fill_memory() override { winners_.fill_memory(); }

  // The steps of semi-global matching. Data costs, path costs, their sums and winners are computed tile by
  // tile, in run_tile(). The left-right check and the refinement follow in host::Plan.
  void match(const StereoPair& pair, const DisparityMap& map, detail::StageClock& clock) override {
    costs_.prepare(pair, false, workers_);
    clock.finish("prepare");
    winners_.begin({&map, right_disparity_, costs_.status(), pair.right_mask});
    aggregate();
    winners_.finish(workers_);
    clock.finish("paths");
    if (!matches_right()) return;
    costs_.prepare(pair, true, workers_);
    clock.finish("right_prepare");
    winners_.begin({nullptr, right_disparity_, costs_.status(), pair.right_mask});
    aggregate();
    clock.finish("right_paths");
  }

  void aggregate() {
    const int rows = size_.height, middle = rows / 2;
    const bool adds = passes_.has_columns();
    for (const Sweep& sweep : passes_.sweeps)
      for (const Pass& pass : sweep.passes) pass.clear_lines();
    if (!passes_.has_volume()) return run_sweeps({{{0, rows, false, true}}});
    aggregate_columns();
    run_sweeps({{{0, middle, adds, false}, {0, rows - middle, adds, false}}});
    run_sweeps({{{middle, rows, true, true}, {rows - middle, rows, true, true}}});
  }

  void run_sweeps(const std::array<SweepTask, 2>& tasks) {
    const auto sweeps = passes_.sweeps.size();
    int count = 0;
    for (std::size_t s = 0; s < sweeps; ++s) {
      for (const Pass& pass : passes_.sweeps[s].passes) pass.progress.clear(Passes::bands(size_.height));
      count = std::max(count, Passes::bands(tasks[s].last - tasks[s].first));
    }
    for_bands(workers_, static_cast<int>(sweeps), count, [&](int s, int band, int slot) {
      run_band(passes_.sweeps[to_size(s)], tasks[to_size(s)], band, slot);
    });
  }

  void run_band(const Sweep& sweep, const SweepTask& task, int band, int slot) {
    const int first = task.first + band * band_rows, last = std::min(task.last, first + band_rows);
    for (int j = first; task.decides && j < last; ++j)
      winners_.begin_row({row_of(sweep, j), j - first, slot});
    for (std::size_t p = 0; first < last && p < sweep.passes.size(); ++p) {
      const Pass& pass = sweep.passes[p];
      paths_.begin_band(slot);
      const Band work{sweep, pass, task, p == 0, p + 1 == sweep.passes.size(), first, last, slot};
      for (int tile = 0; tile < layout_.tiles(); ++tile) {
        if (band > 0 && pass.waits()) pass.progress.wait(band - 1, std::min(layout_.tiles(), tile + 2));
        run_tile(work, tile);
        if (pass.waits()) pass.progress.tell(band, tile + 1);
      }
    }
    for (int j = first; task.decides && j < last; ++j)
      winners_.finish_row({row_of(sweep, j), j - first, slot});
  }

  int row_of(const Sweep& sweep, int j) const { return sweep.direction > 0 ? j : size_.height - 1 - j; }

  // Data costs, path costs and their sums, winners.
  void run_tile(const Band& band, int tile) {
    std::array<Segment, band_rows> all;
    const auto rows = to_size(band.last - band.first);
    for (std::size_t k = 0; k < rows; ++k) all[k] = segment_of(band, tile, static_cast<int>(k));
    const std::span segments = std::span(all).first(rows);
    if (band.is_first) costs_.find(segments, band.slot);
    if (!band.pass.waits()) return aggregate_paths(paths_.of(band, segments, 0));
    for (std::size_t k = 0; k < rows; ++k) {
      const Paths paths = paths_.of(band, segments.subspan(k, 1), static_cast<int>(k));
      if (band.decides())
        aggregate_and_decide(band, paths, {segments[k].y, static_cast<int>(k), band.slot});
      else
        aggregate_paths(paths);
    }
  }

  // A few pixels at a time, whose sums stay in the first-level cache.
  void aggregate_and_decide(const Band& band, Paths paths, const Winners::Row& at) {
    PathRow& row = paths.rows[0];
    const int last = row.last;
    while (row.first < last) {
      row.last = std::min(last, row.first + Winners::max_pixels);
      row.sums = winners_.sums(band.slot) - row.first * row.sum_step;
      aggregate_paths(paths);
      winners_.decide(at, band.pass.column(row.first, size_.width), band.pass.direction,
                      row.last - row.first);
      row.first = row.last;
    }
  }

  // The pixels of a tile in row k of a band: each row is a pixel behind the row before.
  Segment segment_of(const Band& band, int tile, int k) const {
    const int begin = std::clamp(tile * layout_.tile_columns() - k, 0, size_.width);
    const int end = std::clamp((tile + 1) * layout_.tile_columns() - k, 0, size_.width);
    const bool rightward = band.pass.direction > 0;
    const int first = rightward ? begin : size_.width - end, last = rightward ? end : size_.width - begin;
    return costs_.segment(row_of(band.sweep, band.first + k), first, last,
                          std::ptrdiff_t{k} * kept_columns() + (passes_.has_two() ? first : 0), band.slot);
  }

  // Each pass stores its sums of the first half of its columns, then adds to those of the other pass.
  void aggregate_columns() {
    for (const Pass& pass : passes_.columns) pass.clear_lines();
    const int middle = size_.width / 2;
    for (const bool adds : {false, true}) {
      if (!passes_.has_columns()) return;
      workers_.for_each(2, [&](int c, int slot) {
        const int half = c == 0 ? middle : size_.width - middle, last = adds ? size_.width : half;
        for (int j = adds ? half : 0; j < last; j += layout_.tile_columns())
          aggregate_columns(passes_.columns[to_size(c)], j, std::min(last, j + layout_.tile_columns()), adds,
                            slot);
      });
    }
  }

  // The columns [first, last), in the order of the pass.
  void aggregate_columns(const Pass& pass, int first, int last, bool adds, int slot) const {
    const int left = pass.direction > 0 ? first : size_.width - last;
    const auto segment = [&](int y) {
      return costs_.segment(y, left, left + last - first, std::ptrdiff_t{y} * layout_.tile_columns(), slot);
    };
    for (int y = 0; y < size_.height; y += band_rows) {
      std::array<Segment, band_rows> segments;
      const int rows = std::min(band_rows, size_.height - y);
      for (int k = 0; k < rows; ++k) segments[to_size(k)] = segment(y + k);
      costs_.find(std::span(segments).first(to_size(rows)), slot);
    }
    for (int j = first; j < last; ++j) aggregate_paths(paths_.of_column(pass, j, segment(0), adds, slot));
  }

  Model model_;
  SemiGlobalParameters parameters_;
  Layout layout_;
  Passes passes_;
  TileCosts costs_;
  PathRows paths_;
  Winners winners_;
};

}  // namespace

std::unique_ptr<detail::Plan> make_cpu(const SemiGlobalParameters& parameters, const Device& device,
                                       const ImageFormat& format) {
  return std::make_unique<Cpu>(parameters, device.threads, format);
}

}  // namespace parallax::semi_global
