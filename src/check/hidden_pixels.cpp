// SPDX-License-Identifier: Apache-2.0
// Which of two surfaces hides the other. Where disparities jump, pixels that only one picture shows lie
// between the two surfaces. They continue the farther one, so an edge of the picture is at the border of the
// nearer one. If that is the one of the lower disparity, left and right are exchanged.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "check/coarse_match.h"

namespace parallax::check {
namespace {

constexpr float least_jump = 2;  // in pixels of the small picture
constexpr int fewest = 15;       // places of a picture

// Strengths of edges at the borders of surfaces of the higher and of the lower disparity.
struct Borders {
  int places = 0;
  std::int64_t higher = 0, lower = 0;
};

int strongest(const std::int16_t* along_x, int width, int x) {
  int strength = 0;
  for (int i = std::max(0, x - 1); i <= std::min(width - 1, x + 1); ++i)
    strength = std::max(strength, std::abs(static_cast<int>(along_x[i])));
  return strength;
}

// `direction` is 1 for the left picture, where disparities that increase to the right hide pixels, and -1 for
// the right one.
Borders find_borders(const SmallPicture& picture, const Plane<float>& disparity, int direction) {
  const Size size = picture.size();
  Borders borders;
  for (int y = 0; y < size.height; ++y) {
    const float* row = disparity.row(y);
    const std::int16_t* along_x = picture.along_x.row(y);
    int before = -1;
    for (int x = 0; x < size.width; ++x) {
      if (!std::isfinite(row[x])) continue;
      const auto hidden = static_cast<float>(x - before - 1);
      const float jump = before < 0 ? 0 : static_cast<float>(direction) * (row[x] - row[before]);
      // As many pixels are hidden as the disparity jumps.
      if (jump >= least_jump && hidden >= 0.4f * jump && hidden <= 1.6f * jump + 1) {
        const int at_left = strongest(along_x, size.width, before),
                  at_right = strongest(along_x, size.width, x);
        ++borders.places;
        borders.higher += direction > 0 ? at_right : at_left;
        borders.lower += direction > 0 ? at_left : at_right;
      }
      before = x;
    }
  }
  return borders;
}

double order_of(const SmallPicture& picture, const Plane<float>& disparity, int direction) {
  const Borders borders = find_borders(picture, disparity, direction);
  const std::int64_t sum = borders.higher + borders.lower;
  if (borders.places < fewest || sum == 0) return 0;
  return static_cast<double>(borders.higher - borders.lower) / static_cast<double>(sum);
}

}  // namespace

double order_of_surfaces(const SmallPicture& left, const SmallPicture& right, const SmallMatch& match) {
  const double of_left = order_of(left, match.disparity, 1),
               of_right = order_of(right, match.right_disparity, -1);
  if (of_left * of_right <= 0) return 0;
  return std::abs(of_left) < std::abs(of_right) ? of_left : of_right;
}

}  // namespace parallax::check
