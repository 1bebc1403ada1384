// SPDX-License-Identifier: Apache-2.0
// The steps of parallax/refine.h, for plans: on a plan's workers, in a plan's memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "parallax/refine.h"

#include "core/arena.h"
#include "core/checks.h"
#include "core/fields.h"
#include "core/plan.h"
#include "core/workers.h"
#include "decision/values.h"
#include "refine/guide.h"
#include "refine/planes.h"
#include "refine/refit.h"

namespace parallax::refine {

// Adds the fields that every method has.
void add_fields(detail::Fields& fields, RefineParameters& parameters);
void add_sub_pixel_field(detail::Fields& fields, SubPixel& sub_pixel);

inline std::size_t width_of(Size size) {
  return static_cast<std::size_t>(size.width);
}

inline std::size_t height_of(Size size) {
  return static_cast<std::size_t>(size.height);
}

inline Workers checked_workers(int threads) {
  check_threads(threads);
  return Workers(threads);
}

// With row offsets v in the left map, a pixel (x, y) is compared with the row y + ⌈v − ½⌉ of the right one.
void left_right_check(const DisparityMap& left, View<const float> right, float tolerance,
                      const Workers& workers);
// `highest` has the size of the map.
void occlusion_check(const DisparityMap& map, float tolerance, View<float> highest, const Workers& workers);
// The number of rows above and below a pixel whose disparities a fill reads.
int reach_of(Fill fill);
void fill_row(const DisparityMap& map, const Workers& workers);

// Calls each(first, last) for every run [first, last) of a row's pixels without a value.
template <class Each>
void for_empty_runs(const float* disparity, int width, const Each& each) {
  for (int x = 0; x < width; ++x) {
    if (decision::has_value(disparity[x])) continue;
    const int first = x;
    while (x < width && !decision::has_value(disparity[x])) ++x;
    each(first, x);
  }
}

// The values that fill_directions() has met on its way along a row or a column.
struct Nearest {
  float value = decision::no_value;  // the last value; infinite if there was none
  int distance = 0;                  // from there to the next pixel
  int low = 255, high = 0;           // the range of gray levels from there on

  void pass(float disparity, int level) {
    if (decision::has_value(disparity))
      *this = {disparity, 1, level, level};
    else
      *this = {value, distance + 1, std::min(low, level), std::max(high, level)};
  }
  // Weight for the next pixel; infinite if no value was met.
  float weight(int level) const {
    const int difference = std::max(level - low, high - level);
    return value + 0.5f * static_cast<float>(difference + distance);
  }
};

// Copies a map into memory of the same size, for references.
inline void copy_map(View<const float> from, View<float> to) {
  for (int y = 0; y < from.size.height; ++y) std::copy_n(from.row(y), from.size.width, to.row(y));
}

// The number of rows that the fill searches up and down, so that maps refined in strips get the same bytes.
inline constexpr int fill_reach = 128;

// The number of columns that one thread fills at a time.
inline constexpr int fill_strip = 64;

// The best candidate of each pixel so far.
struct Candidates {
  View<float> weight, value;
};

// `candidates` has the size of the map and need not be initialised.
void fill_directions(const DisparityMap& map, View<const std::uint8_t> guide, const Candidates& candidates,
                     const Workers& workers);
// The same, written directly from the definition. `scratch` has the size of the map.
void fill_directions_reference(const DisparityMap& map, View<const std::uint8_t> guide, View<float> scratch);

// Steps over windows read a copy of the map surrounded by "no value"; at the end of a row, the border is as
// wide as a full vector may read.
inline Size bordered_size(Size size, int window) {
  constexpr int widest_vector = 64 / sizeof(float);
  const int border = window / 2;
  return {size.width + 2 * border + widest_vector, size.height + 2 * border};
}
// With the border, a side must still fit in an int.
inline void check_bordered(View<const float> disparity) {
  constexpr int longest = 1'000'000;
  check_view("disparity map", disparity, disparity.size);
  check_range("width of the disparity map", disparity.size.width, 0, longest);
  check_range("height of the disparity map", disparity.size.height, 0, longest);
}
// `scratch` has at least bordered_size(), here and below.
inline void copy_bordered(View<const float> disparity, int window, View<float> scratch,
                          const Workers& workers) {
  const Size size = bordered_size(disparity.size, window);
  const int border = window / 2;
  for_rows(workers, size.height, [&](int y, int) {
    float* out = scratch.row(y);
    std::fill_n(out, size.width, decision::no_value);
    if (y >= border && y < border + disparity.size.height)
      std::copy_n(disparity.row(y - border), disparity.size.width, out + border);
  });
}
void median(View<float> disparity, int window, View<float> scratch, const Workers& workers);
// The same by sorting, for readers.
void median_reference(View<float> disparity, int window, View<float> scratch);

// `guide`: inside_border() of the image's guide.
void weighted_median(View<float> disparity, View<const std::uint8_t> guide, const GuidedWindow& filter,
                     View<float> scratch, const Workers& workers);
void bilateral(View<float> disparity, View<const std::uint8_t> guide, const GuidedWindow& filter, float step,
               View<float> scratch, const Workers& workers);

// The bilateral filter moves pixels in units of 1/shift_unit pixel.
inline constexpr float shift_unit = 256;
// The integer nearest sum/weights, ties away from 0. Twice a window's sum is below 2³²: neighbours differ by
// at most 128 pixels each.
inline std::int32_t nearest_quotient(std::int32_t sum, std::int32_t weights) {
  const auto all = static_cast<std::uint32_t>(std::max(weights, 1));
  const auto size = static_cast<std::uint32_t>(std::abs(sum));
  const auto nearest = static_cast<std::int32_t>((2 * size + all) / (2 * all));
  return sum < 0 ? -nearest : nearest;
}

// The same, written directly from the equations.
void weighted_median_reference(View<float> disparity, View<const std::uint8_t> guide, int window, int range,
                               View<float> scratch);
void bilateral_reference(View<float> disparity, View<const std::uint8_t> guide, int window, int range,
                         float step, View<float> scratch);

// `regions` has an element for each pixel. There are fewer than 2³¹ pixels: check_speckle_size().
void speckle_filter(const DisparityMap& map, int size, float range, std::int32_t* regions,
                    const Workers& workers);
void speckle_filter_reference(const DisparityMap& map, int size, float range, std::int32_t* regions);
void check_speckle_size(Size size);

}  // namespace parallax::refine
