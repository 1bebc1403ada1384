// SPDX-License-Identifier: Apache-2.0
#include "matchers/census/census.h"

#include <algorithm>

#include "core/checks.h"
#include "rows/row_votes.h"

namespace parallax {

namespace census {
namespace {

std::vector<Offset> window_without_centre(int width, int height) {
  std::vector<Offset> offsets;
  for (int y = -height / 2; y <= height / 2; ++y)
    for (int x = -width / 2; x <= width / 2; ++x)
      if (x != 0 || y != 0) offsets.push_back({x, y});
  return offsets;
}

std::vector<Offset> every_second_of_7x7() {
  std::vector<Offset> offsets;
  for (const int y : {-3, -1, 1, 3})
    for (const int x : {-3, -1, 1, 3}) offsets.push_back({x, y});
  return offsets;
}

int half_rounded_down(int value) {
  return value >> 1;
}

int half_rounded_up(int value) {
  return (value + 1) >> 1;
}

// The farthest neighbour in each direction. The mean of the modified transforms reaches no farther.
Offset farthest_neighbour(CensusTransform transform) {
  Offset farthest{0, 0};
  for (const Offset& neighbour : neighbourhood(transform).neighbours)
    farthest = {std::max(farthest.x, neighbour.x), std::max(farthest.y, neighbour.y)};
  return farthest;
}

Level level_of(Size size, int lowest, int highest, int rows) {
  lowest = std::max(lowest, 1 - size.width);
  highest = std::min(highest, size.width - 1);
  return {size, lowest, highest - lowest + 1, std::min(rows, size.height - 1)};
}

void check_labels(const Level& full, const CensusParameters& parameters) {
  constexpr int most = 65535;
  check_reachable(parameters.min_disparity, parameters.disparities, full.size.width);
  if (full.labels > most) refuse("disparities", full.labels, "at most " + std::to_string(most));
}

}  // namespace

Size Neighbourhood::window() const {
  Size window{1, 1};
  for (const Offset& neighbour : neighbours) {
    window.width = std::max(window.width, 2 * neighbour.x + 1);
    window.height = std::max(window.height, 2 * neighbour.y + 1);
  }
  return window;
}

// The census and the modified transforms come in the same order of sizes.
Neighbourhood neighbourhood(CensusTransform transform) {
  if (transform == CensusTransform::sparse_modified_7x7) return {every_second_of_7x7(), true};
  static constexpr Size windows[] = {{5, 5}, {7, 7}, {9, 7}, {9, 9}};
  const auto [width, height] = windows[static_cast<int>(transform) % 4];
  return {window_without_centre(width, height), transform >= CensusTransform::modified_5x5};
}

std::vector<Level> plan_levels(const CensusParameters& parameters, Size size) {
  int lowest = parameters.min_disparity, highest = lowest + parameters.disparities - 1,
      rows = parameters.row_tolerance;
  std::vector<Level> levels{level_of(size, lowest, highest, rows)};
  check_labels(levels.front(), parameters);
  while (static_cast<int>(levels.size()) < parameters.pyramid_levels && (size.width > 1 || size.height > 1)) {
    size = {half_rounded_up(size.width), half_rounded_up(size.height)};
    lowest = half_rounded_down(lowest);
    highest = half_rounded_up(highest);
    rows = half_rounded_up(rows);
    levels.push_back(level_of(size, lowest, highest, rows));
  }
  return levels;
}

// Tiles begin at multiples of a pixel of the coarsest level, so that a level of a tile is a part of the
// image's level; and they are wider or higher than one such pixel, so that they have as many levels.
//
// To decide x, the left image is searched on each level around x. The estimates for pixel X of level k are
// those of pixels ⌊X/2⌋ − 1 to ⌊X/2⌋ + 1 above, which begin at most 3·2ᵏ pixels of the image farther left
// than X, and end as much farther right. The estimates on level k therefore span x and 3·(2ᵏ − 1) pixels on
// both sides of it. The costs of a pixel of level k read windows around it in the left image, and windows
// around all pixels that the search reaches in the right one.
//
// The left-right check needs the right pixels from x − highest to x − lowest. They are searched in the same
// way, and reach left pixels on the other side.
//
// Across rows, pixels at most `votes` away decide the row offset of a pixel on its level, so that the
// estimates around those count; and tiles begin at multiples of a square of the coarsest level. The right
// pixels are as many rows away as the search reaches. A tile has surfaces of row offsets of its own.
Margins margins(const CensusParameters& parameters, const ImageFormat& format, int) {
  const std::vector<Level> levels = plan_levels(parameters, format.size);
  const int window = parameters.window / 2;
  const Offset signature = farthest_neighbour(parameters.transform);
  const Level& full = levels.front();
  const bool across_rows = parameters.row_tolerance > 0;
  const int votes = across_rows ? rows::RowVotes::reach : 0;
  const int checked_rows = parameters.refine.left_right_check ? full.rows : 0;
  Margins margins;
  for (std::size_t k = 0; k < levels.size(); ++k) {
    const int pixel = 1 << k;
    const int estimates = (3 + votes) * (pixel - 1) + votes * pixel;
    const int before = pixel * (window + signature.x + std::max(0, levels[k].highest()));
    const int after = pixel * (window + signature.x + std::max(0, -levels[k].lowest));
    const int rows = checked_rows + pixel * (window + signature.y + levels[k].rows);
    margins.left = std::max(margins.left, estimates + before);
    margins.right = std::max(margins.right, estimates + after);
    if (parameters.refine.left_right_check) {
      margins.left = std::max(margins.left, full.highest() + estimates + after);
      margins.right = std::max(margins.right, estimates + before - full.lowest);
    }
    margins.top = std::max(margins.top, estimates + rows);
  }
  margins.bottom = margins.top;
  margins.exact = !across_rows || parameters.row_prior == 0;
  margins.alignment = (across_rows ? rows::RowVotes::side : 1) << (levels.size() - 1);
  return margins;
}

int highest_pixel_cost(const CensusParameters& parameters) {
  const int bits = static_cast<int>(neighbourhood(parameters.transform).neighbours.size());
  return bits + (parameters.cost == CensusCost::ad_census ? parameters.ad_truncation : 0);
}

std::string variant(const CensusParameters& parameters) {
  static constexpr const char* costs[] = {"hamming", "ad-census"};
  const auto count = [](auto number) { return std::to_string(number); };
  return costs[static_cast<int>(parameters.cost)] + std::string(", ") +
         count(neighbourhood(parameters.transform).neighbours.size()) + " bits, window " +
         count(parameters.window) + ", levels " + count(parameters.pyramid_levels);
}

}  // namespace census
}  // namespace parallax
