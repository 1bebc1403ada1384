// SPDX-License-Identifier: Apache-2.0
// The inner loops of semi-global matching on the CPU, compiled once for each vector instruction set.
//
// Lanes are disparities. Numbers of a row are kept as [pixel][row offset][disparity], in bytes or in words of 16 bits; row
// offsets are `pitch()` elements apart. Costs behind the disparities have the highest value, so disparities beyond the range
// never win. Where there is one row offset, labels are disparities.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/round_up.h"

namespace parallax::semi_global {

inline constexpr int vector_bytes = 64;  // of the widest vectors

// Disparities at a row offset, up to a full vector of bytes.
inline std::ptrdiff_t pitch(int labels) {
  return round_up(labels, vector_bytes);
}

// Turns costs of up to data_cost::most_at_once pixels from [label][pixel] to [pixel][label].
struct Turn {
  int element_bytes, labels, pixels;
  const void* from;  // label k of pixel i is element k·stride + i; up to 15 more pixels are read
  std::ptrdiff_t stride;
  void* to;
  std::ptrdiff_t step;  // from one pixel to the next there
};
void turn_costs(const Turn& turn);

// Adds a number to the costs of each row offset of each pixel. Costs behind the disparities keep the highest value.
struct Additions {
  int element_bytes, labels, count;  // labels of a row offset; row offsets of all pixels
  const std::uint16_t* numbers;
  void* costs;
};
void add_to_costs(const Additions& additions);

inline constexpr int most_window = 15;

// Sums of pixels' costs over the windows around the pixels [first, last) of a row.
struct WindowRow {
  int pixel_bytes, labels, reach;  // a window has 2·reach + 1 rows and columns
  const void* const* rows;  // pixels [begin, end) of the rows of the windows; those beyond are repeated
  int begin, end, first, last;
  std::ptrdiff_t step;  // from one pixel to the next, in costs and sums
  std::uint16_t* sums;
  // Null, or the path costs' version in bytes: what sums are above the least of the pixel, or above 0, up to a limit.
  std::uint8_t* bytes;
  bool subtracts_least;
  int limit;
  std::uint16_t* scratch;  // of window_scratch()
};
void add_up_windows(const WindowRow& row);
inline std::size_t window_scratch(int labels, int reach) {
  return static_cast<std::size_t>(2 * reach + 2) * static_cast<std::size_t>(pitch(labels));
}

// Paths that are followed together, by the pixels that they come from. A pass goes through the pixels of a row in one
// direction, and through the rows in another.
enum class Bundle {
  before,            // the pixel before
  cross,             // that, and the one above
  star,              // the pixel before, and the three above: before, here and after
  corner,            // MGM: a path from the pixel before and the one above
  corner_and_sides,  // MGM: that, and a path from the two pixels above, before and after
  sides              // MGM: only the latter
};

inline constexpr int most_paths = 4;  // of a bundle, and pixels that they come from

// Where a pixel is that a path comes from: columns and rows ahead, in the order of the pass.
struct Ahead {
  int pixels, rows;
};
struct BundleForm {
  int paths;
  bool mgm;  // two pixels for each path
  Ahead from[most_paths];
  constexpr int sources() const { return mgm ? 2 * paths : paths; }
  // A path of which only the last two pixels are kept: pixel i is element i mod 2.
  constexpr bool keeps_two(int path) const { return !mgm && path == 0; }
};
constexpr BundleForm form_of(Bundle bundle) {
  constexpr Ahead before{-1, 0}, above_before{-1, -1}, above{0, -1}, above_after{1, -1};
  switch (bundle) {
    case Bundle::before:
      return {1, false, {before}};
    case Bundle::cross:
      return {2, false, {before, above}};
    case Bundle::star:
      return {4, false, {before, above_before, above, above_after}};
    case Bundle::corner:
      return {1, true, {before, above}};
    case Bundle::corner_and_sides:
      return {2, true, {before, above, above_before, above_after}};
    case Bundle::sides:
      break;
  }
  return {1, true, {above_before, above_after}};
}

// Path costs of a row of pixels, in the order of a pass, from the pixel before the first to the one after the last.
struct Line {
  void* paths[most_paths];  // L of the first pixel
  // [pixel][all of them, and each row offset if there are several][path]: the lowest, in the low bits; two pixels, if all
  // paths keep two
  std::uint32_t* least;
};
// Elements of Line::least of a pixel.
inline int leasts(int row_offsets) {
  return most_paths * (row_offsets == 1 ? 1 : 1 + row_offsets);
}

// The bundle at the pixels [first, last) of a row, in the order of the pass.
struct PathRow {
  int first, last;
  Line above, here;
  // What follows is of pixel 0. Pixels are `step` elements apart, unless another step is named.
  const std::uint16_t* large_jump[most_paths];  // P2, by what paths come from
  std::ptrdiff_t large_jump_step;
  std::ptrdiff_t step;
  const void* costs;         // C, for path costs
  const void* summed_costs;  // C, for sums
  void* brought;             // T of the only path, if sums are null
  const void* also_brought;  // to be added to the sums, or null
  // Sums of T, and of `times` costs.
  std::uint16_t* sums;
  std::ptrdiff_t sum_step, sum_row_step;  // from one pixel, and from one row offset, to the next
  bool streams;                           // whether sums are written past the caches
  const std::uint16_t* other_sums;        // to be added, or null
  std::ptrdiff_t other_step;
};
inline constexpr int most_rows = 8;
struct Paths {
  Bundle bundle;
  int path_bytes, cost_bytes;  // of elements of path costs, and of summed_costs
  int labels, small_jump;      // labels of a row offset
  int row_offsets, row_jump;
  bool pairs;  // whether two T add up to a byte
  int times;   // 0: sums are without costs
  int count;   // of rows, which must not depend on each other
  PathRow rows[most_rows];
};
void follow(const Paths& paths);

// The lowest sum of a pixel.
struct Decided {
  std::uint16_t label;
  std::uint16_t best, before, after;  // those of the labels next to it, where there are such
  std::uint16_t rival;                // the lowest of the labels that are more than one away, or 65535
};

// Which labels of a left pixel take part in the right map.
enum class RightLabels { none, all, best };

// Sums that are to be decided have the highest value in this many elements before and behind each pixel.
inline constexpr int sums_margin = 64;
inline std::ptrdiff_t sums_pitch(int labels) {
  return pitch(labels) + sums_margin;
}

// Pixels of a row, one after the other: from left to right, or from right to left.
struct DecisionRow {
  int labels, count;           // labels of a row offset
  std::uint16_t* sums;         // of the first pixel; some are overwritten
  std::ptrdiff_t step;         // from one pixel's to the next
  const std::uint8_t* status;  // of the first pixel; only those that are 0 are decided
  int way;                     // 1, or −1
  bool wants_rival;
  Decided* decided;  // in the order of the sums
  // The lowest sum, and its label, that each right pixel of a row has, from right to left: element i is of pixel
  // right_width − 1 − i; right_margin() more on both sides are read, and written.
  RightLabels right;
  std::uint16_t *right_lowest, *right_labels;
  int right_width;
  std::int64_t right_first;  // element to which label 0 of the first pixel leads
};
void decide(const DecisionRow& row);
std::uint16_t lowest_of(const std::uint16_t* sums, int labels);
inline int right_margin(int labels) {
  return static_cast<int>(sums_pitch(labels));
}

}  // namespace parallax::semi_global
