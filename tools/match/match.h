// SPDX-License-Identifier: Apache-2.0
// What is matched, how, and what is written: the parts of a request, of which each command has those that it
// needs.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "parallax/repair.h"

#include "tools/command/method_options.h"
#include "tools/files/depth_files.h"
#include "tools/files/input.h"
#include "tools/files/truth.h"

namespace parallax::tool {

// Files of one pair, or their patterns; empty = not wanted.
struct Outputs {
  std::string disparity, confidence, rows_off, image, depth, cloud, mesh;

  std::array<std::string, 7> all() const {
    return {disparity, confidence, rows_off, image, depth, cloud, mesh};
  }
};

// What --repair found.
struct RepairedPair {
  RigRepair report;
  KeptLeft cameras;
  bool left_kept = false;
};

// A pair, or the pairs of a sequence.
struct MatchRequest {
  Input input;
  Search search;
  Outputs outputs;
  DepthOptions depth = {};
  std::optional<RepairedPair> repaired = {};
};

// What is reported of a single pair.
struct ReportOptions {
  bool json = false;
  int repeat = 1;
  bool energy = false;
  TruthFile truth;
};

// A coloured video of a sequence.
struct VideoOptions {
  std::string path;
  double frames_per_second = 0;  // 0 = as the input
};

class FrameSource;

// Frames per second of the video of a source.
double video_rate(const VideoOptions& video, const FrameSource& source);

// The exit status, as of any command.
int match_sequence(const MatchRequest& request, const VideoOptions& video, bool json, FrameSource& source);

}  // namespace parallax::tool
