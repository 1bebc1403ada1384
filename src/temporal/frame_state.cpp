// SPDX-License-Identifier: Apache-2.0
#include "temporal/frame_state.h"

#include <algorithm>

#include "core/integers.h"

namespace parallax::temporal {

void Carrier::reserve(Arena& arena) {
  targets_ = arena.reserve_plane<std::int32_t>(size_);
  sent_ = arena.reserve_plane<Arrival>(size_);
  arrived_ = arena.reserve_plane<Arrival>({size_.width + 2 * border, size_.height + 2});
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
  for (const int y : {-1, size_.height}) std::fill_n(arrived_.row(y + 1), arrived_.stride(), Arrival{0});
  for_row_ranges(workers, size_.height, [&](int first, int last, int) { send(first, last); });
  for_rows(workers, size_.height, [&](int y, int) {
    receive_row({arrived(y - 1), arrived(y), arrived(y + 1), now.row(y), size_.width, gain,
                 to.disparity.row(y), to.words.row(y)});
  });
}

// The highest of the points that come to a pixel stays, in whatever order they come.
void Carrier::send(int first, int last) const {
  for (int y = first; y < last; ++y) std::fill_n(arrived_.row(y + 1), arrived_.stride(), Arrival{0});
  Arrival* const pixels = arrived(0);
  const auto begin = static_cast<std::int32_t>(first * arrived_.stride()),
             end = static_cast<std::int32_t>(last * arrived_.stride());
  for (int y = 0; y < size_.height; ++y) {
    if (reaches_[y].last <= first || reaches_[y].first >= last) continue;
    const std::int32_t* targets = targets_.row(y);
    const Arrival* sent = sent_.row(y);
    for (int x = 0; x < size_.width; ++x)
      if (targets[x] >= begin && targets[x] < end) pixels[targets[x]] = std::max(pixels[targets[x]], sent[x]);
  }
}

}  // namespace parallax::temporal
