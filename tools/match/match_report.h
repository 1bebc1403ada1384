// SPDX-License-Identifier: Apache-2.0
// The results of a match: files and figures.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "tools/command/output_files.h"
#include "tools/files/truth.h"
#include "tools/match/match_plan.h"

namespace parallax::tool {

// Median times over all runs, by stage.
class Stopwatch {
 public:
  void add(const std::vector<StageTime>& stages);
  double total() const;
  nlohmann::ordered_json to_json() const;

 private:
  std::vector<double>& at(const std::string& stage);

  std::vector<std::pair<std::string, std::vector<double>>> stages_;
  std::vector<double> totals_;
};

// Fractions of the pixels.
struct PixelShares {
  double valid = 0;
  std::array<double, status_count> status{};
};

// Counts pixels of a map that is processed in parts.
class PixelCounter {
 public:
  void add(View<const float> disparity, View<const std::uint8_t> status);
  PixelShares shares() const;

 private:
  std::size_t pixels_ = 0, valid_ = 0;
  std::array<std::size_t, status_count> statuses_{};
};

PixelShares pixel_shares(const MatchResult& result);

// Number of pixels of each status.
nlohmann::ordered_json to_json(const PixelShares& shares);

// The part of the --json report that all matches share.
nlohmann::ordered_json describe(const MatchPlan& plan, const Stopwatch& stopwatch, const PixelShares& shares);

// Adds the errors of a map to the --json report. \throws Error (file)
void add_errors(const Truth& truth, View<const float> disparity, nlohmann::ordered_json& json);

// The files of one pair, for write_files().
std::vector<FileBytes> encode_outputs(const Outputs& paths, const MatchPlan& plan,
                                      const PicturePair& pictures, const MatchResult& result);
// As write_files() does.
void write_outputs(const Outputs& paths, const MatchPlan& plan, const PicturePair& pictures,
                   const MatchResult& result, bool on_disk = true);

}  // namespace parallax::tool
