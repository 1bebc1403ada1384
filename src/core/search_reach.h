// SPDX-License-Identifier: Apache-2.0
// The columns on both sides of a left pixel that a search along its row reads, in both images.
#pragma once

#include <algorithm>

namespace parallax {

struct SearchReach {
  int left, right;  // columns, 0 or more
};

// A left pixel x is compared with right pixels from x − highest to x − lowest. The left-right check reads the
// right map at one of these, which depends on left pixels up to highest − lowest columns from x. Disparities
// of the image's width or more lead out of the image.
inline SearchReach search_reach(int lowest, int highest, int image_width, bool left_right_check) {
  lowest = std::max(lowest, 1 - image_width);
  highest = std::min(highest, image_width - 1);
  const int back = left_right_check ? highest - lowest : 0;
  return {std::max({0, highest, back}), std::max({0, -lowest, back})};
}

}  // namespace parallax
