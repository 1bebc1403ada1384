// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "check/check.h"
#include "core/integers.h"
#include "rows/least_squares.h"

namespace parallax::check {
namespace {

constexpr int histogram_steps = 32;
constexpr int whole_labels = 16;  // matchers search groups of 16 labels fastest

// Closer points share much of their windows of 17×17 pixels, so both may be wrong in the same way.
constexpr float too_near = 14;

// Whether another point nearby has a similar disparity, which wrong matches rarely have. Rows of points
// ascend.
bool is_supported(const std::vector<CheckedPoint>& points, std::size_t index, float reach) {
  const CheckedPoint& point = points[index];
  const auto alike = [&](const CheckedPoint& other) {
    const float distance = std::hypot(other.left_x - point.left_x, other.left_y - point.left_y);
    return distance >= too_near && distance <= reach &&
           std::abs(other.disparity() - point.disparity()) <= 1.5f + 0.1f * distance;
  };
  for (std::size_t i = index; i-- > 0 && point.left_y - points[i].left_y <= reach;)
    if (alike(points[i])) return true;
  for (std::size_t i = index + 1; i < points.size() && points[i].left_y - point.left_y <= reach; ++i)
    if (alike(points[i])) return true;
  return false;
}

std::vector<double> supported_disparities(const std::vector<CheckedPoint>& points, Size size) {
  const float reach = std::max(32.0f, 0.05f * static_cast<float>(size.width));
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

// The nearest and the farthest place need not have corners. Walls and skies behind a scene often have none,
// so the range includes 0, the disparity of points at infinity, unless the scene is shallower than half its
// distance.
void recommend(Size size, DisparityRange& range) {
  const double margin = 4 + 0.1 * (range.highest - range.lowest);
  double lowest = std::floor(range.lowest - margin), highest = std::ceil(range.highest + margin);
  if (range.lowest >= 0 && 2 * lowest < range.highest) lowest = 0;
  if (range.highest <= 0 && 2 * highest > range.lowest) highest = 0;
  const double most = size.width - 1;
  lowest = std::clamp(lowest, -most, most);
  const int least = static_cast<int>(std::clamp(highest, lowest, most) - lowest) + 1;
  range.min_disparity = static_cast<int>(lowest);
  range.disparities = round_up(least, whole_labels);
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
  for (std::size_t i = 0; i < shares.size(); ++i) range.quantiles[i] = rows::quantile(disparities, shares[i]);
  std::sort(disparities.begin(), disparities.end());
  write_histogram(disparities, range);
  recommend(size, range);
  return range;
}

}  // namespace parallax::check
