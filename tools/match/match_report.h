// SPDX-License-Identifier: Apache-2.0
// The results of a match: files and figures.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "parallax/matcher_pool.h"

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

PixelShares pixel_shares(const Result& result);

nlohmann::ordered_json to_json(const PixelShares& shares);

// The part of the --json report that all matches share.
nlohmann::ordered_json describe(const MatchPlan& plan, const Stopwatch& stopwatch, const PixelShares& shares);

// Adds the errors of a map to the --json report.
// \throws Error (file)
void add_errors(const Truth& truth, View<const float> disparity, nlohmann::ordered_json& json);

// The files of one pair, for write_files().
std::vector<FileBytes> encode_outputs(const Outputs& paths, const MatchPlan& plan,
                                      const PicturePair& pictures, const Result& result);

// "cuda:0, cuda:1"
std::string text(const std::vector<Device>& devices);

// As many pairs as a MatcherPool matches at once on a GPU, at most, unless it is told otherwise.
inline constexpr std::size_t max_in_flight_of_gpu = 16;

// Tells of each device that stopped working, once.
class LostDeviceNotice {
 public:
  void tell(const std::vector<LostDevice>& lost);

 private:
  std::size_t told_ = 0;
};

}  // namespace parallax::tool
