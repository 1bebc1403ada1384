// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "refine/refine.h"

namespace parallax::refine {

void copy_bordered(View<const float> disparity, int window, View<float> scratch, const Workers& workers) {
  const Size size = bordered_size(disparity.size, window);
  const int border = window / 2;
  for_row_ranges(workers, size.height, [&](int first, int last, int) {
    for (int y = first; y < last; ++y) {
      float* out = scratch.row(y);
      std::fill_n(out, size.width, no_value);
      if (y >= border && y < border + disparity.size.height)
        std::copy_n(disparity.row(y - border), disparity.size.width, out + border);
    }
  });
}

}  // namespace parallax::refine
