// SPDX-License-Identifier: Apache-2.0
// What a match gives: files, figures.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "tools/parallax/match_plan.h"
#include "tools/parallax/truth.h"

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

// Shares of the pixels.
struct PixelShares {
  double valid = 0;
  std::array<double, status_count> status{};
};

// Counts pixels of a map that comes in parts.
class PixelCounter {
 public:
  void add(View<const float> disparity, View<const std::uint8_t> status);
  PixelShares shares() const;

 private:
  std::size_t pixels_ = 0, valid_ = 0;
  std::array<std::size_t, status_count> statuses_{};
};

PixelShares pixel_shares(const MatchResult& result);

// Of each status.
nlohmann::ordered_json to_json(const PixelShares& shares);

// What --json says of every match.
nlohmann::ordered_json describe(const MatchPlan& plan, const Stopwatch& stopwatch, const PixelShares& shares);

// The ground truth that a match of pictures of this size is compared with, where one was given.
// \throws Error (file)
std::optional<Truth> read_truth(const MatchRequest& request, Size size);
// Adds the errors of a map to what --json says. \throws Error (file)
void add_errors(const Truth& truth, View<const float> disparity, nlohmann::ordered_json& json);

// Where the results of one pair go; empty = nowhere.
struct OutputPaths {
  std::string disparity, confidence, image, cloud;
};

// As write_files() does.
void write_outputs(const OutputPaths& paths, const MatchPlan& plan, const PicturePair& pictures,
                   const MatchResult& result, bool on_disk = true);

}  // namespace parallax::tool
