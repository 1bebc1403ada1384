// SPDX-License-Identifier: Apache-2.0
// The gray image of the next coarser scale or level.
#pragma once

#include <algorithm>
#include <cstdint>

#include "parallax/image.h"

namespace parallax::motion {

// Row y of the coarse image: the rounded means of up to four children.
inline void halve_row(View<const std::uint16_t> fine, View<std::uint16_t> coarse, int y) {
  const std::uint16_t *above = fine.row(2 * y), *below = fine.row(std::min(2 * y + 1, fine.size.height - 1));
  std::uint16_t* out = coarse.row(y);
  // If there are two children, each counts twice.
  const auto mean = [](int a, int b, int c, int d) {
    return static_cast<std::uint16_t>((a + b + c + d + 2) / 4);
  };
  const int pairs = fine.size.width / 2;
  for (int x = 0; x < pairs; ++x)
    out[x] = mean(above[2 * x], above[2 * x + 1], below[2 * x], below[2 * x + 1]);
  if (pairs < coarse.size.width)
    out[pairs] = mean(above[2 * pairs], above[2 * pairs], below[2 * pairs], below[2 * pairs]);
}

}  // namespace parallax::motion
