// SPDX-License-Identifier: Apache-2.0
#include "temporal/frame_state.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/integers.h"
#include "decision/values.h"

namespace parallax::temporal {

using decision::no_value;

void Carrier::reserve(Arena& arena) {
  targets_ = arena.reserve_plane<std::int32_t>(size_);
  sent_ = arena.reserve_plane<Arrival>(size_);
  arrived_ = arena.reserve_plane<Arrival>(size_);
  reaches_ = arena.reserve<Reach>(to_size(size_.height));
}

void Carrier::carry(const Points& from, const CameraMotion& motion, View<const std::uint8_t> before,
                    View<const std::uint8_t> now, int gain, const Points& to, const Workers& workers) const {
  const int last_row = size_.height - 1;
  for_rows(workers, size_.height, [&](int y, int) {
    const MovedRow row{from.disparity.row(y),
                       from.words.row(y),
                       before.row(std::max(y - 1, 0)),
                       before.row(y),
                       before.row(std::min(y + 1, last_row)),
                       size_,
                       y,
                       arrived_.stride(),
                       targets_.row(y),
                       sent_.row(y)};
    int first = size_.height, last = -1;
    move_row(row, motion, first, last);
    reaches_[y] = {first, last + 1};
  });
  for_row_ranges(workers, size_.height, [&](int first, int last, int) { send(first, last); });
  for_rows(workers, size_.height, [&](int y, int) {
    const ReceivedRow row{arrived_.row(y),     now.row(y),     size_.width, gain,
                          to.disparity.row(y), to.words.row(y)};
    if (receive_row(row)) close_gaps(row, y);
  });
}

// The highest of the points that come to a pixel stays, in whatever order they come.
void Carrier::send(int first, int last) const {
  for (int y = first; y < last; ++y) std::fill_n(arrived_.row(y), size_.width, Arrival{0});
  const auto begin = static_cast<std::int32_t>(first * arrived_.stride()),
             end = static_cast<std::int32_t>(last * arrived_.stride());
  for (int y = 0; y < size_.height; ++y) {
    if (reaches_[y].last <= first || reaches_[y].first >= last) continue;
    const std::int32_t* targets = targets_.row(y);
    const Arrival* sent = sent_.row(y);
    for (int x = 0; x < size_.width; ++x)
      if (targets[x] >= begin && targets[x] < end)
        arrived_.data[targets[x]] = std::max(arrived_.data[targets[x]], sent[x]);
  }
}

void Carrier::close_gaps(const ReceivedRow& row, int y) const {
  const auto [width, height] = size_;
  const auto at = [&](int i, int j) {
    return i < 0 || j < 0 || i >= width || j >= height ? 0 : arrived_.at(i, j);
  };
  const auto between = [](Arrival a, Arrival b) -> Arrival {
    if (a == 0 || b == 0 || !(std::abs(disparity_of(a) - disparity_of(b)) < one_surface)) return 0;
    const PointWord one = PointWord::of(static_cast<std::uint32_t>(a)),
                    other = PointWord::of(static_cast<std::uint32_t>(b));
    const PointWord mean{std::min(one.age, other.age), 0, 0, (one.gray + other.gray) / 2};
    return arrival(0.5f * (disparity_of(a) + disparity_of(b)), mean.bits());
  };
  for (int x = 0; x < width; ++x) {
    if (row.arrived[x] != 0) continue;
    Arrival mean = between(at(x - 1, y), at(x + 1, y));
    if (mean == 0) mean = between(at(x, y - 1), at(x, y + 1));
    receive(row, x, mean);
  }
}

void receive(const ReceivedRow& row, int x, Arrival point) {
  const auto word = static_cast<std::uint32_t>(point);
  const int expected = static_cast<int>(word & 255) * row.gain;
  const int difference = std::min(254, (std::abs(256 * row.now[x] - expected) + 128) >> 8);
  row.disparity[x] = point == 0 ? no_value : disparity_of(point);
  row.words[x] =
      point == 0 ? PointWord{.gray = 255}.bits() : (word & ~255u) | static_cast<unsigned>(difference);
}

}  // namespace parallax::temporal
