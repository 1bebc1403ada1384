// SPDX-License-Identifier: Apache-2.0
// Data costs of a row of neighbouring pixels: DataCosts::at(), by request minus the least of each pixel, but
// not below 0, and cut at a bound.
#pragma once

#include <cstddef>
#include <cstdint>

#include "data_cost/features.h"

namespace parallax::data_cost {

// Size of the windows that mean_absolute_difference compares.
inline constexpr int window_radius = 2;
inline constexpr int window_rows = 2 * window_radius + 1;
static_assert(window_rows <= max_feature_planes);

struct RowCosts {
  int labels;
  Feature feature;
  // Windows are compared instead of pixels. The planes are then the rows of the window, with `window_radius`
  // repeated samples on both sides.
  bool windows;
  // Label k of pixel x compares element x of the left planes with element x + labels − 1 − k of the right.
  const void* left[max_feature_planes];
  const void* right[max_feature_planes];
  const std::uint8_t* left_valid;   // 255 where the pixel has data costs, else 0
  const std::uint8_t* right_valid;  // 255 where there is a right pixel, else 0
  // Costs of integer differences 0…255, and the outside cost, are bytes, and differences are integers or cost
  // as many units as their next integer; out_bytes is 1 then.
  bool simple;
  const std::uint8_t* table;
  int table_end;  // differences from here on have the cost of the last entry
  bool same;      // smaller differences cost as many units
  // Otherwise costs are computed as floats.
  float scale;
  int differences;
  float outside;
  bool subtracts_least;  // subtracts each pixel's lowest cost from all its costs
  int bound;             // costs are limited to this
  // Pixels first … first + count − 1 are wanted; those up to a full widest vector of bytes are written, too.
  int first, count;
  void* out;  // pixel first + i of label k is element k·stride + i
  int out_bytes;
  std::ptrdiff_t stride;
  void* scratch;  // row_costs_scratch() bytes
};

// The maximum number of pixels computed at once.
inline constexpr int max_at_once = 256;
inline std::size_t row_costs_scratch(int labels) {
  constexpr std::size_t sums = (max_at_once + 2 * widest_vector_bytes) * sizeof(float);
  constexpr std::size_t units = widest_vector_bytes * sizeof(float), levels = max_at_once;
  return to_size(labels) * (units + levels) + sums;
}

void write_row_costs(const RowCosts& row);

// The same from costs in `units`, [label][widest_vector_bytes], for as many pixels.
void settle_costs(const float* units, const RowCosts& row);

}  // namespace parallax::data_cost
