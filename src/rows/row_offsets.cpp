// SPDX-License-Identifier: Apache-2.0
#include "rows/row_offsets.h"

#include <algorithm>
#include <cstdlib>

#include "decision/values.h"

namespace parallax::rows {
namespace {

using decision::has_value, decision::no_value;

// Gives the pixels of a row without a row offset that of the nearest pixel that has one; ties go to the left
// one. Returns whether there is one.
bool fill_along(float* offsets, int width) {
  int last = -1;  // the last pixel with a value
  for (int x = 0; x <= width; ++x) {
    if (x < width && !has_value(offsets[x])) continue;
    const int middle = last < 0 ? 0 : x == width ? width : last + (x - last) / 2 + 1;
    if (last >= 0) std::fill(offsets + last + 1, offsets + middle, offsets[last]);
    if (x < width) std::fill(offsets + middle, offsets + x, offsets[x]);
    last = x < width ? x : last;
  }
  return last >= 0;
}

}  // namespace

void fill_row_offsets(const DisparityMap& map, int reach, const Workers& workers) {
  const View<float> offsets = map.row_offset;
  const Size size = offsets.size;
  for_rows(workers, size.height, [&](int y, int) {
    float* row = offsets.row(y);
    for (int x = 0; x < size.width; ++x)
      if (!has_value(map.disparity.at(x, y))) row[x] = no_value;
    fill_along(row, size.width);
  });
  // A row has values everywhere or nowhere now.
  const auto fill_from_rows_before = [&](int first, int step) {
    int source = -1;  // the last row with values
    for (int y = first; y >= 0 && y < size.height; y += step) {
      if (has_value(offsets.at(0, y)))
        source = y;
      else if (source >= 0 && std::abs(y - source) <= reach)
        std::copy_n(offsets.row(source), size.width, offsets.row(y));
    }
  };
  fill_from_rows_before(0, 1);
  fill_from_rows_before(size.height - 1, -1);
}

void clear_row_offsets(const DisparityMap& map, const Workers& workers) {
  for_rows(workers, map.disparity.size.height, [&](int y, int) {
    for (int x = 0; x < map.disparity.size.width; ++x)
      if (!has_value(map.disparity.at(x, y))) map.row_offset.at(x, y) = no_value;
  });
}

}  // namespace parallax::rows
