// SPDX-License-Identifier: Apache-2.0
// Preparation of the images for block matching on the CPU: the prefilter, the extended left and the mirrored
// right image, and the texture check.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "matchers/block/cpu_kernels.h"

namespace parallax::block {

// Writes the row with its border pixels repeated `radius` times.
inline void extend_row(const std::uint16_t* row, const SweepShape& shape, std::uint16_t* out) {
  std::fill_n(out, shape.radius, row[0]);
  std::copy_n(row, shape.width, out + shape.radius);
  std::fill_n(out + shape.radius + shape.width, shape.radius, row[shape.width - 1]);
}

// Writes the row from right to left, its border pixels repeated, up to the farthest column a label reaches.
inline void mirror_row(const std::uint16_t* row, const SweepShape& shape, std::uint16_t* out) {
  const std::int64_t count = shape.right_columns();
  const std::int64_t last = shape.right_index(0), first = shape.right_index(shape.width - 1);
  const std::int64_t begin = std::clamp<std::int64_t>(first, 0, count),
                     end = std::clamp<std::int64_t>(last + 1, 0, count);
  std::fill(out, out + begin, row[shape.width - 1]);
  for (std::int64_t j = begin; j < end; ++j) out[j] = row[last - j];
  std::fill(out + end, out + count, row[0]);
}

// Horizontal Sobel response clipped to ±cap, plus cap. Beyond the border the image repeats its border pixels.
// `Slope` holds any response: 16 bits suffice for 8-bit images, and double the number of lanes.
template <class Slope>
void sobel_row(View<const std::uint16_t> gray, int y, int cap, std::uint16_t* out) {
  const int width = gray.size.width;
  const std::uint16_t* above = gray.row(std::max(y - 1, 0));
  const std::uint16_t* row = gray.row(y);
  const std::uint16_t* below = gray.row(std::min(y + 1, gray.size.height - 1));
  const auto limit = static_cast<Slope>(cap);
  const auto response = [&](int left, int right) {
    const auto slope = static_cast<Slope>(above[right] - above[left] + 2 * (row[right] - row[left]) +
                                          below[right] - below[left]);
    return static_cast<std::uint16_t>(std::clamp<Slope>(slope, static_cast<Slope>(-limit), limit) + limit);
  };
  out[0] = response(0, std::min(1, width - 1));
  for (int x = 1; x + 1 < width; ++x) out[x] = response(x - 1, x + 1);
  out[width - 1] = response(std::max(width - 2, 0), width - 1);
}

inline void sobel_row(View<const std::uint16_t> gray, BitDepth depth, int y, int cap, std::uint16_t* out) {
  if (depth == BitDepth::bits8)
    sobel_row<std::int16_t>(gray, y, cap, out);
  else
    sobel_row<std::int32_t>(gray, y, cap, out);
}

// Marks the pixels in whose window the absolute Sobel responses sum to less than a threshold.
class TextureCheck {
 public:
  // The buffers hold one element a column.
  TextureCheck(View<const std::uint16_t> gray, BitDepth depth, int radius, int cap, std::int64_t threshold,
               std::uint16_t* responses, std::int64_t* column_sums)
      : gray_(gray),
        depth_(depth),
        radius_(radius),
        cap_(cap),
        threshold_(threshold),
        responses_(responses),
        column_sums_(column_sums) {}

  void mark_rows(View<std::uint8_t> textureless, int first, int last) {
    std::fill_n(column_sums_, gray_.size.width, 0);
    for (int y = first - 1 - radius_; y < first + radius_; ++y) add_row(y, 1);
    for (int y = first; y < last; ++y) {
      add_row(y + radius_, 1);
      add_row(y - radius_ - 1, -1);
      mark_row(textureless.row(y));
    }
  }

 private:
  void add_row(int y, int sign) {
    sobel_row(gray_, depth_, std::clamp(y, 0, gray_.size.height - 1), cap_, responses_);
    for (int x = 0; x < gray_.size.width; ++x) column_sums_[x] += sign * std::abs(responses_[x] - cap_);
  }

  void mark_row(std::uint8_t* textureless) const {
    const int width = gray_.size.width;
    const auto column = [&](int x) { return column_sums_[std::clamp(x, 0, width - 1)]; };
    std::int64_t sum = 0;
    for (int x = -radius_ - 1; x < radius_; ++x) sum += column(x);
    for (int x = 0; x < width; ++x) {
      sum += column(x + radius_) - column(x - radius_ - 1);
      textureless[x] = sum < threshold_;
    }
  }

  View<const std::uint16_t> gray_;
  BitDepth depth_;
  int radius_, cap_;
  std::int64_t threshold_;
  std::uint16_t* responses_;
  std::int64_t* column_sums_;
};

}  // namespace parallax::block
