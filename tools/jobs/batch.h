// SPDX-License-Identifier: Apache-2.0
// 'parallax batch': many pairs of any size in one process.
#pragma once

#include <string>
#include <vector>

#include "tools/jobs/pair_list.h"
#include "tools/match/match.h"

namespace parallax::tool {

struct BatchRequest {
  Search search;            // common to all pairs
  Input input;              // the rig of all pairs, and what their calibrations do not say
  std::string list, right;  // or LEFT and RIGHT
  PictureOptions pictures;
  Outputs outputs;         // patterns
  double truth_scale = 0;  // scale of the truth that the list names
  std::string truth_none;  // TruthFile::unknown of it
  std::string results;     // the table
  bool resume = false;
  bool stop_on_error = false;
  bool json = false;
};

struct BatchOutputs {
  OutputPattern disparity, right_disparity, image, confidence, rows_off;

  explicit BatchOutputs(const Outputs& patterns)
      : disparity("--output", patterns.disparity, ".pfm"),
        right_disparity("--right-output", patterns.right_disparity, ".pfm"),
        image("--image", patterns.image, ".png"),
        confidence("--confidence", patterns.confidence, ".pfm"),
        rows_off("--rows-off", patterns.rows_off, ".pfm") {}

  Outputs of(const ListedPair& pair) const {
    Outputs paths;
    paths.disparity = disparity.of(pair);
    paths.right_disparity = right_disparity.of(pair);
    paths.confidence = confidence.of(pair);
    paths.rows_off = rows_off.of(pair);
    paths.image = image.of(pair);
    return paths;
  }
  std::vector<OutputPattern> all() const { return {disparity, right_disparity, image, confidence, rows_off}; }
};

// Matches all pairs and reports; returns the exit status. A signal ends it early, with done.
// \throws Error for what ends the batch: a result that cannot be written, or no device that works
int run_batch(const BatchRequest& request, const BatchOutputs& outputs, const std::vector<ListedPair>& pairs);

}  // namespace parallax::tool
