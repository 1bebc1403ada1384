// SPDX-License-Identifier: Apache-2.0
// Loops over the rows of several levels, in one parallel region where possible.
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/round_up.h"
#include "core/workers.h"

namespace parallax::belief_propagation {

// Calls body(level, first, last, slot) for ranges of rows that cover the levels [first_level, end) of an
// image of `height` rows: for rows of a level after those of the level before that are their children.
template <class Body>
void for_level_rows(const Workers& workers, int height, std::size_t first_level, std::size_t end,
                    const Body& body) {
  // One thread computes all of these levels for a band of 16 rows of the image.
  constexpr std::size_t levels_of_bands = 5;
  constexpr int band_rows = 1 << (levels_of_bands - 1);
  const auto rows_of = [&](std::size_t level) { return divide_round_up(height, 1 << level); };
  workers.for_each(divide_round_up(height, band_rows), [&](int band, int slot) {
    for (std::size_t level = first_level; level < std::min(end, levels_of_bands); ++level)
      body(level, band * band_rows >> level, std::min((band + 1) * band_rows >> level, rows_of(level)), slot);
  });
  for (std::size_t level = std::max(first_level, levels_of_bands); level < end; ++level)
    for_row_ranges(workers, rows_of(level),
                   [&](int first, int last, int slot) { body(level, first, last, slot); });
}

}  // namespace parallax::belief_propagation
