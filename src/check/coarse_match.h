// SPDX-License-Identifier: Apache-2.0
// A dense match of small pictures, which sees walls and roads that have no corners.
#pragma once

#include <cstdint>
#include <functional>

#include "parallax/image.h"

#include "core/workers.h"

namespace parallax::check {

// A small picture: gradients along columns and rows in units of their mean, so that exposure does not matter.
struct SmallPicture {
  Plane<std::int16_t> along_x, along_y;
  Plane<std::uint8_t> seen;  // 0 = masked, or near masked pixels

  Size size() const { return along_x.size(); }
};

// By how many pixels the rows of a picture are too low at a position in it.
using RowsDown = std::function<int(int x, int y)>;

SmallPicture small_picture(const Plane<float>& image, View<const std::uint8_t> mask, int scale,
                           const RowsDown& rows_down, const Workers& workers);

// The labels of a match: disparity of the small pictures less `first`.
struct Labels {
  int first = 0, count = 0;
};

// What the pixels of the small pictures match.
struct SmallMatch {
  // In pixels of the small pictures; infinite where left and right do not agree. The right ones are whole
  // numbers.
  Plane<float> disparity, right_disparity;
  Plane<std::int16_t> margin;  // by how much costs of other disparities exceed that of a left pixel
};

// Semi-global matching (Hirschmüller 2008) along three paths: from the left, from the right and from above.
// The number of labels is a multiple of labels_at_once.
SmallMatch match_small_pictures(const SmallPicture& left, const SmallPicture& right, Labels labels,
                                const Workers& workers);

// From -1 to 1: positive where surfaces of higher disparity hide those of lower disparity, negative if it is
// the other way round. 0 = a picture has too few hidden pixels, or the pictures contradict each other.
double order_of_surfaces(const SmallPicture& left, const SmallPicture& right, const SmallMatch& match);

// Inner loops over the labels of a pixel.
inline constexpr int labels_at_once = 32;
inline constexpr std::int16_t largest_cost = 60, small_jump = 10, large_jump = 90;

// Differences of a pixel's gradients from those of right pixels.
void write_costs(std::int16_t along_x, std::int16_t along_y, const std::int16_t* right_x,
                 const std::int16_t* right_y, int labels, std::int16_t* costs);
// Sets path[l] to costs[l] plus the least that a path costs which comes from the pixel before, whose least
// cost is `least`; elements before it and after it are read, too. Adds the path to the sums and returns its
// least cost.
std::int16_t extend_path(const std::int16_t* before, std::int16_t least, const std::int16_t* costs,
                         int labels, std::int16_t* path, std::int16_t* sums);
std::int16_t least_of(const std::int16_t* values, int labels);
// Where sums[l] is below least[l], sets that to it and label[l] to l.
void keep_least(const std::int16_t* sums, int labels, std::int16_t* least, std::int16_t* label);

}  // namespace parallax::check
