// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "check/check.h"

namespace parallax::check {
namespace {

constexpr int histogram_steps = 32;
constexpr int whole_labels = 16;  // matchers search labels in groups of 16 at best

// Whether another point nearby has a like disparity: a wrong match rarely finds one. Rows of points ascend.
bool is_supported(const std::vector<CheckedPoint>& points, std::size_t index, float reach) {
  const CheckedPoint& point = points[index];
  const auto alike = [&](const CheckedPoint& other) {
    const float distance = std::hypot(other.left_x - point.left_x, other.left_y - point.left_y);
    return distance <= reach && std::abs(other.disparity() - point.disparity()) <= 1.5f + 0.1f * distance;
  };
  for (std::size_t i = index; i-- > 0 && point.left_y - points[i].left_y <= reach;)
    if (alike(points[i])) return true;
  for (std::size_t i = index + 1; i < points.size() && points[i].left_y - point.left_y <= reach; ++i)
    if (alike(points[i])) return true;
  return false;
}

std::vector<double> supported_disparities(const std::vector<CheckedPoint>& points, Size size) {
  const float reach = std::max(24.0f, 0.05f * static_cast<float>(size.width));
  std::vector<double> disparities;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (is_supported(points, i, reach)) disparities.push_back(points[i].disparity());
  std::sort(disparities.begin(), disparities.end());
  return disparities;
}

void write_histogram(const std::vector<double>& disparities, DisparityRange& range) {
  const double span = disparities.back() - disparities.front();
  range.histogram_step = std::max(1.0, std::ceil(span / histogram_steps));
  range.histogram_start = std::floor(disparities.front());
  for (const double disparity : disparities) {
    const auto step = static_cast<std::size_t>((disparity - range.histogram_start) / range.histogram_step);
    if (step >= range.histogram.size()) range.histogram.resize(step + 1);
    ++range.histogram[step];
  }
}

// Points are corners, which the nearest and the farthest place need not have. Walls and skies behind a scene often have
// none, so only the range of a scene with a depth of less than half its distance begins above 0, the disparity of points
// at infinity.
void recommend(Size size, DisparityRange& range) {
  const double margin = 4 + 0.1 * (range.highest - range.lowest);
  int lowest = static_cast<int>(std::floor(range.lowest - margin));
  if (range.lowest >= 0 && 2 * lowest < range.highest) lowest = 0;
  const int highest = static_cast<int>(std::ceil(range.highest + margin));
  lowest = std::clamp(lowest, 1 - size.width, size.width - 1);
  const int least = std::min(highest, size.width - 1) - lowest + 1;
  range.min_disparity = lowest;
  range.disparities = std::max(1, (least + whole_labels - 1) / whole_labels) * whole_labels;
}

}  // namespace

DisparityRange find_range(const std::vector<CheckedPoint>& points, Size size) {
  DisparityRange range;
  std::vector<double> disparities = supported_disparities(points, size);
  range.points = static_cast<int>(disparities.size());
  if (disparities.size() < 3) return range;
  range.lowest = disparities[2];
  range.highest = disparities[disparities.size() - 3];
  constexpr std::array<double, 5> shares = {0.01, 0.05, 0.5, 0.95, 0.99};
  for (std::size_t i = 0; i < shares.size(); ++i) range.quantiles[i] = quantile(disparities, shares[i]);
  std::sort(disparities.begin(), disparities.end());
  write_histogram(disparities, range);
  recommend(size, range);
  return range;
}

}  // namespace parallax::check
