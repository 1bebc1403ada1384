// SPDX-License-Identifier: Apache-2.0
#include "refine/row_votes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "data_cost/data_cost.h"

namespace parallax::refine {
namespace {

double centre(int square, int length) {
  const int first = square * RowVotes::side;
  return data_cost::position(first, std::min(first + RowVotes::side, length), length);
}

}  // namespace

void RowVotes::settle() const {
  const bool has_prior = row_prior_ > 0 && rows_ > 0;
  const data_cost::RowSurface surface =
      has_prior ? data_cost::fit_row_surface({image_, rows_, own_}) : data_cost::RowSurface{};
  const double prior = has_prior ? row_prior_ * mean_of_squares() : 0;
  std::array<std::int64_t, 2 * data_cost::most_row_tolerance + 1> preference;
  for (int y = 0; y < squares_.height; ++y) {
    for (int x = 0; x < squares_.width; ++x) {
      const int count = add_up(x, y);
      const double expected = surface.at(centre(x, image_.width), centre(y, image_.height));
      for (int i = 0; i < offsets(); ++i)
        preference[static_cast<std::size_t>(i)] =
            sums_[at(x, y) + i] + std::llround(prior * count * std::abs(i - rows_ - expected));
      order(preference.data(), order_ + at(x, y));
    }
  }
}

int RowVotes::add_up(int x, int y) const {
  std::int64_t* sums = sums_ + at(x, y);
  std::fill_n(sums, offsets(), 0);
  int count = 0;
  for (int v = std::max(0, y - 1); v < std::min(y + 2, squares_.height); ++v) {
    for (int u = std::max(0, x - 1); u < std::min(x + 2, squares_.width); ++u, ++count)
      for (int i = 0; i < offsets(); ++i) sums[i] += own(u, v)[i];
  }
  return count;
}

// By insertion, of 0, −1, 1, −2, 2 …
void RowVotes::order(const std::int64_t* sums, std::int8_t* order) const {
  for (int i = 0; i < offsets(); ++i) {
    const int v = i % 2 == 0 ? i / 2 : -(i + 1) / 2;
    int place = i;
    for (; place > 0 && sums[order[place - 1] + rows_] > sums[v + rows_]; --place)
      order[place] = order[place - 1];
    order[place] = static_cast<std::int8_t>(v);
  }
}

double RowVotes::mean_of_squares() const {
  const std::size_t count = squares_.pixels() * static_cast<std::size_t>(offsets());
  return static_cast<double>(std::accumulate(own_, own_ + count, std::int64_t{0})) /
         static_cast<double>(count);
}

}  // namespace parallax::refine
