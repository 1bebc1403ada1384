// SPDX-License-Identifier: Apache-2.0
// The share of smoothness that remains across an edge of the image.
#pragma once

#include <cmath>
#include <cstddef>

#include "data_cost/data_cost.h"

namespace parallax::data_cost {

// Size of tables by the rounded difference in gray levels, 0…256.
inline constexpr std::size_t edge_table_size = highest_difference / per_level + 2;

// `difference`: difference between two samples.
inline int edge_index(int difference) {
  return (difference + per_level / 2) / per_level;
}

// The share of the smoothness that remains between pixels that differ by `levels` gray levels; with contrast
// 0, all of it.
inline double edge_weight(int levels, float contrast, float floor) {
  if (contrast == 0) return 1;
  return floor + (1.0 - floor) * std::exp(-levels / static_cast<double>(contrast));
}

}  // namespace parallax::data_cost
