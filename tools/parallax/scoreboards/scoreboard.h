// SPDX-License-Identifier: Apache-2.0
// Public benchmarks: how their data are laid out, which figures their tables have, which files they take.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "parallax/geometry.h"
#include "parallax/image.h"

#include "tools/command/command.h"
#include "tools/command/output_files.h"

namespace parallax::tool {

// A number of a benchmark's table. The average of a column is Σ weight · value / Σ weight over the pairs.
struct Figure {
  std::string name;
  double value;
  double weight = 1;
  bool is_share = true;  // 0…1, printed in per cent; otherwise pixels
};

// The figures over some of the pixels: "nonocc" or "noc" for those that both cameras see, "all".
struct Region {
  std::string name;
  std::vector<Figure> figures;
};

struct ScoreboardPair {
  std::string name;
  std::string left, right;
  std::string calibration;  // empty = the benchmark has none
  // Truth and masks, as the benchmark's score() knows them, "" for those that these data lack; empty = test
  // pairs.
  std::vector<std::string> truth;
};

// Where the data are, and which of them.
struct ScoreboardData {
  std::string folder;
  bool test = false;             // the test pairs, whose truth is not public
  std::string resolution = "Q";  // resolution of Middlebury: F, H or Q
  std::string truth_none = {};   // see TruthFile::unknown
};

// A result, as a benchmark wants it.
struct ScoreboardResult {
  std::string algorithm;  // its name in the benchmark's table
  bool sparse = false;    // Middlebury: pixels without a disparity are meant
  View<const float> disparity;
  double seconds;
};

class Scoreboard {
 public:
  virtual ~Scoreboard() = default;

  virtual std::vector<ScoreboardPair> pairs() const = 0;
  // What is particular to the figures of these data; empty = nothing.
  virtual std::string note() const { return ""; }
  // Labels to search where neither the user nor a calibration says how many.
  virtual int labels() const = 0;
  // \throws Error (file) for truth that cannot be read, has another size, or is unknown everywhere
  virtual std::vector<Region> score(const ScoreboardPair& pair, const Calibration& calibration,
                                    View<const float> disparity) const = 0;
  // The files of a result, by their paths in the folder of a submission.
  virtual std::vector<FileBytes> submission(const ScoreboardPair& pair,
                                            const ScoreboardResult& result) const = 0;
};

// \throws Error (file) for folders that do not have the benchmark's layout
std::unique_ptr<Scoreboard> middlebury_scoreboard(const ScoreboardData& data);
std::unique_ptr<Scoreboard> kitti_scoreboard(const ScoreboardData& data);
std::unique_ptr<Scoreboard> eth3d_scoreboard(const ScoreboardData& data);

// For each column, the weighted average over the pairs that have a value; NaN if none has one.
std::vector<Region> average(const std::vector<std::vector<Region>>& scores);

// Names of the folder's entries that `wanted` accepts, sorted.
// \throws Error (file) naming what to unpack there
std::vector<std::string> names_in(const std::string& folder, const std::string& remedy,
                                  bool (*wanted)(const std::string& path));

// The bytes of a file of one time: `before`, then the seconds.
std::vector<std::byte> seconds_file(const std::string& before, double seconds);

// "middlebury", "kitti", "eth3d"
std::vector<std::string> scoreboard_suites();

int bench_scoreboard(const Arguments& arguments, const std::string& suite);

}  // namespace parallax::tool
