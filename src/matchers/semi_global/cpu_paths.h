// SPDX-License-Identifier: Apache-2.0
// Paths of semi-global matching on the CPU: where a row of pixels finds path costs, P2 and C, and puts sums.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <span>
#include <vector>

#include "core/arena.h"
#include "data_cost/data_cost.h"
#include "matchers/semi_global/cpu_costs.h"
#include "matchers/semi_global/cpu_kernels.h"
#include "matchers/semi_global/cpu_passes.h"

namespace parallax::semi_global {

// Gray values of a row, or a column, of the image.
struct GrayLine {
  const std::uint16_t* first;
  std::ptrdiff_t step;
  int count;
  int at(int i) const { return first[i * step]; }
};
inline GrayLine row_of(View<const std::uint16_t> gray, int y) {
  return {gray.row(std::clamp(y, 0, gray.size.height - 1)), 1, gray.size.width};
}
inline GrayLine column_of(View<const std::uint16_t> gray, int x) {
  return {gray.row(0) + std::clamp(x, 0, gray.size.width - 1), gray.stride(), gray.size.height};
}

// P2, by the difference in gray values.
class LargeJumps {
 public:
  explicit LargeJumps(const Model& model)
      : ignores_edges_(model.parameters.edge_contrast == 0),
        jumps_(model.large_jumps.begin(), model.large_jumps.end()) {}

  // At the pixels [first, last) of a line, from those `ahead` in `from`; any number beyond the border.
  void find(const GrayLine& line, const GrayLine& from, int ahead, int first, int last,
            std::uint16_t* out) const {
    std::fill(out + first, out + last, ignores_edges_ ? jumps_[0] : std::uint16_t{0});
    if (ignores_edges_) return;
    const int end = std::min(last, line.count - ahead);
    for (int i = std::max(first, -ahead); i < end; ++i)
      out[i] = jumps_[to_size(data_cost::edge_index(std::abs(line.at(i) - from.at(i + ahead))))];
  }

 private:
  bool ignores_edges_;
  std::vector<std::uint16_t> jumps_;  // Model::large_jumps
};

class PathRows {
 public:
  PathRows(const Model& model, const Layout& layout, const Passes& passes, const TileCosts& costs, int slots)
      : model_(model),
        layout_(layout),
        passes_(passes),
        costs_(costs),
        large_jumps_(model),
        scratch_(to_size(slots)) {}

  void reserve(Arena& arena) {
    const auto [width, height] = layout_.size;
    for (Scratch& scratch : scratch_) {
      if (passes_.has_two())
        scratch.transitions =
            arena.reserve<std::byte>(layout_.elements(band_rows * width) * to_size(layout_.path_bytes));
      for (std::uint16_t*& jumps : scratch.large_jumps)
        jumps = arena.reserve<std::uint16_t>(to_size(band_rows * std::max(width, height)));
      for (LineMemory& line : scratch.last_two) line.reserve(layout_, 2, 0, 1, arena);
    }
    if (passes_.has_volume())
      volume_ = arena.reserve<std::uint16_t>(layout_.elements(width) * to_size(height));
  }

  // Forgets the pixels of the band before.
  void begin_band(int slot) const {
    for (const LineMemory& line : scratch(slot).last_two) line.clear();
  }

  // The rows k, k + 1, … of a band.
  Paths of(const Band& band, std::span<const Segment> segments, int k) const {
    Paths paths = of(band.pass);
    if (band.decides()) paths.cost_factor = model_.parameters.paths;
    for (const Segment& segment : segments) {
      paths.rows[paths.count] = row(band, segment, k + paths.count);
      ++paths.count;
    }
    return paths;
  }

  // Column j of a pass through the columns; `top`: the segment with its data costs in row 0.
  Paths of_column(const Pass& pass, int j, const Segment& top, bool adds, int slot) const {
    Paths paths = of(pass);
    paths.rows[paths.count++] = column(pass, j, top, adds, slot);
    return paths;
  }

 private:
  struct Scratch {
    std::byte* transitions;                 // T of the first of two passes
    std::uint16_t* large_jumps[max_paths];  // P2 from each source
    LineMemory last_two[band_rows];         // path costs of the last two pixels of each row
  };
  const Scratch& scratch(int slot) const { return scratch_[to_size(slot)]; }

  Paths of(const Pass& pass) const {
    Paths paths{};
    paths.bundle = pass.bundle;
    paths.path_bytes = layout_.path_bytes;
    paths.cost_bytes = layout_.cost_bytes;
    paths.disparities = layout_.disparities;
    paths.small_jump = model_.parameters.small_jump;
    paths.row_offsets = layout_.row_offsets;
    paths.row_jump = model_.parameters.row_jump;
    paths.pairs_fit_bytes = 2 * model_.highest_jump() <= 255;
    return paths;
  }

  // Line j of a pass: a row, or a column.
  static PathRow line(const Pass& pass, int j) {
    PathRow row{};
    row.above = pass.lines[(j + 1) % 2].line();
    row.here = pass.lines[j % 2].line();
    return row;
  }

  PathRow row(const Band& band, const Segment& segment, int k) const {
    const Pass& pass = band.pass;
    const int first_column = pass.column(0, layout_.size.width);
    const Line& last_two = scratch(band.slot).last_two[k].line();
    PathRow row = line(pass, band.first + k);
    row.first = pass.direction > 0 ? segment.first : layout_.size.width - segment.last;
    row.last = row.first + segment.last - segment.first;
    if (pass.form().keeps_two(0)) row.here.paths[0] = last_two.paths[0];
    if (!pass.waits()) row.here.minima = last_two.minima;
    for (int s = 0; s < pass.form().sources(); ++s) {
      const Ahead from = pass.form().from[s];
      std::uint16_t* jumps = scratch(band.slot).large_jumps[s] + k * layout_.size.width;
      large_jumps_.find(row_of(costs_.gray(), segment.y),
                        row_of(costs_.gray(), segment.y + from.rows * band.sweep.direction),
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
    const int width = layout_.size.width, first_column = band.pass.column(0, width);
    std::byte* transitions = nullptr;
    if (passes_.has_two())
      transitions = scratch(band.slot).transitions +
                    (std::ptrdiff_t{k} * width + first_column) * layout_.step() * layout_.path_bytes;
    if (!band.is_last) {
      row.transitions = transitions;
      return;
    }
    row.added_transitions = transitions;
    std::uint16_t* in_volume = passes_.has_volume() ? volume_at(first_column, y) : nullptr;
    row.other_sums = band.task.adds ? in_volume : nullptr;
    row.other_step = row.step;
    row.streams = !band.decides() && !band.task.adds;
    row.sums = in_volume;  // unless they are decided at once
    row.sum_step = band.decides() ? layout_.sum_step() : row.step;
    row.sum_row_step = band.decides() ? layout_.sum_row_step() : layout_.row_step();
  }

  PathRow column(const Pass& pass, int j, const Segment& top, bool adds, int slot) const {
    const auto [width, height] = layout_.size;
    const int x = pass.column(j, width);
    PathRow row = line(pass, j);
    row.last = height;
    for (int s = 0; s < pass.form().sources(); ++s) {
      row.large_jump[s] = scratch(slot).large_jumps[s];
      large_jumps_.find(column_of(costs_.gray(), x), column_of(costs_.gray(), x - pass.direction),
                        pass.form().from[s].pixels, 0, height, scratch(slot).large_jumps[s]);
    }
    row.large_jump_step = 1;
    row.step = layout_.tile_columns() * layout_.step();
    row.costs = top.costs + (x - top.first) * layout_.step() * layout_.path_bytes;
    row.sums = volume_at(x, 0);
    row.sum_step = row.other_step = width * layout_.step();
    row.sum_row_step = layout_.row_step();
    if (adds) row.other_sums = row.sums;
    return row;
  }

  std::uint16_t* volume_at(int x, int y) const {
    return volume_ + (std::ptrdiff_t{y} * layout_.size.width + x) * layout_.step();
  }

  const Model& model_;
  const Layout layout_;
  const Passes& passes_;
  const TileCosts& costs_;
  LargeJumps large_jumps_;
  std::vector<Scratch> scratch_;     // by slot
  std::uint16_t* volume_ = nullptr;  // sums, [pixel][label]
};

}  // namespace parallax::semi_global
