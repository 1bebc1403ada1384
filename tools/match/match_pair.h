// SPDX-License-Identifier: Apache-2.0
// The match of a single pair in one piece.
#pragma once

#include <cstddef>
#include <optional>

#include "tools/match/match.h"
#include "tools/match/match_report.h"

namespace parallax::tool {

class PairMatch {
 public:
  // Reads the pictures, and the truth of the report.
  // \throws Error, UsageError
  PairMatch(const MatchRequest& request, const ReportOptions& report);

  // The format of the rectified pictures.
  const ImageFormat& format() const { return pictures_.left.view().format; }
  // Plans the match.
  // \throws Error, UsageError
  void plan() { plan_.make(format()); }
  // Matches as often as the report asks for, writes the files of the request and reports.
  // \throws Error
  void run();

 private:
  void report_json(const Stopwatch& stopwatch, const Result& result) const;
  void tell(const Stopwatch& stopwatch, const Result& result) const;

  ReportOptions report_;
  MatchPlan plan_;
  PicturePair pictures_;
  std::optional<Truth> truth_;
};

// Replaces --disparities auto by the range that the pair shows, and prints it.
// \throws Error (file)
void find_range(MatchRequest& request);

// Memory of a pixel of both pictures and the map, with one further copy while decoding or encoding.
std::size_t bytes_of_pictures(const ImageFormat& format);
// Memory of the pictures, maps and outputs of a match in one piece, with or without ground truth.
std::size_t pair_bytes(const MatchRequest& request, bool has_truth, const ImageFormat& format);
// The same, with the program and the matcher. The search range must be settled.
// \throws Error like the constructor of Matcher, except for memory
std::size_t whole_match_bytes(const MatchRequest& request, bool has_truth, const ImageFormat& format);

}  // namespace parallax::tool
