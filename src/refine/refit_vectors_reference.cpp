// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdlib>

#include "refine/guide.h"
#include "refine/refit_vectors.h"

namespace parallax::refine {
namespace {

class Refit {
 public:
  Refit(const DisparityMap& map, const Shifts& shifts)
      : map_(map), left_(shifts.gray[0]), right_(shifts.gray[1]) {}

  struct Shift {
    int x, y;
  };
  Shift shift(int x, int y) const {
    return {static_cast<int>(-std::ceil(map_.disparity.at(x, y) - 0.5f)),
            static_cast<int>(std::ceil(map_.row_offset.at(x, y) - 0.5f))};
  }

  bool usable(int x, int y) const {
    return x >= 0 && y >= 0 && x < left_.size.width && y < left_.size.height &&
           has_value(map_.disparity.at(x, y)) && inside(x, y) && inside(x + shift(x, y).x, y + shift(x, y).y);
  }

  ShiftSums sums(int x, int y, int window) const {
    const Shift own = shift(x, y);
    ShiftSums sums;
    for (int j = y - window / 2; j <= y + window / 2; ++j)
      for (int i = x - window / 2; i <= x + window / 2; ++i) {
        if (!usable(i, j)) continue;
        const Shift other = shift(i, j);
        const Shift apart{other.x - own.x, other.y - own.y};
        if (std::abs(apart.x) <= 1 && std::abs(apart.y) <= 1) add(i, j, other, apart, sums);
      }
    return sums;
  }

 private:
  bool inside(int x, int y) const {
    return x > 0 && y > 0 && x < left_.size.width - 1 && y < left_.size.height - 1;
  }

  void add(int x, int y, Shift shift, Shift apart, ShiftSums& sums) const {
    const int u = x + shift.x, v = y + shift.y;
    const int gradient_x =
        left_.at(x + 1, y) - left_.at(x - 1, y) + right_.at(u + 1, v) - right_.at(u - 1, v);
    const int gradient_y =
        left_.at(x, y + 1) - left_.at(x, y - 1) + right_.at(u, v + 1) - right_.at(u, v - 1);
    const int e = 4 * (left_.at(x, y) - right_.at(u, v)) + gradient_x * apart.x + gradient_y * apart.y;
    ++sums.count;
    sums.x += gradient_x;
    sums.y += gradient_y;
    sums.e += e;
    sums.xx += gradient_x * gradient_x;
    sums.xy += gradient_x * gradient_y;
    sums.yy += gradient_y * gradient_y;
    sums.xe += gradient_x * e;
    sums.ye += gradient_y * e;
  }

  const DisparityMap& map_;
  View<const std::uint8_t> left_, right_;
};

}  // namespace

void refit_vectors_reference(const DisparityMap& map, const StereoPair& pair, int window,
                             const Shifts& shifts) {
  const Workers one(1);
  take_guide(pair.left, shifts.gray[0], one);
  take_guide(pair.right, shifts.gray[1], one);
  const Size size = map.disparity.size;
  const Refit refit(map, shifts);
  Plane<float> disparity(size), row_offset(size);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      disparity.at(x, y) = map.disparity.at(x, y);
      row_offset.at(x, y) = map.row_offset.at(x, y);
      if (!has_value(disparity.at(x, y))) continue;
      const Refit::Shift own = refit.shift(x, y);
      refit_vector(refit.sums(x, y, window), window, own.x, own.y, disparity.at(x, y), row_offset.at(x, y));
    }
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      map.disparity.at(x, y) = disparity.at(x, y);
      map.row_offset.at(x, y) = row_offset.at(x, y);
    }
}

}  // namespace parallax::refine
