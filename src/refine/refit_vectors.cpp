// SPDX-License-Identifier: Apache-2.0
// Lanes are neighbouring pixels; each adds up the pixels of its window.

#include "refine/refit_vectors.h"

#include <algorithm>

#include "refine/guide.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "refine/refit_vectors.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace parallax::refine::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<std::int32_t, Shifts::widest_vector>;
using Ints = hn::Vec<Tag>;

// A row of sums for a vector of pixels.
struct SumLanes {
  alignas(64) std::int32_t count[Shifts::widest_vector], x[Shifts::widest_vector], y[Shifts::widest_vector],
      e[Shifts::widest_vector], xx[Shifts::widest_vector], xy[Shifts::widest_vector],
      yy[Shifts::widest_vector], xe[Shifts::widest_vector], ye[Shifts::widest_vector];

  ShiftSums at(int i) const { return {count[i], x[i], y[i], e[i], xx[i], xy[i], yy[i], xe[i], ye[i]}; }
};

// Adds the sums for the pixels of a row from `column` on, whose shifts are `own_x` and `own_y`.
HWY_INLINE void add_up(const Shifts& shifts, int column, int row, int radius, Ints own_x, Ints own_y,
                       SumLanes& sums) {
  const Tag d;
  const Ints one = hn::Set(d, 1), two = hn::Set(d, 2);
  Ints count = hn::Zero(d), x = count, y_sum = count, e_sum = count, xx = count, xy = count, yy = count,
       xe = count, ye = count;
  for (int j = row - radius; j <= row + radius; ++j) {
    for (int i = column - radius; i <= column + radius; ++i) {
      const Ints apart_x = hn::Sub(hn::LoadU(d, shifts.x.row(j) + i), own_x),
                 apart_y = hn::Sub(hn::LoadU(d, shifts.y.row(j) + i), own_y);
      const auto taken = hn::And(hn::Lt(hn::Abs(apart_x), two), hn::Lt(hn::Abs(apart_y), two));
      const Ints gradient_x = hn::IfThenElseZero(taken, hn::LoadU(d, shifts.gradient_x.row(j) + i)),
                 gradient_y = hn::IfThenElseZero(taken, hn::LoadU(d, shifts.gradient_y.row(j) + i)),
                 difference = hn::IfThenElseZero(taken, hn::LoadU(d, shifts.difference.row(j) + i));
      // Shifts that are not taken are multiplied by 0.
      const Ints e = hn::Add(difference, hn::Add(hn::Mul(gradient_x, apart_x), hn::Mul(gradient_y, apart_y)));
      count = hn::Add(count, hn::IfThenElseZero(taken, one));
      x = hn::Add(x, gradient_x);
      y_sum = hn::Add(y_sum, gradient_y);
      e_sum = hn::Add(e_sum, e);
      xx = hn::Add(xx, hn::Mul(gradient_x, gradient_x));
      xy = hn::Add(xy, hn::Mul(gradient_x, gradient_y));
      yy = hn::Add(yy, hn::Mul(gradient_y, gradient_y));
      xe = hn::Add(xe, hn::Mul(gradient_x, e));
      ye = hn::Add(ye, hn::Mul(gradient_y, e));
    }
  }
  hn::Store(count, d, sums.count);
  hn::Store(x, d, sums.x);
  hn::Store(y_sum, d, sums.y);
  hn::Store(e_sum, d, sums.e);
  hn::Store(xx, d, sums.xx);
  hn::Store(xy, d, sums.xy);
  hn::Store(yy, d, sums.yy);
  hn::Store(xe, d, sums.xe);
  hn::Store(ye, d, sums.ye);
}

void refit_row(const Shifts& shifts, int y, int window, float* disparity, float* row_offset, int width) {
  const Tag d;
  const hn::Rebind<float, Tag> d_float;
  const int lanes = static_cast<int>(hn::Lanes(d));
  SumLanes sums;
  for (int x = 0; x < width; x += lanes) {
    const int count = std::min(lanes, width - x);
    // Pixels without a vector get an arbitrary shift.
    const auto nearest = [&](const float* values) HWY_ATTR {
      const auto value =
          hn::MaskedLoad(hn::FirstN(d_float, static_cast<std::size_t>(count)), d_float, values + x);
      return hn::ConvertTo(d, hn::Ceil(hn::Sub(value, hn::Set(d_float, 0.5f))));
    };
    alignas(64) std::int32_t shift_x[Shifts::widest_vector], shift_y[Shifts::widest_vector];
    const Ints own_x = hn::Neg(nearest(disparity)), own_y = nearest(row_offset);
    hn::Store(own_x, d, shift_x);
    hn::Store(own_y, d, shift_y);
    add_up(shifts, x + Shifts::border, y + Shifts::border, window / 2, own_x, own_y, sums);
    for (int i = 0; i < count; ++i)
      if (decision::has_value(disparity[x + i]))
        refit_vector(sums.at(i), window, shift_x[i], shift_y[i], disparity[x + i], row_offset[x + i]);
  }
}

}  // namespace parallax::refine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax::refine {
namespace {

HWY_EXPORT(refit_row);

// Fills a row of shifts, with its border.
void prepare_row(const DisparityMap& map, const Shifts& shifts, int y) {
  const Size size = map.disparity.size;
  const View<const std::uint8_t> left = shifts.gray[0], right = shifts.gray[1];
  const int row = y + Shifts::border;
  std::fill_n(shifts.x.row(row), shifts.x.size.width, Shifts::unusable);
  for (auto* plane : {&shifts.y, &shifts.gradient_x, &shifts.gradient_y, &shifts.difference})
    std::fill_n(plane->row(row), plane->size.width, 0);
  const auto inside = [&](int u, int v) {
    return u > 0 && v > 0 && u < size.width - 1 && v < size.height - 1;
  };
  if (y < 1 || y >= size.height - 1) return;
  for (int x = 1; x < size.width - 1; ++x) {
    const float d = map.disparity.at(x, y), v = map.row_offset.at(x, y);
    if (!decision::has_value(d)) continue;
    const int shift_x = -nearest_integer(d), shift_y = nearest_integer(v);
    const int u = x + shift_x, w = y + shift_y, i = x + Shifts::border;
    if (!inside(u, w)) continue;
    const std::uint8_t *here = left.row(y) + x, *there = right.row(w) + u;
    shifts.x.row(row)[i] = shift_x;
    shifts.y.row(row)[i] = shift_y;
    shifts.gradient_x.row(row)[i] = here[1] - here[-1] + there[1] - there[-1];
    shifts.gradient_y.row(row)[i] =
        left.at(x, y + 1) - left.at(x, y - 1) + right.at(u, w + 1) - right.at(u, w - 1);
    shifts.difference.row(row)[i] = 4 * (here[0] - there[0]);
  }
}

}  // namespace

Shifts::Shifts(Size image, Arena& arena) {
  for (auto& plane : gray) {
    plane = inside_border(arena.reserve_plane<std::uint8_t>(bordered_guide_size(image, 0)), image, 0);
  }
  const Size bordered{image.width + 2 * border + widest_vector, image.height + 2 * border};
  for (auto* plane : {&x, &y, &gradient_x, &gradient_y, &difference})
    *plane = arena.reserve_plane<std::int32_t>(bordered);
}

void refit_vectors(const DisparityMap& map, const StereoPair& pair, int window, const Shifts& shifts,
                   const Workers& workers) {
  take_guide(pair.left, shifts.gray[0], workers);
  take_guide(pair.right, shifts.gray[1], workers);
  const Size size = map.disparity.size;
  for_rows(workers, size.height, [&](int y, int) { prepare_row(map, shifts, y); });
  // The rows above and below the image have no usable pixels.
  for (int i = 0; i < Shifts::border; ++i)
    for (const int row : {i, size.height + Shifts::border + i})
      std::fill_n(shifts.x.row(row), shifts.x.size.width, Shifts::unusable);
  for_rows(workers, size.height, [&](int y, int) {
    HWY_DYNAMIC_DISPATCH(refit_row)
    (shifts, y, window, map.disparity.row(y), map.row_offset.row(y), size.width);
  });
}

}  // namespace parallax::refine
#endif
