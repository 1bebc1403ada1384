// SPDX-License-Identifier: Apache-2.0
// What a map of row offsets says about a pair, in the words of 'parallax check'.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "parallax/image.h"

namespace parallax::tool {

// All in pixels; positive = lower in the right picture. All 0 where no pixel has a row offset.
struct RowOffsetSummary {
  std::size_t pixels = 0;  // with a row offset
  double mean = 0, median = 0, percentile_5 = 0, percentile_95 = 0;
  double rows_off = 0, rows_off_95 = 0;  // median and 95 % quantile of the absolute values
  // The model of RowModel with these coefficients only: at the edge of the picture.
  double shift = 0, rotation = 0, scale = 0;
};

// Samples at most some 100,000 pixels, spread evenly, of a map that comes in parts of full rows.
class RowOffsetSampler {
 public:
  explicit RowOffsetSampler(Size map);
  void add(int first_row, View<const float> disparity, View<const float> row_offset);
  RowOffsetSummary summary() const;

  struct Sample {
    std::array<double, 3> terms;  // coefficients of shift, rotation and scale
    double rows;
  };

 private:
  Size map_;
  int step_;
  std::size_t pixels_ = 0;
  std::vector<Sample> samples_;
};

RowOffsetSummary summarise_row_offsets(View<const float> disparity, View<const float> row_offset);

std::string describe_row_offsets(const RowOffsetSummary& summary);
nlohmann::ordered_json row_offsets_json(const RowOffsetSummary& summary);

}  // namespace parallax::tool
