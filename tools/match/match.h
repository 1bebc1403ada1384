// SPDX-License-Identifier: Apache-2.0
// What is matched, how, and what is written: parts of requests.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "parallax/repair.h"

#include "tools/command/method_options.h"
#include "tools/files/cameras.h"
#include "tools/files/depth_files.h"
#include "tools/files/frames.h"
#include "tools/files/truth.h"

namespace parallax::tool {

// Files of one pair, or their patterns; empty = not wanted.
struct Outputs {
  std::string disparity, right_disparity, confidence, rows_off, image, depth, cloud, mesh;

  std::array<std::string, 8> all() const {
    return {disparity, right_disparity, confidence, rows_off, image, depth, cloud, mesh};
  }
};

struct OutputKind {
  std::string Outputs::*path;
  const char *option, *extension;  // option and extension of the files in a folder
};
inline constexpr OutputKind output_kinds[] = {
    {&Outputs::disparity, "--output", ".pfm"},      {&Outputs::right_disparity, "--right-output", ".pfm"},
    {&Outputs::confidence, "--confidence", ".pfm"}, {&Outputs::rows_off, "--rows-off", ".pfm"},
    {&Outputs::image, "--image", ".png"},           {&Outputs::depth, "--depth", ".png"},
    {&Outputs::cloud, "--cloud", ".ply"},           {&Outputs::mesh, "--mesh", ".ply"}};

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
class Picture;
class VideoWriter;

// Writes the video of a sequence, if one is wanted.
class SequenceVideo {
 public:
  // `frames_per_second`: those of the input; 0 = not known.
  SequenceVideo(const VideoOptions& options, double frames_per_second);
  ~SequenceVideo();

  bool is_wanted() const { return !options_.path.empty(); }
  void write(const Picture& picture);
  void finish();

 private:
  const VideoOptions& options_;
  double frames_per_second_;
  std::unique_ptr<VideoWriter> writer_;  // made for the first picture
};

struct SequenceOptions {
  VideoOptions video;
  bool json = false;
  bool temporal = false;  // whether maps are steadied by TemporalFilter
};
int match_sequence(const MatchRequest& request, const SequenceOptions& options, FrameSource& source);

struct LiveOptions {
  CameraOptions cameras;
  VideoOptions video;
  std::string share;     // name of shared memory for the maps; empty = none
  std::size_t maps = 0;  // after which to end; 0 = at a signal
  bool json = false;
  bool temporal = false;
};
int match_live(const MatchRequest& request, const LiveOptions& options);

}  // namespace parallax::tool
