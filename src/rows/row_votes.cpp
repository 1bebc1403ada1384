// SPDX-License-Identifier: Apache-2.0
#include "rows/row_votes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "data_cost/data_cost.h"

namespace parallax::rows {

void RowVotes::settle() const {
  const bool has_prior = row_prior_ > 0 && own_.rows > 0;
  const RowSurface surface = has_prior ? fit_row_surface(own_) : RowSurface{};
  const double prior = has_prior ? row_prior_ * mean_of_squares() : 0;
  std::array<double, 2 * data_cost::max_row_tolerance + 1> costs;
  for (int y = 0; y < squares().height; ++y) {
    for (int x = 0; x < squares().width; ++x) {
      const int count = add_up(x, y);
      const double expected = surface.over(x * side, y * side, side);
      for (int i = 0; i < offsets(); ++i)
        costs[to_size(i)] = static_cast<double>(sums_[own_.index(x, y) + i]) +
                            prior * count * std::abs(i - own_.rows - expected);
      order(costs.data(), order_ + own_.index(x, y));
    }
  }
}

int RowVotes::add_up(int x, int y) const {
  std::int64_t* sums = sums_ + own_.index(x, y);
  std::fill_n(sums, offsets(), 0);
  int count = 0;
  for (int v = std::max(0, y - 1); v < std::min(y + 2, squares().height); ++v) {
    for (int u = std::max(0, x - 1); u < std::min(x + 2, squares().width); ++u, ++count)
      for (int i = 0; i < offsets(); ++i) sums[i] += own(u, v)[i];
  }
  return count;
}

// By insertion, of 0, −1, 1, −2, 2 …
void RowVotes::order(const double* costs, std::int8_t* order) const {
  for (int i = 0; i < offsets(); ++i) {
    const int v = i % 2 == 0 ? i / 2 : -(i + 1) / 2;
    int place = i;
    for (; place > 0 && costs[order[place - 1] + own_.rows] > costs[v + own_.rows]; --place)
      order[place] = order[place - 1];
    order[place] = static_cast<std::int8_t>(v);
  }
}

double RowVotes::mean_of_squares() const {
  const double sum =
      static_cast<double>(std::accumulate(own_.costs, own_.costs + own_.count(), std::int64_t{0}));
  return sum / static_cast<double>(own_.count());
}

}  // namespace parallax::rows
