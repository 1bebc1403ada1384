// SPDX-License-Identifier: Apache-2.0
#include "data_cost/row_plane.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "core/round_up.h"

namespace parallax::data_cost {
namespace {

constexpr int side = RowOffsetCosts::side;

// The centre of a square, the last of which may be smaller, as a share of the image's width or height.
double centre(int square, int length) {
  return (square * side + std::min(length, (square + 1) * side)) / (2.0 * length);
}

double cost_of(const RowPlane& plane, const RowOffsetCosts& costs) {
  const Size squares = RowOffsetCosts::squares(costs.image);
  const int offsets = 2 * costs.rows + 1;
  const std::int64_t* square = costs.costs;
  double sum = 0;
  for (int y = 0; y < squares.height; ++y) {
    for (int x = 0; x < squares.width; ++x, square += offsets) {
      const double v = plane.at(centre(x, costs.image.width), centre(y, costs.image.height)) + costs.rows;
      const int below = std::min(static_cast<int>(v), offsets - 2);
      sum += static_cast<double>(square[below]) +
             (v - below) * static_cast<double>(square[below + 1] - square[below]);
    }
  }
  return sum;
}

// The best plane so far.
class Search {
 public:
  explicit Search(const RowOffsetCosts& costs)
      : costs_(costs), best_{costs.rows}, least_(cost_of(best_, costs)) {}

  const RowPlane& best() const { return best_; }

  bool consider(const RowPlane& plane) {
    const double cost = cost_of(plane, costs_);
    if (cost >= least_) return false;
    best_ = plane;
    least_ = cost;
    return true;
  }

  // Changes one coefficient at a time, as long as that lowers the costs.
  void descend(double step) {
    constexpr std::array coefficients{&RowPlane::middle, &RowPlane::by_width, &RowPlane::by_height};
    for (bool lower = true; lower;) {
      lower = false;
      for (const auto coefficient : coefficients) {
        for (const double change : {-step, step}) {
          RowPlane plane = best_;
          plane.*coefficient += change;
          lower |= consider(plane);
        }
      }
    }
  }

 private:
  const RowOffsetCosts& costs_;
  RowPlane best_;
  double least_;
};

}  // namespace

double RowPlane::at(double x, double y) const {
  return std::clamp<double>(middle + by_width * (x - 0.5) + by_height * (y - 0.5), -rows, rows);
}

Size RowOffsetCosts::squares(Size image) {
  return {divide_round_up(image.width, side), divide_round_up(image.height, side)};
}

RowPlane fit_row_plane(const RowOffsetCosts& costs) {
  Search search(costs);
  const double rows = costs.rows;
  for (int middle = -4; middle <= 4; ++middle)
    for (int by_width = -2; by_width <= 2; ++by_width)
      for (int by_height = -2; by_height <= 2; ++by_height)
        search.consider({costs.rows, rows * middle / 4, rows * by_width, rows * by_height});
  constexpr double smallest_step = 1.0 / 32;
  for (double step = rows / 4; step >= smallest_step; step /= 2) search.descend(step);
  return search.best();
}

}  // namespace parallax::data_cost
