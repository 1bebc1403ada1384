// SPDX-License-Identifier: Apache-2.0
// Semi-global matching on the CPU.
//
// A sweep goes through the rows once, downwards or upwards, and follows all paths that come from the row before it or
// along the row. With 4 or 8 paths there are two sweeps: each stores its sums of the first half of the rows that it visits,
// then adds to those that the other one has stored, and decides. So there is one volume of sums; with 5 paths, none.
//
// Threads take bands of a few rows. In a band, a pass goes through the pixels of all its rows in one direction, tile by
// tile; tiles are skewed, because a path may come from the pixel above and ahead. A pass waits until the same pass of the
// band before is two tiles ahead.

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "matchers/host_plan.h"
#include "matchers/semi_global/cpu_costs.h"
#include "matchers/semi_global/cpu_kernels.h"
#include "matchers/semi_global/cpu_layout.h"
#include "matchers/semi_global/cpu_paths.h"
#include "matchers/semi_global/cpu_schedule.h"
#include "matchers/semi_global/cpu_winners.h"
#include "matchers/semi_global/semi_global.h"

namespace parallax::semi_global {
namespace {

// Paths that visit the pixels in the same order.
struct Pass {
  int direction;  // 1, or −1 from right to left
  Bundle bundle;
  std::array<LineMemory, 2> lines = {};  // rows use them in turn
  Progress progress = {};

  BundleForm form() const { return form_of(bundle); }
  bool waits() const { return bundle != Bundle::before; }
};

struct Sweep {
  int direction;  // 1, or −1 upwards
  std::vector<Pass> passes;
};

std::vector<Sweep> sweeps_of(const SemiGlobalParameters& parameters) {
  const bool all = parameters.paths == 8;
  if (parameters.aggregation == Aggregation::mgm) {
    const Bundle rightward = all ? Bundle::corner_and_sides : Bundle::corner;
    return {{1, {{-1, Bundle::corner}, {1, rightward}}}, {-1, {{-1, Bundle::corner}, {1, rightward}}}};
  }
  if (parameters.paths == 5) return {{1, {{-1, Bundle::before}, {1, Bundle::star}}}};
  const Bundle bundle = all ? Bundle::star : Bundle::cross;
  return {{1, {{1, bundle}}}, {-1, {{-1, bundle}}}};
}

// Passes through the columns, for MGM's paths from two pixels of the column before.
std::vector<Pass> column_passes_of(const SemiGlobalParameters& parameters) {
  if (parameters.aggregation != Aggregation::mgm || parameters.paths != 8) return {};
  return {{1, Bundle::sides}, {-1, Bundle::sides}};
}

// What a sweep does with the sums of its rows.
struct Task {
  int first, last;  // rows, in the order of the sweep
  bool adds;        // to the sums in the volume
  bool decides;     // instead of storing the sums
};

// A pass over the rows of a band.
struct Band {
  const Sweep& sweep;
  const Pass& pass;
  const Task& task;
  bool is_first, is_last;  // of the passes
  int first, last;         // rows, in the order of the sweep
  int slot;

  bool decides() const { return is_last && task.decides; }
};

class Cpu final : public host::Plan {
 public:
  Cpu(const SemiGlobalParameters& parameters, int threads, const ImageFormat& format)
      : host::Plan(parameters.refine, format.size,
                   data_cost::volume_labels(parameters.cost, parameters.disparities), Workers(threads)),
        model_(make_model(parameters)),
        parameters_(parameters),
        layout_(model_, size_),
        sweeps_(sweeps_of(parameters)),
        columns_(column_passes_of(parameters)),
        costs_(model_, layout_, kept_pixels(), format, workers_.slots()),
        large_jumps_(model_),
        winners_(model_, layout_, checks_left_right_ && !matches_right(), workers_.slots()),
        scratch_(static_cast<std::size_t>(workers_.slots())) {
    data_cost::check_reachable(model_, size_);
    plan_memory(parameters.row_tolerance > 0);
  }

 private:
  // Memory of a thread.
  struct Scratch {
    std::byte* transitions;  // T of the first of two passes
    std::array<std::uint16_t*, max_paths> large_jumps;
    std::array<LineMemory, band_rows> last_two;  // path costs of the last two pixels of each row
  };
  const Scratch& scratch(int slot) const { return scratch_[static_cast<std::size_t>(slot)]; }

  bool matches_right() const { return checks_left_right_ && parameters_.right_map == RightMap::match; }
  bool has_volume() const { return sweeps_.size() > 1; }
  bool has_columns() const { return !columns_.empty(); }
  bool has_two_passes() const { return sweeps_[0].passes.size() > 1; }
  int bands(int rows) const { return divide_round_up(rows, band_rows); }

  // Pixels whose costs a thread keeps: those of a tile; of a row, if there are two passes; and of a column.
  int kept_columns() const { return has_two_passes() ? size_.width : layout_.tile_columns(); }
  int kept_pixels() const {
    return std::max(band_rows * kept_columns(), has_columns() ? size_.height * layout_.tile_columns() : 0);
  }

  void reserve(Arena& arena) override {
    costs_.reserve(arena);
    winners_.reserve(arena);
    for (Sweep& sweep : sweeps_) {
      for (Pass& pass : sweep.passes) {
        reserve_lines(pass, size_.width, arena);
        pass.progress.reserve(bands(size_.height), arena);
      }
    }
    for (Pass& pass : columns_) reserve_lines(pass, size_.height, arena);
    for (Scratch& scratch : scratch_) reserve_scratch(scratch, arena);
    if (has_volume())
      volume_ = arena.reserve<std::uint16_t>(layout_.elements(size_.width) *
                                             static_cast<std::size_t>(size_.height));
  }

  void reserve_lines(Pass& pass, int pixels, Arena& arena) const {
    for (LineMemory& line : pass.lines)
      line.reserve(layout_, pixels, pass.form().keeps_two(0) ? 1 : 0, pass.form().paths, arena);
  }

  void reserve_scratch(Scratch& scratch, Arena& arena) const {
    if (has_two_passes())
      scratch.transitions = arena.reserve<std::byte>(layout_.elements(band_rows * size_.width) *
                                                     static_cast<std::size_t>(layout_.path_bytes));
    for (std::uint16_t*& jumps : scratch.large_jumps)
      jumps = arena.reserve<std::uint16_t>(
          static_cast<std::size_t>(band_rows * std::max(size_.width, size_.height)));
    for (LineMemory& line : scratch.last_two) line.reserve(layout_, 2, 0, 1, arena);
  }

  void fill_memory() override { winners_.fill_memory(); }

  // The steps of semi-global matching. Data costs, path costs, their sums and winners are computed tile by tile, in
  // run_tile(). The left-right check and the refinement follow in host::Plan.
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
    for (const Sweep& sweep : sweeps_)
      for (const Pass& pass : sweep.passes) clear_lines(pass);
    if (!has_volume()) return run_sweeps({{{0, rows, false, true}}});
    aggregate_columns();
    run_sweeps({{{0, middle, has_columns(), false}, {0, rows - middle, has_columns(), false}}});
    run_sweeps({{{middle, rows, true, true}, {rows - middle, rows, true, true}}});
  }

  static void clear_lines(const Pass& pass) {
    for (const LineMemory& line : pass.lines) line.clear();
  }

  void run_sweeps(const std::array<Task, 2>& tasks) {
    const auto sweeps = sweeps_.size();
    int count = 0;
    for (std::size_t s = 0; s < sweeps; ++s) {
      for (const Pass& pass : sweeps_[s].passes) pass.progress.clear(bands(size_.height));
      count = std::max(count, bands(tasks[s].last - tasks[s].first));
    }
    for_bands(workers_, static_cast<int>(sweeps), count, [&](int s, int band, int slot) {
      run_band(sweeps_[static_cast<std::size_t>(s)], tasks[static_cast<std::size_t>(s)], band, slot);
    });
  }

  void run_band(const Sweep& sweep, const Task& task, int band, int slot) {
    const int first = task.first + band * band_rows, last = std::min(task.last, first + band_rows);
    for (int j = first; task.decides && j < last; ++j)
      winners_.begin_row({row_of(sweep, j), j - first, slot});
    for (std::size_t p = 0; first < last && p < sweep.passes.size(); ++p) {
      const Pass& pass = sweep.passes[p];
      for (const LineMemory& line : scratch(slot).last_two) line.clear();
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
  // The column of pixel i of a pass.
  int column_of(const Pass& pass, int i) const { return pass.direction > 0 ? i : size_.width - 1 - i; }

  // Data costs, path costs and their sums, winners.
  void run_tile(const Band& band, int tile) {
    std::array<Segment, band_rows> all;
    const auto rows = static_cast<std::size_t>(band.last - band.first);
    for (std::size_t k = 0; k < rows; ++k) all[k] = segment_of(band, tile, static_cast<int>(k));
    const std::span segments = std::span(all).first(rows);
    if (band.is_first) costs_.find(segments, band.slot);
    if (!band.pass.waits()) return aggregate_paths(paths_of(band, segments, 0));
    for (std::size_t k = 0; k < rows; ++k) {
      const Paths paths = paths_of(band, segments.subspan(k, 1), static_cast<int>(k));
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
      winners_.decide(at, column_of(band.pass, row.first), band.pass.direction, row.last - row.first);
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
                          std::ptrdiff_t{k} * kept_columns() + (has_two_passes() ? first : 0), band.slot);
  }

  // Paths along rows

  Paths paths_of(const Pass& pass) const {
    Paths paths{};
    paths.bundle = pass.bundle;
    paths.path_bytes = layout_.path_bytes;
    paths.cost_bytes = layout_.cost_bytes;
    paths.disparities = layout_.disparities;
    paths.small_jump = parameters_.small_jump;
    paths.row_offsets = layout_.row_offsets;
    paths.row_jump = parameters_.row_jump;
    paths.pairs_fit_bytes = 2 * model_.highest_jump() <= 255;
    return paths;
  }

  // The rows k, k + 1, … of a band.
  Paths paths_of(const Band& band, std::span<const Segment> segments, int k) const {
    Paths paths = paths_of(band.pass);
    if (band.decides()) paths.cost_factor = parameters_.paths;
    for (const Segment& segment : segments) {
      paths.rows[paths.count] = path_row(band, segment, k + paths.count);
      ++paths.count;
    }
    return paths;
  }

  // Line j of a pass: a row, or a column.
  static PathRow path_line(const Pass& pass, int j) {
    PathRow row{};
    row.above = pass.lines[static_cast<std::size_t>(j + 1) % 2].line();
    row.here = pass.lines[static_cast<std::size_t>(j) % 2].line();
    return row;
  }

  PathRow path_row(const Band& band, const Segment& segment, int k) const {
    const Pass& pass = band.pass;
    const int first_column = column_of(pass, 0);
    PathRow row = path_line(pass, band.first + k);
    row.first = pass.direction > 0 ? segment.first : size_.width - segment.last;
    row.last = row.first + segment.last - segment.first;
    const Line& last_two = scratch(band.slot).last_two[static_cast<std::size_t>(k)].line();
    if (pass.form().keeps_two(0)) row.here.paths[0] = last_two.paths[0];
    if (!pass.waits()) row.here.minima = last_two.minima;
    for (int s = 0; s < pass.form().sources(); ++s) {
      std::uint16_t* jumps = scratch(band.slot).large_jumps[static_cast<std::size_t>(s)] + k * size_.width;
      const Ahead from = pass.form().from[s];
      large_jumps_.find(semi_global::row_of(costs_.gray(), segment.y),
                        semi_global::row_of(costs_.gray(), segment.y + from.rows * band.sweep.direction),
                        from.pixels * pass.direction, segment.first, segment.last, jumps);
      row.large_jump[s] = jumps + first_column;
    }
    row.large_jump_step = pass.direction;
    row.step = pass.direction * layout_.step();
    const std::ptrdiff_t to_first = (first_column - segment.first) * layout_.step();
    row.costs = segment.costs + to_first * layout_.path_bytes;
    if (!layout_.shares_costs) row.summed_costs = segment.summed_costs + to_first;
    set_outputs(band, k, segment.y, row);
    return row;
  }

  // The first of two passes keeps its transition costs, to which the second one adds.
  void set_outputs(const Band& band, int k, int y, PathRow& row) const {
    const int first_column = column_of(band.pass, 0);
    std::byte* transitions = nullptr;
    if (has_two_passes())
      transitions = scratch(band.slot).transitions +
                    (std::ptrdiff_t{k} * size_.width + first_column) * layout_.step() * layout_.path_bytes;
    if (!band.is_last) {
      row.transitions = transitions;
      return;
    }
    row.added_transitions = transitions;
    std::uint16_t* in_volume = has_volume() ? volume_at(first_column, y) : nullptr;
    row.other_sums = band.task.adds ? in_volume : nullptr;
    row.other_step = row.step;
    row.streams = !band.decides() && !band.task.adds;
    row.sums = in_volume;  // unless they are decided at once
    row.sum_step = band.decides() ? layout_.sum_step() : row.step;
    row.sum_row_step = band.decides() ? layout_.sum_row_step() : layout_.row_step();
  }

  std::uint16_t* volume_at(int x, int y) const {
    return volume_ + (static_cast<std::ptrdiff_t>(y) * size_.width + x) * layout_.step();
  }

  // Paths from columns: two passes, each of which stores its sums of the first half of its columns, then adds to the rest.

  void aggregate_columns() {
    for (const Pass& pass : columns_) clear_lines(pass);
    const int middle = size_.width / 2;
    for (const bool adds : {false, true}) {
      if (!has_columns()) return;
      workers_.for_each(2, [&](int c, int slot) {
        const int half = c == 0 ? middle : size_.width - middle, last = adds ? size_.width : half;
        for (int j = adds ? half : 0; j < last; j += layout_.tile_columns())
          aggregate_columns(columns_[static_cast<std::size_t>(c)], j,
                            std::min(last, j + layout_.tile_columns()), adds, slot);
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
      for (int k = 0; k < rows; ++k) segments[static_cast<std::size_t>(k)] = segment(y + k);
      costs_.find(std::span(segments).first(static_cast<std::size_t>(rows)), slot);
    }
    for (int j = first; j < last; ++j) {
      Paths paths = paths_of(pass);
      paths.count = 1;
      paths.rows[0] = path_column(pass, j, segment(0), adds, slot);
      aggregate_paths(paths);
    }
  }

  PathRow path_column(const Pass& pass, int j, const Segment& top, bool adds, int slot) const {
    const int x = column_of(pass, j);
    const View<const std::uint16_t> gray = costs_.gray();
    PathRow row = path_line(pass, j);
    row.last = size_.height;
    for (int s = 0; s < pass.form().sources(); ++s) {
      std::uint16_t* jumps = scratch(slot).large_jumps[static_cast<std::size_t>(s)];
      large_jumps_.find(semi_global::column_of(gray, x), semi_global::column_of(gray, x - pass.direction),
                        pass.form().from[s].pixels, 0, size_.height, jumps);
      row.large_jump[s] = jumps;
    }
    row.large_jump_step = 1;
    row.step = layout_.tile_columns() * layout_.step();
    row.costs = top.costs + (x - top.first) * layout_.step() * layout_.path_bytes;
    row.sums = volume_at(x, 0);
    row.sum_step = row.other_step = size_.width * layout_.step();
    row.sum_row_step = layout_.row_step();
    if (adds) row.other_sums = row.sums;
    return row;
  }

  Model model_;
  SemiGlobalParameters parameters_;
  Layout layout_;
  std::vector<Sweep> sweeps_;
  std::vector<Pass> columns_;
  Costs costs_;
  LargeJumps large_jumps_;
  Winners winners_;
  std::vector<Scratch> scratch_;     // by slot
  std::uint16_t* volume_ = nullptr;  // of sums, [pixel][label]
};

}  // namespace

std::unique_ptr<detail::Plan> make_cpu(const SemiGlobalParameters& parameters, const Device& device,
                                       const ImageFormat& format) {
  return std::make_unique<Cpu>(parameters, device.threads, format);
}

}  // namespace parallax::semi_global
