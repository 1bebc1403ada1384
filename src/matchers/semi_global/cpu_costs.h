// SPDX-License-Identifier: Apache-2.0
// Data costs C of semi-global matching on the CPU, segment by segment: the costs of single pixels, their sums
// over windows, and the costs of row offsets.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "core/workers.h"
#include "data_cost/cost_rows.h"
#include "matchers/semi_global/cpu_kernels.h"
#include "matchers/semi_global/cpu_passes.h"
#include "matchers/semi_global/row_prior.h"

namespace parallax::semi_global {

// Pixels of a row, and the place of their data costs.
struct Segment {
  int y, first, last;
  std::byte* costs;             // C of the first pixel, for path costs
  std::uint16_t* summed_costs;  // C for sums; null where that is the same array
};

class TileCosts {
 public:
  // `kept_pixels`: pixels whose costs a slot keeps at once.
  TileCosts(const Model& model, const Layout& layout, int kept_pixels, const ImageFormat& format, int slots)
      : layout_(layout),
        clip_(layout.clips_costs ? 2 * model.parameters.large_jump : 255),
        kept_pixels_(kept_pixels),
        pixel_costs_(model, {layout.cost_bytes, false, model.highest_pixel_cost(), true}, format, slots),
        prior_(model, format.size),
        scratch_(to_size(slots)) {}

  void reserve(Arena& arena) {
    pixel_costs_.reserve(arena);
    prior_.reserve(arena);
    for (Scratch& scratch : scratch_) reserve_scratch(scratch, arena);
  }

  // For the pair, or the mirrored one.
  void prepare(const StereoPair& pair, bool mirrored, const Workers& workers) {
    pixel_costs_.prepare(pair, mirrored, workers);
    if (prior_.exists()) fit_row_prior(workers);
  }

  View<const std::uint16_t> gray() const { return pixel_costs_.gray(); }
  const View<std::uint8_t>& status() const { return pixel_costs_.status(); }

  // The pixels [first, last) of a row, their costs from some pixel on of those that the slot keeps.
  Segment segment(int y, int first, int last, std::ptrdiff_t kept_pixel, int slot) const {
    const Scratch& scratch = this->scratch(slot);
    const std::ptrdiff_t at = kept_pixel * layout_.step();
    Segment segment{y, first, last, nullptr, nullptr};
    if (!layout_.shares_costs) segment.summed_costs = scratch.summed_costs + at;
    segment.costs =
        layout_.path_bytes == 1 ? scratch.costs + at : reinterpret_cast<std::byte*>(segment.summed_costs);
    return segment;
  }

  // Computes the costs of a tile: segments of neighbouring rows.
  void find(std::span<const Segment> segments, int slot) const {
    if (layout_.shares_costs)
      for (const Segment& segment : segments)
        write_pixel_costs(segment.y, segment.first, segment.last, segment.costs, slot);
    else
      sum_over_windows(segments, slot);
    if (!prior_.exists()) return;
    for (const Segment& segment : segments) add_row_prior(segment, slot);
  }

 private:
  struct Scratch {
    std::byte* costs;             // C for path costs, [pixel][label]; null where these are words
    std::uint16_t* summed_costs;  // C for sums; null where that is the same array
    std::byte* pixel_costs;       // costs of single pixels, of the rows of windows
    std::uint16_t* windows;
    std::uint16_t* row_costs;  // row costs of the row prior, [pixel][row offset]
  };
  const Scratch& scratch(int slot) const { return scratch_[to_size(slot)]; }

  int window_rows() const { return band_rows + 2 * layout_.reach; }
  int window_columns() const { return layout_.tile_columns() + band_rows - 1 + 2 * layout_.reach; }

  void reserve_scratch(Scratch& scratch, Arena& arena) const {
    const std::size_t kept = layout_.elements(kept_pixels_);
    if (layout_.path_bytes == 1) scratch.costs = arena.reserve<std::byte>(kept);
    if (!layout_.shares_costs) {
      scratch.summed_costs = arena.reserve<std::uint16_t>(kept);
      scratch.pixel_costs = arena.reserve<std::byte>(layout_.elements(window_rows() * window_columns()) *
                                                     to_size(pixel_costs_.cost_bytes()));
      scratch.windows = arena.reserve<std::uint16_t>(window_scratch(layout_.disparities, layout_.reach));
    }
    if (prior_.exists())
      scratch.row_costs = arena.reserve<std::uint16_t>(to_size(layout_.tile_columns() * layout_.row_offsets));
  }

  // [pixel][label] of the pixels [first, last) of a row.
  void write_pixel_costs(int y, int first, int last, std::byte* to, int slot) const {
    const int bytes = pixel_costs_.cost_bytes();
    for (int x = first; x < last; x += pixel_costs_.at_once()) {
      const int count = std::min(pixel_costs_.at_once(), last - x);
      for (int k = 0; k < layout_.row_offsets; ++k)
        transpose_costs({bytes, layout_.disparities, count, pixel_costs_.row(y, x, count, slot, k),
                         data_cost::CostRows::stride(),
                         to + ((x - first) * layout_.step() + k * layout_.row_step()) * bytes,
                         layout_.step()});
    }
  }

  // Pixels of the image, and their costs in rows of window_columns() pixels.
  struct Region {
    int left, top, right, bottom;
    std::byte* costs;
    std::ptrdiff_t row_bytes;
    const std::byte* row(int y) const { return costs + (std::clamp(y, top, bottom - 1) - top) * row_bytes; }
  };

  // The pixels in windows around the pixels of some segments.
  Region region_around(std::span<const Segment> segments, int slot) const {
    const auto [width, height] = layout_.size;
    int top = height, bottom = 0, left = width, right = 0;
    for (const Segment& segment : segments) {
      if (segment.first >= segment.last) continue;
      top = std::min(top, segment.y), bottom = std::max(bottom, segment.y + 1);
      left = std::min(left, segment.first), right = std::max(right, segment.last);
    }
    const int reach = layout_.reach;
    return {std::max(0, left - reach),      std::max(0, top - reach),
            std::min(width, right + reach), std::min(height, bottom + reach),
            scratch(slot).pixel_costs,      window_columns() * layout_.step() * pixel_costs_.cost_bytes()};
  }

  void sum_over_windows(std::span<const Segment> segments, int slot) const {
    const Region region = region_around(segments, slot);
    for (int y = region.top; y < region.bottom; ++y)
      write_pixel_costs(y, region.left, region.right, region.costs + (y - region.top) * region.row_bytes,
                        slot);
    for (const Segment& segment : segments)
      for (int k = 0; segment.first < segment.last && k < layout_.row_offsets; ++k)
        sum_over_windows(segment, region, k, slot);
  }

  // The same of one segment at one row offset.
  void sum_over_windows(const Segment& segment, const Region& region, int k, int slot) const {
    const int bytes = pixel_costs_.cost_bytes(), reach = layout_.reach;
    const std::ptrdiff_t at = k * layout_.row_step();
    std::array<const void*, max_window> rows;
    for (int j = -reach; j <= reach; ++j) rows[to_size(j + reach)] = region.row(segment.y + j) + at * bytes;
    sum_windows({bytes, layout_.disparities, reach, rows.data(), region.left, region.right, segment.first,
                 segment.last, layout_.step(), segment.summed_costs + at,
                 layout_.path_bytes == 1 ? reinterpret_cast<std::uint8_t*>(segment.costs) + at : nullptr,
                 layout_.clips_costs, clip_, scratch(slot).windows});
  }

  // The row prior

  void add_row_prior(const Segment& segment, int slot) const {
    std::uint16_t* const row_costs = scratch(slot).row_costs;
    std::uint16_t* next = row_costs;
    for (int x = segment.first; x < segment.last; ++x) {
      const double expected = prior_.expected(x, segment.y);
      for (int k = 0; k < layout_.row_offsets; ++k)
        *next++ = static_cast<std::uint16_t>(prior_.cost(expected, k));
    }
    const auto count = static_cast<int>(next - row_costs);
    if (layout_.path_bytes == 1) add_row_costs({1, layout_.disparities, count, row_costs, segment.costs});
    if (!layout_.shares_costs)
      add_row_costs({2, layout_.disparities, count, row_costs, segment.summed_costs});
  }

  void fit_row_prior(const Workers& workers) {
    prior_.clear();
    workers.for_each(prior_.squares().height, [&](int square, int slot) {
      prior_.for_rows(square, [&](int y) { add_groups_of_row(y, slot); });
    });
    prior_.fit();
  }

  void add_groups_of_row(int y, int slot) const {
    const int at_once = pixel_costs_.at_once() / RowPrior::group * RowPrior::group;
    for (int x = 0; x < layout_.size.width; x += at_once) {
      const int count = std::min(at_once, layout_.size.width - x);
      for (int k = 0; k < layout_.row_offsets; ++k) {
        const void* costs = pixel_costs_.row(y, x, count, slot, k);
        if (pixel_costs_.cost_bytes() == 1)
          add_groups(static_cast<const std::uint8_t*>(costs), x, y, count, k);
        else
          add_groups(static_cast<const std::uint16_t*>(costs), x, y, count, k);
      }
    }
  }

  // Sums four pixels from every pixel on, not only from the first of each group, so that lanes are pixels.
  template <class Element>
  void add_groups(const Element* costs, int first, int y, int count, int k) const {
    static_assert(RowPrior::group == 4);
    std::array<std::uint16_t, data_cost::max_at_once> min;
    min.fill(65535);
    for (int d = 0; d < layout_.disparities; ++d, costs += data_cost::CostRows::stride())
      for (int i = 0; i + RowPrior::group <= count; ++i)
        min[to_size(i)] = std::min(min[to_size(i)], static_cast<std::uint16_t>(costs[i] + costs[i + 1] +
                                                                               costs[i + 2] + costs[i + 3]));
    for (int i = 0; i + RowPrior::group <= count; i += RowPrior::group)
      prior_.add(first + i, y, k, min[to_size(i)]);
  }

  const Layout layout_;
  int clip_;  // the highest C for path costs in bytes
  int kept_pixels_;
  data_cost::CostRows pixel_costs_;
  RowPrior prior_;
  std::vector<Scratch> scratch_;  // by slot
};

}  // namespace parallax::semi_global
