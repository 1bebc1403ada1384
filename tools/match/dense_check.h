// SPDX-License-Identifier: Apache-2.0
// 'check --dense': the rows of a pair by a dense match, as a second opinion beside the corners'.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "parallax/check.h"
#include "parallax/matcher.h"

#include "tools/command/options.h"
#include "tools/match/row_offsets.h"

namespace parallax::tool {

struct DenseRequest {
  bool wanted = false;
  std::string method = "sgm", device = "cpu";
  int row_tolerance = 0;                   // 0 = as the corners need
  int min_disparity = 0, disparities = 0;  // 0 disparities: as the corners recommend
};

void add_dense_options(Options& options, DenseRequest& request);
// \throws UsageError, Error (argument), Error (device) where the method or the device does not search rows
void settle_dense_options(const Options& options, const DenseRequest& request);

struct DenseCheck {
  std::string error;  // why there is no second opinion; then nothing else counts
  MatcherParameters parameters;
  std::string device;
  RowOffsetSummary rows;
  RowOffsetSummary difference;  // from the model of the corners; without pixels where the corners have none
  double share_close = 0;       // share of the pixels whose difference is small
  Plane<float> row_offset;

  bool has_rows() const { return error.empty(); }
  // Whether the corners have a model that the match can agree with.
  bool is_compared() const { return difference.pixels > 0; }
  bool agrees() const;
  std::string sentence() const;
};

// The report is that of the same pair.
DenseCheck check_densely(const StereoPair& pair, const PairReport& report, const DenseRequest& request,
                         int threads);

nlohmann::ordered_json dense_json(const DenseCheck& dense);

}  // namespace parallax::tool
