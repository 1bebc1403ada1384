// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "check/check.h"
#include "core/integers.h"
#include "core/length.h"
#include "rows/least_squares.h"

namespace parallax::check {
namespace {

constexpr int histogram_steps = 32;
constexpr int whole_labels = 8;  // matchers search whole groups of labels fastest
// Shares of the picture that must be seen to count for anything, and to count without points, which no pair
// of unlike pictures reaches.
constexpr double least_seen = 0.02, least_seen_without_points = 0.1;
// From this share on, the range is sure.
constexpr double well_seen = 0.35;
constexpr double share_left_out = 0.003;  // at both ends

// Closer points share much of their windows of 17×17 pixels, so both may be wrong in the same way.
constexpr float too_near = 14;

// Whether another point nearby has a similar disparity, which wrong matches rarely have. Rows of points
// ascend.
bool is_supported(const std::vector<CheckedPoint>& points, std::size_t index, float reach) {
  const CheckedPoint& point = points[index];
  const auto alike = [&](const CheckedPoint& other) {
    const float distance = detail::length_of(other.left_x - point.left_x, other.left_y - point.left_y);
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

// Sets what the points show: their disparities, ascending.
void describe_points(const std::vector<double>& disparities, DisparityRange& range) {
  range.lowest = disparities[2];
  range.highest = disparities[disparities.size() - 3];
  constexpr std::array<double, 5> shares = {0.01, 0.05, 0.5, 0.95, 0.99};
  std::vector<double> ordered = disparities;
  for (std::size_t i = 0; i < shares.size(); ++i) range.quantiles[i] = rows::quantile(ordered, shares[i]);
  write_histogram(disparities, range);
}

// Lowest and highest disparity.
struct Extremes {
  double lowest = std::numeric_limits<double>::infinity(), highest = -lowest;

  void include(const Extremes& other) {
    lowest = std::min(lowest, other.lowest);
    highest = std::max(highest, other.highest);
  }
};

// What all but a small share of the picture shows.
Extremes extremes_of(const DenseEvidence& dense, bool has_points) {
  const std::size_t count = dense.disparities.size();
  if (dense.seen() < (has_points ? least_seen : least_seen_without_points) || count == 0) return {};
  const auto left_out = static_cast<std::size_t>(share_left_out * static_cast<double>(dense.pixels));
  const std::size_t first = std::min(left_out, (count - 1) / 2);
  return {dense.disparities[first], dense.disparities[count - 1 - first]};
}

// Where little of the picture is seen, the nearest and the farthest place need not be. Walls and skies behind
// a scene often have nothing to match, so the range then includes 0, the disparity of points at infinity,
// unless the scene is shallower than half its distance.
void recommend(const Extremes& found, Size size, DisparityRange& range) {
  const double span = found.highest - found.lowest;
  const double margin = range.sure ? 2 + 0.05 * span : 4 + 0.1 * span;
  double lowest = std::floor(found.lowest - margin), highest = std::ceil(found.highest + margin);
  const bool is_deep = !range.sure;
  if (found.lowest >= 0 && ((is_deep && 2 * lowest < found.highest) || lowest < 0)) lowest = 0;
  if (found.highest <= 0 && ((is_deep && 2 * highest > found.lowest) || highest > 0)) highest = 0;
  const double most = size.width - 1;
  lowest = std::clamp(lowest, -most, most);
  const int least = static_cast<int>(std::clamp(highest, lowest, most) - lowest) + 1;
  range.min_disparity = static_cast<int>(lowest);
  range.disparities = round_up(least, whole_labels);
}

}  // namespace

DisparityRange find_range(const std::vector<CheckedPoint>& points, const DenseEvidence& dense, Size size) {
  DisparityRange range;
  range.seen = dense.seen();
  range.sure = range.seen >= well_seen && !points.empty();
  const std::vector<double> disparities = supported_disparities(points, size);
  range.points = static_cast<int>(disparities.size());
  Extremes found = extremes_of(dense, !points.empty());
  if (disparities.size() >= 3) {
    describe_points(disparities, range);
    if (!range.sure) found.include({range.lowest, range.highest});
  }
  if (found.lowest > found.highest) return range;
  if (disparities.size() < 3) {
    range.lowest = found.lowest;
    range.highest = found.highest;
  }
  recommend(found, size, range);
  return range;
}

}  // namespace parallax::check
