// SPDX-License-Identifier: Apache-2.0
// The disparities that a coarse match is certain of.
#include <algorithm>
#include <cmath>
#include <limits>

#include "check/check.h"
#include "check/coarse_match.h"
#include "core/integers.h"

namespace parallax::check {
namespace {

// Columns of the small pictures, about.
constexpr int small_width = 240;
// Small pictures with fewer pixels, or thinner ones, match by chance.
constexpr std::size_t fewest_pixels = 1000;
constexpr int thinnest = 16;
// Disparities whose costs are less than this above those of a rival are uncertain.
constexpr std::int16_t least_margin = 60;
// Share of the picture that a region of like disparities covers; most smaller ones are wrong.
constexpr double least_region = 0.004;
constexpr float like = 1;  // neighbours of one region, in pixels of the small picture
// Unless points say otherwise, disparities of the rarer sign reach this share of those of the other one.
constexpr double rarer_sign = 0.25;
// Farther than the points show, as a share of the width.
constexpr double beyond_points = 0.05;

// Sets disparities of small regions to infinity.
void remove_small_regions(Plane<float>& disparity, std::size_t least_pixels) {
  const Size size = disparity.size();
  Plane<std::uint8_t> visited(size, 0);
  struct Place {
    int x, y;
  };
  std::vector<Place> region;
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      region.clear();
      const auto visit = [&](Place place, float from) {
        if (place.x < 0 || place.x >= size.width || place.y < 0 || place.y >= size.height) return;
        std::uint8_t& seen = visited.at(place.x, place.y);
        // Infinite ones differ from all, and from each other, by infinity or by no number.
        if (seen != 0 || !(std::abs(disparity.at(place.x, place.y) - from) <= like)) return;
        seen = 1;
        region.push_back(place);
      };
      visit({x, y}, disparity.at(x, y));
      for (std::size_t i = 0; i < region.size(); ++i) {
        const Place place = region[i];
        const float from = disparity.at(place.x, place.y);
        visit({place.x - 1, place.y}, from);
        visit({place.x + 1, place.y}, from);
        visit({place.x, place.y - 1}, from);
        visit({place.x, place.y + 1}, from);
      }
      if (region.size() >= least_pixels) continue;
      for (const Place place : region)
        disparity.at(place.x, place.y) = std::numeric_limits<float>::infinity();
    }
}

// The labels to search: disparities of the sign that most points have, up to the largest, and some of the
// other.
Labels labels_to_search(const std::vector<CheckedPoint>& points, double columns, int scale) {
  double lowest = 0, highest = 0;
  std::size_t negative = 0;
  for (const CheckedPoint& point : points) {
    const auto disparity = static_cast<double>(point.disparity());
    lowest = std::min(lowest, disparity);
    highest = std::max(highest, disparity);
    negative += disparity < 0 ? 1 : 0;
  }
  const bool mostly_negative = 2 * negative > points.size();
  lowest = std::min(lowest * (1 + beyond_points), -columns * (mostly_negative ? 1 : rarer_sign));
  highest = std::max(highest * (1 + beyond_points), columns * (mostly_negative ? rarer_sign : 1));
  const int first = static_cast<int>(std::floor(lowest / scale));
  return {first, round_up(static_cast<int>(std::ceil(highest / scale)) - first + 1, labels_at_once)};
}

}  // namespace

DenseEvidence see_densely(const StereoPair& pair, const GrayImage& left, const GrayImage& right,
                          const std::vector<CheckedPoint>& points, const RowModel& model,
                          double search_columns, const Workers& workers) {
  const Size size = left.size();
  const int scale = std::max(1, (size.width + small_width / 2) / small_width);
  const auto rows_down = [&](int x, int y) {
    return points.empty() ? 0 : static_cast<int>(std::lround(model.rows_off(x, y, model.centre_disparity)));
  };
  const Size small{size.width / scale, size.height / scale};
  if (small.pixels() < fewest_pixels || std::min(small.width, small.height) < thinnest) return {};
  const SmallPicture small_left = small_picture(
      left.sharp, pair.left_mask, scale, [](int, int) { return 0; }, workers);
  const SmallPicture small_right = small_picture(right.sharp, pair.right_mask, scale, rows_down, workers);
  SmallMatch match = match_small_pictures(
      small_left, small_right, labels_to_search(points, search_columns * size.width, scale), workers);
  DenseEvidence evidence;
  evidence.order = order_of_surfaces(small_left, small_right, match);
  remove_small_regions(match.disparity,
                       static_cast<std::size_t>(least_region * static_cast<double>(small.pixels())));
  for (int y = 0; y < small.height; ++y)
    for (int x = 0; x < small.width; ++x) {
      evidence.pixels += small_left.seen.at(x, y);
      const float disparity = match.disparity.at(x, y);
      if (std::isfinite(disparity) && match.margin.at(x, y) >= least_margin)
        evidence.disparities.push_back(static_cast<double>(disparity) * scale);
    }
  std::sort(evidence.disparities.begin(), evidence.disparities.end());
  return evidence;
}

}  // namespace parallax::check
