#include "tools/parallax/match_report.h"

#include <algorithm>
#include <cmath>

#include "parallax/formats.h"

#include "tools/parallax/method_options.h"

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
  // Nothing travels on the CPU.
  ordered_json json{{"total", total()}, {"match", total()}, {"upload", 0.0}, {"download", 0.0}};
  for (const auto& [stage, times] : stages_) json[stage] = median(times);
  return json;
}

std::vector<double>& Stopwatch::at(const std::string& stage) {
  for (auto& [name, times] : stages_)
    if (name == stage) return times;
  return stages_.emplace_back(stage, std::vector<double>()).second;
}

PixelShares pixel_shares(const MatchResult& result) {
  std::size_t valid = 0;
  std::array<std::size_t, status_count> counts{};
  const Size size = result.disparity.size();
  for (int y = 0; y < size.height; ++y) {
    const float* disparity = result.disparity.row(y);
    const std::uint8_t* status = result.status.row(y);
    for (int x = 0; x < size.width; ++x) {
      valid += std::isfinite(disparity[x]);
      ++counts[status[x]];
    }
  }
  const auto pixels = static_cast<double>(size.pixels());
  PixelShares shares{static_cast<double>(valid) / pixels, {}};
  for (std::size_t i = 0; i < counts.size(); ++i) shares.status[i] = static_cast<double>(counts[i]) / pixels;
  return shares;
}

ordered_json describe(const MatchPlan& plan, const Stopwatch& stopwatch, const PixelShares& shares) {
  const MatchRequest& request = plan.request();
  const Size size = plan.format().size;
  ordered_json status;
  for (std::size_t i = 0; i < shares.status.size(); ++i)
    status[name(static_cast<Status>(i))] = shares.status[i];
  return {{"method", request.method},
          {"device", plan.device().text()},
          {"size", {{"width", size.width}, {"height", size.height}}},
          {"disparities", plan.disparities()},
          {"parameters", std::visit([](const auto& p) { return to_json(p); }, request.parameters)},
          {"milliseconds", stopwatch.to_json()},
          {"memory_bytes", plan.matcher().memory_bytes()},
          {"valid", shares.valid},
          {"status", status}};
}

void write_outputs(const OutputPaths& paths, const MatchPlan& plan, const PicturePair& pictures,
                   const MatchResult& result) {
  const View<const float> disparity = result.disparity.view();
  std::vector<std::pair<std::string, std::vector<std::byte>>> files;
  if (!paths.disparity.empty())
    files.emplace_back(paths.disparity, encode_disparity(paths.disparity, disparity));
  if (!paths.confidence.empty())
    files.emplace_back(paths.confidence, encode_disparity(paths.confidence, result.confidence.view()));
  if (!paths.image.empty()) files.emplace_back(paths.image, encode_coloured(disparity));
  if (!paths.cloud.empty())
    files.emplace_back(paths.cloud,
                       encode_ply(point_cloud(plan.calibration(), disparity, pictures.left.view())));
  for (const auto& [path, bytes] : files) write_file(path, bytes);
}

}  // namespace parallax::tool
