// SPDX-License-Identifier: Apache-2.0
// The specification of the steps for vectors, written directly from vectors.h and refit_vectors.h.
#include <cmath>
#include <cstdlib>

#include "refine/guide.h"
#include "refine/refit_vectors.h"
#include "refine/vectors.h"

namespace parallax::refine {
namespace {

struct Vector {
  float d, v;
};

// The vectors that a pixel meets first.
struct FirstMet {
  static constexpr int directions = 8;
  static constexpr int step_x[] = {0, 0, -1, 1, -1, 1, -1, 1}, step_y[] = {-1, 1, 0, 0, -1, -1, 1, 1};

  Vector vectors[directions];
  int count = 0;

  FirstMet(const RightMap& map, int x, int y) {
    const Size size = map.disparity.size;
    for (int direction = 0; direction < directions; ++direction) {
      int i = x, j = y;
      for (int step = 0; step < fill_reach; ++step) {
        i += step_x[direction];
        j += step_y[direction];
        if (i < 0 || j < 0 || i >= size.width || j >= size.height) break;
        if (!decision::has_value(map.disparity.at(i, j))) continue;
        vectors[count++] = {map.disparity.at(i, j), map.row_offset.at(i, j)};
        break;
      }
    }
  }

  float distances(Vector from) const {
    float sum = 0;
    for (int i = 0; i < count; ++i) sum += std::abs(vectors[i].d - from.d) + std::abs(vectors[i].v - from.v);
    return sum;
  }

  // Requires at least one vector.
  Vector median() const {
    Vector best = vectors[0];
    float least = distances(best);
    for (int i = 1; i < count; ++i) {
      const float sum = distances(vectors[i]);
      if (sum >= least) continue;
      least = sum;
      best = vectors[i];
    }
    return best;
  }
};

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
           decision::has_value(map_.disparity.at(x, y)) && inside(x, y) &&
           inside(x + shift(x, y).x, y + shift(x, y).y);
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

void fill_vectors_reference(const DisparityMap& map, const RightMap& scratch) {
  const Size size = map.disparity.size;
  copy_map(map.disparity, scratch.disparity);
  copy_map(map.row_offset, scratch.row_offset);
  for (int y = 0; y < size.height; ++y) {
    stop_if_cancelled();
    for (int x = 0; x < size.width; ++x) {
      if (decision::has_value(scratch.disparity.at(x, y)) ||
          map.status.at(x, y) == decision::code(Status::input_masked))
        continue;
      const FirstMet met(scratch, x, y);
      if (met.count == 0) continue;
      const Vector vector = met.median();
      map.disparity.at(x, y) = vector.d;
      map.row_offset.at(x, y) = vector.v;
      map.status.at(x, y) = decision::code(Status::filled);
    }
  }
}

void refit_vectors_reference(const DisparityMap& map, const StereoPair& pair, int window,
                             const Shifts& shifts) {
  const Workers one(1);
  take_guide(pair.left, shifts.gray[0], one);
  take_guide(pair.right, shifts.gray[1], one);
  const Size size = map.disparity.size;
  const Refit refit(map, shifts);
  Plane<float> disparity(size), row_offset(size);
  copy_map(map.disparity, disparity.view());
  copy_map(map.row_offset, row_offset.view());
  for (int y = 0; y < size.height; ++y) {
    stop_if_cancelled();
    for (int x = 0; x < size.width; ++x) {
      if (!decision::has_value(disparity.at(x, y))) continue;
      const Refit::Shift own = refit.shift(x, y);
      refit_vector(refit.sums(x, y, window), window, own.x, own.y, disparity.at(x, y), row_offset.at(x, y));
    }
  }
  copy_map(disparity.view(), map.disparity);
  copy_map(row_offset.view(), map.row_offset);
}

}  // namespace parallax::refine
