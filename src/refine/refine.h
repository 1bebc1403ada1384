// SPDX-License-Identifier: Apache-2.0
// The steps of parallax/refine.h, for plans: on a plan's workers, in a plan's memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "parallax/refine.h"

#include "core/arena.h"
#include "core/checks.h"
#include "core/fields.h"
#include "core/plan.h"
#include "core/workers.h"
#include "refine/guide.h"
#include "refine/planes.h"
#include "refine/refit.h"

namespace parallax::refine {

// Adds the fields that every method has.
void add_fields(detail::Fields& fields, RefineParameters& parameters);
void add_sub_pixel_field(detail::Fields& fields, SubPixel& sub_pixel);

inline constexpr float no_value = std::numeric_limits<float>::infinity();

inline bool has_value(float disparity) {
  return disparity < no_value;
}

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

inline std::uint8_t code(Status status) {
  return static_cast<std::uint8_t>(status);
}

// With row offsets v in the left map, a pixel (x, y) is compared with the row y + ⌈v − ½⌉ of the right one.
void left_right_check(const DisparityMap& left, View<const float> right, float tolerance,
                      const Workers& workers);
// Rows above and below a pixel whose disparities a fill looks at.
int reach_of(Fill fill);
void fill_row(const DisparityMap& map, const Workers& workers);

// What fill_directions() has met on its way along a row or a column.
struct Nearest {
  float value = no_value;   // the last value; infinite if there was none
  int distance = 0;         // from there to the next pixel
  int low = 255, high = 0;  // the range of gray levels from there on

  void pass(float disparity, int level) {
    if (has_value(disparity))
      *this = {disparity, 1, level, level};
    else
      *this = {value, distance + 1, std::min(low, level), std::max(high, level)};
  }
  // For the next pixel; infinite if there was no value.
  float weight(int level) const {
    const int difference = std::max(level - low, high - level);
    return value + 0.5f * static_cast<float>(difference + distance);
  }
};

// Rows that the fill looks up and down, so that maps that are refined in strips get the same bytes.
inline constexpr int fill_reach = 128;

// Columns that one thread fills at a time.
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

// Steps over windows read a copy of the map surrounded by "no value": at the end of a row, as many as a full
// vector may read.
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
// `scratch` has bordered_size(), or more, here and below.
void copy_bordered(View<const float> disparity, int window, View<float> scratch, const Workers& workers);
void median(View<float> disparity, int window, View<float> scratch, const Workers& workers);
// The same by sorting: the readable version.
void median_reference(View<float> disparity, int window, View<float> scratch);

// `guide`: inside_border() of the image's.
void weighted_median(View<float> disparity, View<const std::uint8_t> guide, const GuidedWindow& filter,
                     View<float> scratch, const Workers& workers);
void bilateral(View<float> disparity, View<const std::uint8_t> guide, const GuidedWindow& filter, float step,
               View<float> scratch, const Workers& workers);
inline void check_bilateral_step(const char* field, float step) {
  check_range(field, step, 0.0f, 128.0f);
}

// The bilateral filter moves pixels in units of 1/shift_unit pixel.
inline constexpr float shift_unit = 256;
// The integer nearest sum/weights, ties away from 0. Twice a window's sum, of at most 128 pixels per
// neighbour, is below 2³².
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

// `regions` has an element for each pixel, and there are fewer than 2³¹ of them: check_speckle_size().
void speckle_filter(const DisparityMap& map, int size, float range, std::int32_t* regions,
                    const Workers& workers);
void speckle_filter_reference(const DisparityMap& map, int size, float range, std::int32_t* regions);
void check_speckle_size(Size size);

// All steps of a matcher's RefineParameters, with the memory they need.
class Pipeline {
 public:
  // `reference`: uses the readable filters.
  Pipeline(const RefineParameters& parameters, Size size, bool reference);

  // Called twice, as Arena says, before the first run.
  void reserve(Arena& arena);

  // `pair`: the images of the map; the right one is for refit() only. `right`: the right map, for the left-right check.
  // Row offsets of the map, where there are some, are filled and filtered by the median, too.
  void run(const StereoPair& pair, const DisparityMap& map, View<const float> right, const Workers& workers,
           detail::StageClock& clock) const;

 private:
  View<std::uint8_t> guide() const { return inside_border(guide_, size_, guided_window_); }
  void fill(const ImageView& left, const DisparityMap& map, const Workers& workers) const;
  void take_median(View<float> values, const Workers& workers) const;
  void filter_guided(View<float> disparity, const Workers& workers, detail::StageClock& clock) const;

  RefineParameters parameters_;
  bool reference_;
  Size size_;
  int guided_window_;  // the largest guided window; 0 = there is none
  GuidedWindow weighted_median_, bilateral_;
  View<float> scratch_;
  Candidates candidates_;
  RefitMemory refit_;
  PlaneFill planes_;
  View<std::uint8_t> guide_;
  std::int32_t* regions_ = nullptr;
};

}  // namespace parallax::refine
