// SPDX-License-Identifier: Apache-2.0
#include "temporal/frame_state.h"

#include <algorithm>

#include "core/integers.h"

namespace parallax::temporal {

void Carrier::reserve(Arena& arena) {
  const std::size_t width = to_size(size_.width);
  scratch_ = arena.reserve<Scratch>(to_size(slots_));
  late_ = arena.reserve<Late>(to_size(size_.height));
  for (int slot = 0; slot < slots_; ++slot) {
    const Scratch scratch{arena.reserve<std::uint8_t>(width + 2), arena.reserve<std::int32_t>(width),
                          arena.reserve<Arrival>(width)};
    if (scratch_ != nullptr) scratch_[slot] = scratch;
  }
  for (int y = 0; y < size_.height; ++y) {
    const Late late{arena.reserve<std::int32_t>(width), arena.reserve<Arrival>(width), 0};
    if (late_ != nullptr) late_[y] = late;
  }
  arrived_ = arena.reserve_plane<Arrival>({size_.width + 2 * border, size_.height + 2});
}

void Carrier::send(const Points& from, const CameraMotion& motion, View<const std::uint8_t> before,
                   const Workers& workers) const {
  for (const int y : {-1, size_.height}) std::fill_n(arrived_.row(y + 1), arrived_.stride(), Arrival{0});
  for_row_ranges(workers, size_.height, [&](int first, int last, int slot) {
    send_rows(from, motion, before, first, last, scratch_[slot]);
  });
  for_row_ranges(workers, size_.height, [&](int first, int last, int) { receive_late(first, last); });
}

// Sends the points of some rows: at once, those that arrive in the same rows.
void Carrier::send_rows(const Points& from, const CameraMotion& motion, View<const std::uint8_t> before,
                        int first, int last, const Scratch& scratch) const {
  for (int y = first; y < last; ++y) std::fill_n(arrived_.row(y + 1), arrived_.stride(), Arrival{0});
  const auto begin = static_cast<std::int32_t>(first * arrived_.stride()),
             end = static_cast<std::int32_t>(last * arrived_.stride());
  std::uint8_t* gray = scratch.gray + 1;
  for (int y = first; y < last; ++y) {
    std::copy_n(before.row(y), size_.width, gray);
    gray[-1] = gray[0];
    gray[size_.width] = gray[size_.width - 1];
    move_row({from.disparity.row(y), from.words.row(y), before.row(std::max(y - 1, 0)), gray,
              before.row(std::min(y + 1, size_.height - 1)), size_, y, arrived_.stride(), scratch.targets,
              scratch.points},
             motion);
    Late& late = late_[y];
    late.count = 0;
    for (int x = 0; x < size_.width; ++x) {
      const std::int32_t target = scratch.targets[x];
      if (target >= begin && target < end) {
        arrive(target, scratch.points[x]);
      } else if (target >= 0) {
        late.targets[late.count] = target;
        late.points[late.count++] = scratch.points[x];
      }
    }
  }
}

void Carrier::receive_late(int first, int last) const {
  const auto begin = static_cast<std::int32_t>(first * arrived_.stride()),
             end = static_cast<std::int32_t>(last * arrived_.stride());
  for (int y = 0; y < size_.height; ++y)
    for (int i = 0; i < late_[y].count; ++i)
      if (late_[y].targets[i] >= begin && late_[y].targets[i] < end)
        arrive(late_[y].targets[i], late_[y].points[i]);
}

// The highest of the points that come to a pixel stays, in whatever order they come.
void Carrier::arrive(std::int32_t target, Arrival point) const {
  Arrival& there = arrived(0)[target];
  there = std::max(there, point);
}

void Carrier::receive(int y, const std::uint8_t* now, int gain, float* disparity,
                      std::uint32_t* words) const {
  receive_row({arrived(y - 1), arrived(y), arrived(y + 1), now, size_.width, gain, disparity, words});
}

}  // namespace parallax::temporal
