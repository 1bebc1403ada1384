// SPDX-License-Identifier: Apache-2.0
// The inner loops of semi-global matching on the CPU, compiled once for each vector instruction set.
//
// Lanes are disparities. Rows are stored as [pixel][row offset][disparity], in bytes or in words of 16 bits;
// row offsets are `pitch()` elements apart. The elements beyond the disparities hold the highest cost, so
// that they never win. With one row offset, labels are disparities.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/integers.h"

namespace parallax::semi_global {

inline constexpr int vector_bytes = 64;  // size of the widest vectors

// Elements of a row offset: the disparities, rounded up to a full vector of bytes.
inline std::ptrdiff_t pitch(int disparities) {
  return round_up(disparities, vector_bytes);
}

// Transposes the costs of up to data_cost::max_at_once pixels from [disparity][pixel] to [pixel][disparity].
struct Transposition {
  int element_bytes, disparities, pixels;
  const void* from;  // disparity d of pixel i is element d·stride + i; up to 15 more pixels are read
  std::ptrdiff_t stride;
  void* to;
  std::ptrdiff_t step;  // from one pixel to the next in `to`
};
void transpose_costs(const Transposition& transposition);

// Adds a cost to all disparities of a row offset of a pixel. Elements beyond them keep the highest cost.
struct AddedRowCosts {
  int element_bytes, disparities, count;  // count: pixels × row offsets
  const std::uint16_t* row_costs;
  void* costs;
};
void add_row_costs(const AddedRowCosts& added);

inline constexpr int max_window = 15;

// Sums of the costs of single pixels over the windows around the pixels [first, last) of a row.
struct WindowRow {
  int pixel_bytes, disparities, reach;  // a window has 2·reach + 1 rows and columns
  const void* const* rows;  // pixels [begin, end) of the rows of the windows; border pixels are repeated
  int begin, end, first, last;
  std::ptrdiff_t step;  // from one pixel to the next, in costs and sums
  std::uint16_t* sums;
  // Null, or the sums in bytes, for path costs: above the pixel's lowest sum or above 0, clipped to a limit.
  std::uint8_t* bytes;
  bool subtracts_min;
  int limit;
  std::uint16_t* scratch;  // window_scratch() elements
};
void sum_windows(const WindowRow& row);
inline std::size_t window_scratch(int disparities, int reach) {
  return to_size(2 * reach + 2) * to_size(pitch(disparities));
}

// Paths that are followed together, named by the pixels that they come from. A pass visits the pixels of a
// row in one direction, and the rows in another.
enum class Bundle {
  before,            // the pixel before
  cross,             // the pixel before, and the one above
  star,              // the pixel before, and the three above: before, here and after
  corner,            // MGM: one path, from the pixel before and the one above
  corner_and_sides,  // MGM: that path, and one from the two pixels above, before and after
  sides              // MGM: only the latter
};

inline constexpr int max_paths = 4;  // paths of a bundle at most; also the most pixels that they come from

// Position of the pixel that a path comes from: columns and rows ahead, in the order of the pass.
struct Ahead {
  int pixels, rows;
};
struct BundleForm {
  int paths;
  bool mgm;  // each path comes from two pixels
  Ahead from[max_paths];
  constexpr int sources() const { return mgm ? 2 * paths : paths; }
  // Whether only the last two pixels of a path are kept: pixel i is element i mod 2.
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

// Path costs of a row of pixels, in the order of a pass, with a pixel more at both ends.
struct Line {
  void* paths[max_paths];  // L of the first pixel
  // [pixel][over all labels, then, with several row offsets, over each][path]: the minimum, in the low bits;
  // two pixels if all paths keep two
  std::uint32_t* minima;
};
// Elements of Line::minima of a pixel.
inline int minima_per_pixel(int row_offsets) {
  return max_paths * (row_offsets == 1 ? 1 : 1 + row_offsets);
}

// The pixels [first, last) of a row, in the order of the pass. Pointers are to pixel 0, and pixels are `step`
// elements apart, unless another step is named.
struct PathRow {
  int first, last;
  Line above, here;
  const std::uint16_t* large_jump[max_paths];  // P2 from each source
  std::ptrdiff_t large_jump_step;
  std::ptrdiff_t step;
  const void* costs;                      // C, for path costs
  const void* summed_costs;               // C, for sums
  void* transitions;                      // output if sums are null: T of the only path
  const void* added_transitions;          // added to the sums, or null
  std::uint16_t* sums;                    // output: sums of T, and of `cost_factor`·C
  std::ptrdiff_t sum_step, sum_row_step;  // from one pixel, and from one row offset, to the next
  bool streams;                           // whether sums are written past the caches
  const std::uint16_t* other_sums;        // added to the sums, or null
  std::ptrdiff_t other_step;
};
inline constexpr int max_rows = 8;
struct Paths {
  Bundle bundle;
  int path_bytes, cost_bytes;  // sizes of an element of path costs, and of summed_costs
  int disparities, small_jump;
  int row_offsets, row_jump;
  bool pairs_fit_bytes;  // whether the sum of two T fits a byte
  int cost_factor;       // 0: sums are without C
  int count;             // number of rows, which must not depend on each other
  PathRow rows[max_rows];
};
void aggregate_paths(const Paths& paths);

// The label with the lowest sum of a pixel, at one row offset.
struct Winner {
  std::uint16_t label;
  std::uint16_t best, before, after;  // its sum, and the sums of its neighbours, where these exist
  std::uint16_t rival;                // the lowest sum of labels more than one away, or 65535
};

// Labels of a left pixel that take part in the right map.
enum class RightLabels { none, all, best };

// The lowest sum that left pixels offer to each right pixel of a row, and its label, from right to left:
// element i belongs to pixel width − 1 − i. right_margin() more elements on both sides are read, and written.
struct RightRow {
  std::uint16_t *sums, *labels;
};

// Elements before and behind the sums of each pixel that hold the highest value when winners are looked for.
inline constexpr int sums_margin = 64;
inline std::ptrdiff_t sums_pitch(int disparities) {
  return pitch(disparities) + sums_margin;
}
inline int right_margin(int disparities) {
  return static_cast<int>(sums_pitch(disparities));
}

// Consecutive pixels of a row, from left to right or from right to left.
struct DecisionRow {
  int disparities, count;
  std::uint16_t* sums;         // sums of the first pixel; some are overwritten
  std::ptrdiff_t step;         // from one pixel's sums to the next
  const std::uint8_t* status;  // status of the first pixel; only pixels of status 0 are decided
  int direction;               // 1, or −1
  bool wants_rival;
  Winner* winners;  // in the order of the sums
  RightLabels right_labels;
  RightRow right;
  int right_width;
  std::int64_t right_first;  // element of `right` to which label 0 of the first pixel leads

  // Offers the winner of pixel i to the right pixel that it leads to. Lowest labels win ties: they come first
  // from left to right, and last from right to left.
  void offer(int i, const Winner& winner) const {
    const std::int64_t to = right_first - direction * i + winner.label;
    if (to < 0 || to >= right_width) return;
    std::uint16_t& lowest = right.sums[to];
    if (direction < 0 ? winner.best > lowest : winner.best >= lowest) return;
    lowest = winner.best;
    right.labels[to] = winner.label;
  }
};
void find_winners(const DecisionRow& row);
std::uint16_t min_of(const std::uint16_t* sums, int disparities);

}  // namespace parallax::semi_global
