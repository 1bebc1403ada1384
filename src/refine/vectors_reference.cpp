// SPDX-License-Identifier: Apache-2.0
// The specification of the fill, written directly from vectors.h.
#include <algorithm>
#include <cstdlib>

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
        if (!has_value(map.disparity.at(i, j))) continue;
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

}  // namespace

void fill_vectors_reference(const DisparityMap& map, const RightMap& scratch) {
  const Size size = map.disparity.size;
  for (int y = 0; y < size.height; ++y) {
    std::copy_n(map.disparity.row(y), size.width, scratch.disparity.row(y));
    std::copy_n(map.row_offset.row(y), size.width, scratch.row_offset.row(y));
  }
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      if (has_value(scratch.disparity.at(x, y)) || map.status.at(x, y) == code(Status::input_masked))
        continue;
      const FirstMet met(scratch, x, y);
      if (met.count == 0) continue;
      const Vector vector = met.median();
      map.disparity.at(x, y) = vector.d;
      map.row_offset.at(x, y) = vector.v;
      map.status.at(x, y) = code(Status::filled);
    }
}

}  // namespace parallax::refine
