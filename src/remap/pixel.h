// SPDX-License-Identifier: Apache-2.0
// The value of one channel at one position, by the equations of remap.h.
#pragma once

#include <algorithm>
#include <limits>

#include "remap/remap.h"

namespace parallax::remap {

// One channel of an image.
template <class T>
struct Channel {
  const std::byte* data;
  std::ptrdiff_t stride_bytes;
  int channels;
  Size size;

  int at(int x, int y) const {
    return reinterpret_cast<const T*>(data + y * stride_bytes)[static_cast<std::ptrdiff_t>(x) * channels];
  }
};

template <class T>
Channel<T> channel_of(const ImageView& image, int channel) {
  return {static_cast<const std::byte*>(image.data) + static_cast<std::size_t>(channel) * sizeof(T),
          image.stride_bytes, image.channels, image.format.size};
}

// x, y: the position in 1/64 pixels. Neighbours beyond the last column and row have weight 0.
template <class T>
T bilinear(const Channel<T>& image, int x, int y) {
  const int column = x >> fraction_bits, row = y >> fraction_bits, fx = x % steps, fy = y % steps;
  const int next_column = std::min(column + 1, image.size.width - 1),
            next_row = std::min(row + 1, image.size.height - 1);
  const int above = (steps - fx) * image.at(column, row) + fx * image.at(next_column, row);
  const int below = (steps - fx) * image.at(column, next_row) + fx * image.at(next_column, next_row);
  const int half = steps / 2;
  return static_cast<T>((above + (((below - above) * fy + half) >> fraction_bits) + half) >> fraction_bits);
}

template <class T>
T lanczos(const Channel<T>& image, const Taps& table, int x, int y) {
  constexpr int kept = kept_bits(sizeof(T) == 1 ? BitDepth::bits8 : BitDepth::bits16);
  constexpr int dropped = tap_bits - kept, last = tap_bits + kept;
  const int column = (x >> fraction_bits) - 2, row = (y >> fraction_bits) - 2;
  const auto& across = table[static_cast<std::size_t>(x % steps)];
  const auto& down = table[static_cast<std::size_t>(y % steps)];
  int value = 1 << (last - 1);
  for (int i = 0; i < taps; ++i) {
    int sum = 1 << (dropped - 1);
    for (int j = 0; j < taps; ++j)
      sum += down[static_cast<std::size_t>(j)] *
             image.at(std::min(column + i, image.size.width - 1), std::min(row + j, image.size.height - 1));
    value += across[static_cast<std::size_t>(i)] * (sum >> dropped);
  }
  return static_cast<T>(std::clamp<int>(value >> last, 0, std::numeric_limits<T>::max()));
}

}  // namespace parallax::remap
