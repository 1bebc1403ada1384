// SPDX-License-Identifier: Apache-2.0
// The changes that scoreboards make to a map before they compare it with the truth.
#include <algorithm>
#include <cmath>
#include <limits>

#include "parallax/evaluate.h"

#include "core/checks.h"
#include "core/floating_point.h"

namespace parallax {
namespace {

Plane<float> copy_of(View<const float> map) {
  Plane<float> copy(map.size);
  for (int y = 0; y < map.size.height; ++y) std::copy(map.row(y), map.row(y) + map.size.width, copy.row(y));
  return copy;
}

// Returns the first column from `x` on that has a disparity, or the width.
int next_finite(const Plane<float>& map, int x, int y) {
  while (x < map.width() && !std::isfinite(map.at(x, y))) ++x;
  return x;
}

void fill_row(Plane<float>& map, int y) {
  const int width = map.width();
  int left = -1, right = next_finite(map, 0, y);
  if (right == width) return;  // no value to fill the row with
  while (left < width) {
    // The gap between two disparities, or between one and the end of the row.
    const float before = left < 0 ? map.at(right, y) : map.at(left, y);
    const float after = right == width ? before : map.at(right, y);
    std::fill(map.row(y) + left + 1, map.row(y) + right, std::min(before, after));
    left = right;
    right = left < width ? next_finite(map, left + 1, y) : width;
  }
}

void copy_row(Plane<float>& map, int from, int to) {
  std::copy(map.row(from), map.row(from) + map.width(), map.row(to));
}

}  // namespace

Plane<float> enlarge(View<const float> disparity, int factor) {
  const DefaultFloatingPoint environment;
  check_view("disparity map", disparity, disparity.size);
  const int longest = std::max(disparity.size.width, disparity.size.height);
  if (factor < 1 || factor > std::numeric_limits<int>::max() / std::max(longest, 1))
    refuse("factor is " + std::to_string(factor) + ": give one from 1 on, with sizes that fit 31 bits");
  Plane<float> large({disparity.size.width * factor, disparity.size.height * factor});
  for (int y = 0; y < large.height(); ++y)
    for (int x = 0; x < large.width(); ++x)
      large.at(x, y) = static_cast<float>(factor) * disparity.at(x / factor, y / factor);
  return large;
}

Plane<float> interpolate_background(View<const float> disparity) {
  const DefaultFloatingPoint environment;
  check_view("disparity map", disparity, disparity.size);
  Plane<float> map = copy_of(disparity);
  const auto is_filled = [&](int y) { return map.width() > 0 && std::isfinite(map.at(0, y)); };
  for (int y = 0; y < map.height(); ++y) fill_row(map, y);
  int first = 0, last = map.height() - 1;
  while (first <= last && !is_filled(first)) ++first;
  if (first > last) return map;
  while (!is_filled(last)) --last;
  for (int y = 0; y < first; ++y) copy_row(map, first, y);
  for (int y = last + 1; y < map.height(); ++y) copy_row(map, last, y);
  return map;
}

}  // namespace parallax
