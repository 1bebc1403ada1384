// SPDX-License-Identifier: Apache-2.0
// Every cell gathers what it needs from the nine around it, so all cells of a step can be done at once, in
// any order. Lanes are the samples of a row of a cell; where pixels are filled, half the pixels of such a
// row.

#include <algorithm>
#include <cstring>
#include <limits>

#include "refine/planes.h"
#include "refine/refine.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "refine/fill_planes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace parallax::refine::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Wide = hn::CappedTag<std::int32_t, cell_samples>;
using Narrow = hn::CappedTag<std::uint16_t, cell_samples>;
using Bytes = hn::CappedTag<std::uint8_t, cell_samples>;

// The superpixels that a pixel of a cell may join, with their indices in the nine cells.
struct Choices {
  const Superpixel* superpixel[9];
  std::int32_t index[9];
  int count = 0;

  template <class MayJoin>
  Choices(const PlaneFill& memory, int cell_x, int cell_y, const MayJoin& may_join) {
    for (int i = 0; i < 9; ++i) {
      const int x = cell_x + i % 3 - 1, y = cell_y + i / 3 - 1;
      if (!memory.is_inside(x, y) || !may_join(memory.superpixel(x, y))) continue;
      superpixel[count] = &memory.superpixel(x, y);
      index[count++] = i;
    }
  }
};

// The nearest choice of each of a few pixels of a row.
struct alignas(64) Chosen {
  std::int32_t index[cell_samples], distance[cell_samples];
};

// Finds the nearest superpixels of the pixels in columns x, x + step and so on.
HWY_INLINE void find_nearest(const Choices& choices, const std::uint8_t* const (&colour)[3], int x, int step,
                             int y, Chosen& chosen) {
  const Wide d;
  const hn::Rebind<std::uint8_t, Wide> bytes;
  for (int i = 0; i < cell_samples; i += static_cast<int>(hn::Lanes(d))) {
    const auto column = hn::Add(hn::Set(d, x), hn::Mul(hn::Iota(d, i), hn::Set(d, step)));
    const auto red = hn::PromoteTo(d, hn::LoadU(bytes, colour[0] + i));
    const auto green = hn::PromoteTo(d, hn::LoadU(bytes, colour[1] + i));
    const auto blue = hn::PromoteTo(d, hn::LoadU(bytes, colour[2] + i));
    auto distance = hn::Set(d, std::numeric_limits<std::int32_t>::max());
    auto index = hn::Set(d, -1);
    for (int k = 0; k < choices.count; ++k) {
      const Superpixel& superpixel = *choices.superpixel[k];
      const auto square_from = [&](auto value, int centre) HWY_ATTR {
        const auto difference = hn::Sub(value, hn::Set(d, centre));
        return hn::Mul(difference, difference);
      };
      const auto colours =
          hn::Add(hn::Add(square_from(red, superpixel.colour[0]), square_from(green, superpixel.colour[1])),
                  square_from(blue, superpixel.colour[2]));
      const auto place =
          hn::Add(square_from(column, superpixel.x), hn::Set(d, (y - superpixel.y) * (y - superpixel.y)));
      const auto here = hn::Add(hn::Mul(colours, hn::Set(d, colour_weight)), place);
      const auto is_nearer = hn::Lt(here, distance);
      distance = hn::IfThenElse(is_nearer, here, distance);
      index = hn::IfThenElse(is_nearer, hn::Set(d, choices.index[k]), index);
    }
    hn::Store(index, d, chosen.index + i);
    hn::Store(distance, d, chosen.distance + i);
  }
}

// The rows of samples of a cell.
struct CellRows {
  int first, last, columns;  // rows [first, last), and the number of columns inside the image

  CellRows(const PlaneFill& memory, int cell_x, int cell_y)
      : first(cell_y * cell_samples),
        last(std::min(first + cell_samples, memory.samples.height)),
        columns(std::min(cell_samples, memory.samples.width - cell_x * cell_samples)) {}
};

void join_nearest(const PlaneFill& memory, int cell_x, int cell_y) {
  const Choices choices(memory, cell_x, cell_y, [](const Superpixel&) { return true; });
  const CellRows rows(memory, cell_x, cell_y);
  const int x = cell_x * cell_samples;
  Chosen chosen;
  for (int y = rows.first; y < rows.last; ++y) {
    find_nearest(choices,
                 {memory.colour[0].row(y) + x, memory.colour[1].row(y) + x, memory.colour[2].row(y) + x},
                 sample_step * x, sample_step, sample_step * y, chosen);
    for (int i = 0; i < rows.columns; ++i)
      memory.joined.at(x + i, y) = static_cast<std::uint8_t>(chosen.index[i]);
  }
}

// Calls each(x, y, index) for the rows of samples around a cell: cell_samples samples from column x of row y
// on may belong to its superpixel; those whose `joined` is `index` do.
template <class Each>
HWY_INLINE void for_rows_around(const PlaneFill& memory, int cell_x, int cell_y, const Each& each) {
  for (int i = 0; i < 9; ++i) {
    const int x = cell_x + i % 3 - 1, y = cell_y + i / 3 - 1;
    if (!memory.is_inside(x, y)) continue;
    const CellRows rows(memory, x, y);
    // Seen from the other cell, this cell lies on the opposite side.
    for (int row = rows.first; row < rows.last; ++row)
      each(x * cell_samples, row, static_cast<std::uint8_t>(8 - i));
  }
}

// Sums over the samples of a superpixel. Places are relative to the first sample of the nine cells. A lane
// has one sample of each row, up to 9 · 16, so its sums are below 2¹⁶.
struct MemberSums {
  alignas(64) std::uint16_t lanes[6][cell_samples] = {};  // samples, x, y, three colours

  int sum(int term) const {
    int total = 0;
    for (const std::uint16_t lane : lanes[term]) total += lane;
    return total;
  }
};

HWY_INLINE void add_row(const PlaneFill& memory, int cell_x, int cell_y, int x, int y, std::uint8_t index,
                        MemberSums& sums) {
  const Narrow d;
  const hn::Rebind<std::uint8_t, Narrow> bytes;
  const int left = x - (cell_x - 1) * cell_samples, top = y - (cell_y - 1) * cell_samples;
  for (int i = 0; i < cell_samples; i += static_cast<int>(hn::Lanes(d))) {
    const auto belongs = hn::Eq(hn::PromoteTo(d, hn::LoadU(bytes, memory.joined.row(y) + x + i)),
                                hn::Set(d, std::uint16_t{index}));
    const auto add = [&](int term, auto value) HWY_ATTR {
      std::uint16_t* lanes = sums.lanes[term] + i;
      hn::Store(hn::Add(hn::Load(d, lanes), hn::IfThenElseZero(belongs, value)), d, lanes);
    };
    add(0, hn::Set(d, std::uint16_t{1}));
    add(1, hn::Iota(d, static_cast<std::uint16_t>(left + i)));
    add(2, hn::Set(d, static_cast<std::uint16_t>(top)));
    for (int c = 0; c < 3; ++c)
      add(3 + c, hn::PromoteTo(d, hn::LoadU(bytes, memory.colour[c].row(y) + x + i)));
  }
}

void move_centre(const PlaneFill& memory, int cell_x, int cell_y) {
  MemberSums sums;
  for_rows_around(memory, cell_x, cell_y, [&](int x, int y, std::uint8_t index) HWY_ATTR {
    add_row(memory, cell_x, cell_y, x, y, index, sums);
  });
  const int members = sums.sum(0);
  if (members == 0) return;
  const auto mean = [&](int sum) { return static_cast<int>(nearest_integer(sum, members)); };
  memory.superpixel(cell_x, cell_y) = {(cell_x - 1) * cell_side + mean(sample_step * sums.sum(1)),
                                       (cell_y - 1) * cell_side + mean(sample_step * sums.sum(2)),
                                       {mean(sums.sum(3)), mean(sums.sum(4)), mean(sums.sum(5))},
                                       {},
                                       {}};
}

// The samples of a superpixel that have a value, with positions relative to its centre.
struct alignas(64) Values {
  static constexpr int padded = max_samples + cell_samples;
  std::int32_t x[padded], y[padded], z[padded];
  int members = 0, count = 0;
};

HWY_INLINE void append_row(const PlaneFill& memory, const Superpixel& superpixel, int x, int y,
                           std::uint8_t index, Values& values) {
  const Bytes d;
  const std::int32_t* row = memory.value.row(y) + x;
  for (int i = 0; i < cell_samples; i += static_cast<int>(hn::Lanes(d))) {
    std::uint8_t bits[8] = {};
    hn::StoreMaskBits(d, hn::Eq(hn::LoadU(d, memory.joined.row(y) + x + i), hn::Set(d, index)), bits);
    std::uint64_t left_over = 0;
    std::memcpy(&left_over, bits, sizeof(left_over));
    for (; left_over != 0; left_over &= left_over - 1) {
      const int at = i + static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero64(left_over));
      ++values.members;
      values.x[values.count] = sample_step * (x + at) - superpixel.x;
      values.y[values.count] = sample_step * y - superpixel.y;
      values.z[values.count] = row[at];
      values.count += row[at] != no_sample;
    }
  }
}

// Values are padded with some that are far from every plane.
HWY_INLINE PlaneSums sums_near(const FittedPlane& plane, const Values& values, std::int32_t tolerance) {
  const Wide d;
  const auto zero = hn::Zero(d);
  auto n = zero, sx = zero, sy = zero, sr = zero, xx = zero, xy = zero, yy = zero, xr = zero, yr = zero;
  for (int i = 0; i < values.count; i += static_cast<int>(hn::Lanes(d))) {
    const auto column = hn::Load(d, values.x + i), row = hn::Load(d, values.y + i);
    const auto height = hn::ShiftRight<8>(
        hn::Add(hn::Add(hn::Mul(column, hn::Set(d, plane.a)), hn::Mul(row, hn::Set(d, plane.b))),
                hn::Set(d, plane.c + plane_unit / 2)));
    const auto residual = hn::Sub(hn::Sub(hn::Load(d, values.z + i), hn::Set(d, plane.base)), height);
    const auto is_near = hn::Lt(hn::Abs(residual), hn::Set(d, tolerance + 1));
    const auto x = hn::IfThenElseZero(is_near, column), y = hn::IfThenElseZero(is_near, row);
    const auto r = hn::IfThenElseZero(is_near, residual);
    n = hn::Add(n, hn::IfThenElseZero(is_near, hn::Set(d, 1)));
    sx = hn::Add(sx, x);
    sy = hn::Add(sy, y);
    sr = hn::Add(sr, r);
    xx = hn::Add(xx, hn::Mul(x, x));
    xy = hn::Add(xy, hn::Mul(x, y));
    yy = hn::Add(yy, hn::Mul(y, y));
    xr = hn::Add(xr, hn::Mul(x, r));
    yr = hn::Add(yr, hn::Mul(y, r));
  }
  const auto total = [&](auto lanes) HWY_ATTR { return hn::GetLane(hn::SumOfLanes(d, lanes)); };
  return {total(n), total(sx), total(sy), total(sr), total(xx), total(xy), total(yy), total(xr), total(yr)};
}

HWY_INLINE FittedPlane plane_through(Values& values) {
  if (values.count < min_samples || samples_per_value * values.count < values.members) return {};
  std::int32_t sorted[max_samples];
  std::copy_n(values.z, values.count, sorted);
  std::int32_t* const median = sorted + (values.count - 1) / 2;
  std::nth_element(sorted, median, sorted + values.count);
  FittedPlane plane;
  plane.base = *median;
  for (int i = values.count; i < values.count + cell_samples; ++i) {
    values.x[i] = values.y[i] = 0;
    values.z[i] = plane.base + (1 << 28);
  }
  for (const std::int32_t tolerance : plane_tolerances)
    if (!plane.correct(sums_near(plane, values, tolerance))) return {};
  plane.exists = of_values * sums_near(plane, values, plane_unit).n >= near_values * values.count;
  return plane;
}

void fit_plane(const PlaneFill& memory, int cell_x, int cell_y) {
  Superpixel& superpixel = memory.superpixel(cell_x, cell_y);
  Values values;
  for_rows_around(memory, cell_x, cell_y, [&](int x, int y, std::uint8_t index) HWY_ATTR {
    append_row(memory, superpixel, x, y, index, values);
  });
  superpixel.plane = plane_through(values);
  for (int i = 0; i < values.count; ++i) superpixel.range.add(values.z[i]);
}

// Fills `count` pixels of a row, from column x on.
HWY_INLINE void fill_pixels(const DisparityMap& map, const ImageView& left, const PlaneFill& memory,
                            const Choices& choices, const SampleRange& range, int x, int y, int count) {
  float* disparity = map.disparity.row(y) + x;
  std::uint8_t* status = map.status.row(y) + x;
  const auto is_empty = [&](int i) {
    return !decision::has_value(disparity[i]) && status[i] != decision::code(Status::input_masked);
  };
  bool any = false;
  for (int i = 0; i < count; ++i) any |= is_empty(i);
  if (!any) return;
  std::uint8_t colours[3][cell_samples] = {};
  std::uint8_t* const channels[] = {colours[0], colours[1], colours[2]};
  take_colours(left, x, y, 1, count, channels);
  Chosen chosen;
  find_nearest(choices, {colours[0], colours[1], colours[2]}, x, 1, y, chosen);
  for (int i = 0; i < count; ++i) {
    if (!is_empty(i) || chosen.distance[i] > farthest) continue;
    const int index = chosen.index[i];
    const Superpixel& superpixel =
        memory.superpixel(x / cell_side + index % 3 - 1, y / cell_side + index / 3 - 1);
    const std::int32_t value =
        superpixel.plane.base + superpixel.plane.height(x + i - superpixel.x, y - superpixel.y);
    disparity[i] = static_cast<float>(range.nearest(value)) / plane_unit;
    status[i] = decision::code(Status::filled);
  }
}

void fill_cell(const DisparityMap& map, const ImageView& left, const PlaneFill& memory, int cell_x,
               int cell_y) {
  const Size size = map.disparity.size;
  const Choices choices(memory, cell_x, cell_y,
                        [](const Superpixel& superpixel) { return superpixel.plane.exists; });
  if (choices.count == 0) return;
  SampleRange range;
  for (int i = 0; i < choices.count; ++i) range.add(choices.superpixel[i]->range);
  for (int y = cell_y * cell_side; y < std::min((cell_y + 1) * cell_side, size.height); ++y)
    for (int x = cell_x * cell_side; x < std::min((cell_x + 1) * cell_side, size.width); x += cell_samples)
      fill_pixels(map, left, memory, choices, range, x, y, std::min(cell_samples, size.width - x));
}

}  // namespace parallax::refine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax::refine {
namespace {

HWY_EXPORT(join_nearest);
HWY_EXPORT(move_centre);
HWY_EXPORT(fit_plane);
HWY_EXPORT(fill_cell);

// Takes the samples of a row; each belongs to the superpixel of its own cell.
void take_samples(View<const float> disparity, const ImageView& left, const PlaneFill& memory, int y) {
  const int count = memory.samples.width;
  std::uint8_t* const channels[] = {memory.colour[0].row(y), memory.colour[1].row(y),
                                    memory.colour[2].row(y)};
  take_colours(left, 0, sample_step * y, sample_step, count, channels);
  const float* from = disparity.row(sample_step * y);
  std::int32_t* values = memory.value.row(y);
  for (int x = 0; x < count; ++x) values[x] = sample_of(from[sample_step * x]);
  std::uint8_t* joined = memory.joined.row(y);
  std::fill_n(joined, count, own_cell);
  std::fill(joined + count, joined + memory.joined.size.width, outside);
}

// Calls each(cell_x, cell_y).
template <class Each>
void for_cells(const PlaneFill& memory, const Workers& workers, const Each& each) {
  workers.for_each(memory.cells.height, [&](int y, int) {
    for (int x = 0; x < memory.cells.width; ++x) each(x, y);
  });
}

}  // namespace

void fill_planes(const DisparityMap& map, const ImageView& left, const PlaneFill& memory,
                 const Workers& workers) {
  for_rows(workers, memory.samples.height, [&](int y, int) { take_samples(map.disparity, left, memory, y); });
  const auto move_centres = [&] {
    for_cells(memory, workers, [&](int x, int y) { HWY_DYNAMIC_DISPATCH(move_centre)(memory, x, y); });
  };
  move_centres();
  for (int round = 0; round < superpixel_rounds; ++round) {
    for_cells(memory, workers, [&](int x, int y) { HWY_DYNAMIC_DISPATCH(join_nearest)(memory, x, y); });
    move_centres();
  }
  for_cells(memory, workers, [&](int x, int y) { HWY_DYNAMIC_DISPATCH(fit_plane)(memory, x, y); });
  for_cells(memory, workers, [&](int x, int y) { HWY_DYNAMIC_DISPATCH(fill_cell)(map, left, memory, x, y); });
}

}  // namespace parallax::refine
#endif
