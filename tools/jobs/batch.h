// SPDX-License-Identifier: Apache-2.0
// 'parallax batch': many pairs of any size in one process.
#pragma once

#include <string>
#include <vector>

#include "tools/jobs/pair_list.h"
#include "tools/match/match.h"
#include "tools/match/match_report.h"

namespace parallax::tool {

struct BatchRequest {
  // What all pairs share; its files are those of none.
  MatchRequest match;
  std::string list, right;                          // or LEFT and RIGHT
  std::string output, image, confidence, rows_off;  // patterns
  std::string results;                              // the table
  bool stop_on_error = false;
};

struct BatchOutputs {
  OutputPattern disparity, image, confidence, rows_off;

  explicit BatchOutputs(const BatchRequest& request)
      : disparity("--output", request.output, ".pfm"),
        image("--image", request.image, ".png"),
        confidence("--confidence", request.confidence, ".pfm"),
        rows_off("--rows-off", request.rows_off, ".pfm") {}

  OutputPaths of(const ListedPair& pair) const {
    return {disparity.of(pair), confidence.of(pair), rows_off.of(pair), image.of(pair), "", "", ""};
  }
  std::vector<OutputPattern> all() const { return {disparity, image, confidence, rows_off}; }
};

// Matches all pairs and reports; returns the exit status. A signal ends it early, with done.
// \throws Error for what ends the batch: a result that cannot be written, or no device that works
int run_batch(const BatchRequest& request, const BatchOutputs& outputs, const std::vector<ListedPair>& pairs);

}  // namespace parallax::tool
