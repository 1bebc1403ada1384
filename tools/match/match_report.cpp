// SPDX-License-Identifier: Apache-2.0
#include "tools/match/match_report.h"

#include <cmath>

#include "parallax/formats.h"

#include "tools/command/command.h"
#include "tools/command/json.h"
#include "tools/command/method_options.h"
#include "tools/files/depth_files.h"
#include "tools/files/pictures.h"
#include "tools/match/repair.h"

namespace parallax::tool {

using nlohmann::ordered_json;

void Stopwatch::add(const std::vector<StageTime>& stages) {
  double total = 0;
  for (const StageTime& stage : stages) {
    at(stage.stage).push_back(stage.milliseconds);
    total += stage.milliseconds;
  }
  totals_.push_back(total);
}

double Stopwatch::total() const {
  return median(totals_);
}

ordered_json Stopwatch::to_json() const {
  // The CPU has no uploads or downloads.
  ordered_json json{{"total", total()}, {"match", total()}, {"upload", 0.0}, {"download", 0.0}};
  for (const auto& [stage, times] : stages_) json[stage] = median(times);
  return json;
}

std::vector<double>& Stopwatch::at(const std::string& stage) {
  for (auto& [name, times] : stages_)
    if (name == stage) return times;
  return stages_.emplace_back(stage, std::vector<double>()).second;
}

void PixelCounter::add(View<const float> disparity, View<const std::uint8_t> status) {
  for (int y = 0; y < disparity.size.height; ++y) {
    for (int x = 0; x < disparity.size.width; ++x) {
      valid_ += std::isfinite(disparity.at(x, y));
      ++statuses_[status.at(x, y)];
    }
  }
  pixels_ += disparity.size.pixels();
}

PixelShares PixelCounter::shares() const {
  const auto pixels = static_cast<double>(pixels_);
  PixelShares shares{static_cast<double>(valid_) / pixels, {}};
  for (std::size_t i = 0; i < statuses_.size(); ++i)
    shares.status[i] = static_cast<double>(statuses_[i]) / pixels;
  return shares;
}

PixelShares pixel_shares(const Result& result) {
  PixelCounter counter;
  counter.add(result.disparity.view(), result.status.view());
  return counter.shares();
}

ordered_json to_json(const PixelShares& shares) {
  ordered_json json;
  for (std::size_t i = 0; i < shares.status.size(); ++i)
    json[name(static_cast<Status>(i))] = shares.status[i];
  return json;
}

ordered_json describe(const MatchPlan& plan, const Stopwatch& stopwatch, const PixelShares& shares) {
  const MatchRequest& request = plan.request();
  const Size size = plan.map_size();
  ordered_json json{{"method", request.search.method},
                    {"device", plan.device().text()},
                    {"size", {{"width", size.width}, {"height", size.height}}},
                    {"disparities", plan.disparities()},
                    {"parameters", describe_parameters(plan.parameters())},
                    {"milliseconds", stopwatch.to_json()},
                    {"memory_bytes", plan.matcher().memory_bytes()},
                    {"rows_moved", plan.matcher().rows_moved()},
                    {"valid", shares.valid},
                    {"status", to_json(shares)}};
  if (request.repaired) {
    json["repair"] = repair_json(request.repaired->report);
    json["repair"]["left_kept"] = request.repaired->left_kept;
  }
  return json;
}

void add_errors(const Truth& truth, View<const float> disparity, ordered_json& json) {
  const ErrorMetrics error = truth.compare(disparity);
  json["mismatches"] = error.mismatches;
  json["error"] = to_json(error);
}

std::vector<FileBytes> encode_outputs(const Outputs& paths, const MatchPlan& plan,
                                      const PicturePair& pictures, const Result& matched) {
  Result copy;
  if (plan.quarter_turns() != 0) {
    copy = turned(matched, 4 - plan.quarter_turns());
    write_notice("the map is turned back to the left picture");
  }
  const Result& result = plan.quarter_turns() != 0 ? copy : matched;
  const Picture left = plan.turned_back(pictures.left);
  const View<const float> disparity = result.disparity.view();
  std::vector<FileBytes> files;
  const auto add_map = [&](const std::string& path, View<const float> map) {
    if (!path.empty()) files.emplace_back(path, encode_disparity(path, map));
  };
  add_map(paths.disparity, disparity);
  if (result.right) add_map(paths.right_disparity, result.right->disparity.view());
  add_map(paths.confidence, result.confidence.view());
  add_map(paths.rows_off, result.row_offset.view());
  if (!paths.image.empty()) files.emplace_back(paths.image, encode_coloured(disparity));
  const Calibration calibration = plan.calibration_of_map();
  const DepthFiles depth(calibration, plan.request().depth);
  if (!paths.depth.empty()) files.emplace_back(paths.depth, depth.depths(paths.depth, disparity));
  if (!paths.cloud.empty()) files.emplace_back(paths.cloud, depth.cloud(paths.cloud, disparity, left.view()));
  if (!paths.mesh.empty()) files.emplace_back(paths.mesh, depth.mesh(disparity, left.view()));
  return files;
}

std::string text(const std::vector<Device>& devices) {
  std::vector<std::string> names;
  for (const Device& device : devices) names.push_back(device.text());
  return join(names);
}

void LostDeviceNotice::tell(const std::vector<LostDevice>& lost) {
  for (; told_ < lost.size(); ++told_) {
    show_progress("");
    complain(lost[told_].device.text() +
             " is no longer used, its pairs go to the other devices: " + lost[told_].reason);
  }
}

}  // namespace parallax::tool
