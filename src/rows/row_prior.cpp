// SPDX-License-Identifier: Apache-2.0
#include "rows/row_prior.h"

#include "data_cost/data_cost.h"

namespace parallax::rows {
namespace {

constexpr int max_cells = 16;  // in each direction
constexpr double curvature_cost = 0.01;

// A cell of squares.
struct Cell {
  double x, y;
  std::array<double, 2 * data_cost::max_row_tolerance + 1> costs;  // by v + N

  // Between row offsets by linear interpolation.
  double cost_of(double row) const {
    const auto below = to_size(row);
    return below + 1 < costs.size()
               ? costs[below] + (row - static_cast<double>(below)) * (costs[below + 1] - costs[below])
               : costs[below];
  }
};

// The best surface so far.
class Search {
 public:
  explicit Search(const RowOffsetCosts& costs)
      : best_{costs.image, -static_cast<double>(costs.rows), static_cast<double>(costs.rows)} {
    const Size squares = costs.squares();
    const int squares_in_cell = divide_round_up(std::max(squares.width, squares.height), max_cells);
    const int side = RowOffsetCosts::side * squares_in_cell;
    for (int y = 0; y < costs.image.height; y += side)
      for (int x = 0; x < costs.image.width; x += side) add_cell(costs, x, y, side);
    min_ = cost_of(best_);
  }

  const RowSurface& best() const { return best_; }

  // Takes the surface of these coefficients if it costs less.
  bool consider(const std::array<double, 6>& c) {
    const RowSurface surface{best_.image, best_.lowest, best_.highest, c};
    const double cost = cost_of(surface);
    if (cost >= min_) return false;
    best_ = surface;
    min_ = cost;
    return true;
  }

  // Changes one coefficient at a time, as long as that lowers the costs.
  void descend(double step) {
    for (bool lower = true; lower;) {
      lower = false;
      for (std::size_t i = 0; i < best_.c.size(); ++i) {
        for (const double change : {-step, step}) {
          auto c = best_.c;
          c[i] += change;
          lower |= consider(c);
        }
      }
    }
  }

 private:
  // Adds up the squares that begin in [x, x + side) × [y, y + side).
  void add_cell(const RowOffsetCosts& costs, int x, int y, int side) {
    Cell& cell = cells_[cell_count_++];
    cell = {position(x, side, costs.image.width), position(y, side, costs.image.height), {}};
    for (int v = y; v < std::min(y + side, costs.image.height); v += RowOffsetCosts::side) {
      for (int u = x; u < std::min(x + side, costs.image.width); u += RowOffsetCosts::side) {
        const std::int64_t* of_square = costs.of(u / RowOffsetCosts::side, v / RowOffsetCosts::side);
        for (int i = 0; i < costs.offsets(); ++i) cell.costs[to_size(i)] += static_cast<double>(of_square[i]);
      }
    }
    for (int i = 0; i < costs.offsets(); ++i) mean_ += cell.costs[to_size(i)] / costs.offsets();
  }

  double cost_of(const RowSurface& surface) const {
    double sum = 0;
    for (std::size_t i = 0; i < cell_count_; ++i)
      sum += cells_[i].cost_of(surface.at(cells_[i].x, cells_[i].y) + surface.highest);
    const auto& c = surface.c;
    return sum + curvature_cost * mean_ * (std::abs(c[3]) + std::abs(c[4]) + std::abs(c[5]));
  }

  std::array<Cell, max_cells * max_cells> cells_;
  std::size_t cell_count_ = 0;
  double mean_ = 0;  // mean of all row offsets, the sum over all cells
  RowSurface best_;
  double min_;
};

}  // namespace

RowSurface fit_row_surface(const RowOffsetCosts& costs) {
  Search search(costs);
  const double quarter = costs.rows / 4.0;
  for (int level = -4; level <= 4; ++level) {
    for (int i = -2; i <= 2; ++i) {
      for (int j = -2; j <= 2; ++j) {
        search.consider({quarter * level, 2 * quarter * i, 2 * quarter * j});
        search.consider({quarter * level, 0, 0, 4 * quarter * i, 0, 4 * quarter * j});
      }
    }
  }
  constexpr double smallest_step = 1.0 / 32;
  for (double step = 2 * quarter; step >= smallest_step; step /= 2) search.descend(step);
  return search.best();
}

}  // namespace parallax::rows
