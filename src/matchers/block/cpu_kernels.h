// SPDX-License-Identifier: Apache-2.0
// The inner loops of block matching on the CPU, compiled once for each vector instruction set.
//
// Lanes are neighbouring labels; window_sums-inl.h has the running sums.
//
// The right image is stored mirrored: index j grows with the label. Column u of label k reads right pixel
// u − min_disparity − k, which is at j = (width − 1 + radius − u) + k.
//
// With row offsets there is a pass for each of them, with the right image moved by so many rows. Each pass
// keeps the costs that it finds, from which the row offset of each pixel is chosen at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "parallax/block.h"
#include "parallax/image.h"

#include "decision/confidence.h"
#include "rows/row_votes.h"

namespace parallax::block {

// The integer type of sums.
enum class Sums { bits16, bits32, bits64 };

inline std::size_t bytes_of(Sums sums) {
  return sums == Sums::bits16 ? 2 : sums == Sums::bits32 ? 4 : 8;
}
inline std::size_t cost_bytes(BlockCost cost, Sums sums) {
  return cost == BlockCost::zncc ? 4 : bytes_of(sums);
}

inline constexpr int widest_vector_bytes = 64;
inline constexpr int max_block = 16;

struct SweepShape {
  int width, height;
  int radius;
  int min_disparity;
  int labels;
  int padded_labels;  // rounded up to whole vectors
  int block;          // pixels decided together; at most max_block

  int window() const { return 2 * radius + 1; }
  int columns() const { return width + 2 * radius; }
  // Columns of the mirrored right image.
  int right_columns() const { return columns() + padded_labels - 1; }
  float disparity(int label) const { return static_cast<float>(min_disparity + label); }
  // Index of right pixel x; outside right_columns() for pixels that no label reaches.
  std::int64_t right_index(int x) const { return std::int64_t{mirrored(0)} - min_disparity - x; }
  bool has_right(std::int64_t index) const { return index >= 0 && index < right_columns(); }
  // Index of the right pixel of label 0 that belongs to left column u, which may lie in the extension.
  int mirrored(int u) const { return width - 1 + radius - u; }
  // Labels of column u that any window needs: those whose right pixel is in the extended right image.
  int first_label(int u) const {
    return bounded(static_cast<std::int64_t>(u) - min_disparity - (width - 1 + radius));
  }
  int end_label(int u) const { return bounded(static_cast<std::int64_t>(u) - min_disparity + radius + 1); }
  // Labels of left pixel x whose right pixel exists.
  int first_candidate(int x) const {
    return bounded(static_cast<std::int64_t>(x) - min_disparity - (width - 1));
  }
  int end_candidate(int x) const { return bounded(static_cast<std::int64_t>(x) - min_disparity + 1); }

 private:
  int bounded(std::int64_t label) const {
    return static_cast<int>(label < 0 ? 0 : label > labels ? labels : label);
  }
};

// Memory of one thread. Element types in brackets: S is the type of the sums, C that of the costs.
struct SweepMemory {
  void* columns;      // [S] columns × padded_labels
  void* zeros;        // [S] padded_labels
  void* window_sums;  // [S] block × padded_labels + a vector
  void* costs;        // [C] the same number; where costs are not the sums themselves
  // In the order of the mirrored right image, right_columns + a vector:
  void* excluded;                   // [C] the highest value: masked
  void* right_costs;                // [C] lowest cost so far of a right pixel
  void* right_labels;               // [C] its label
  double* right_sums;               // ZNCC: ΣR
  double* right_scales;             // ZNCC: 1/√(n·ΣR² − (ΣR)²)
  std::int64_t* column_statistics;  // ZNCC: Σ and Σ² of each column, of left and right
  double* left_sums;                // ZNCC, by left pixel
  double* left_scales;
};

// The costs that the passes have found: for each pass a plane of costs C or floats of the image's height.
struct RowSearch {
  int passes = 0;            // 0: no row offsets
  int pass = 0;              // the current one
  bool with_rivals = false;  // whether they are wanted
  int height = 0;
  std::ptrdiff_t pitch = 0, right_pitch = 0;  // elements from one row to the next
  void* costs = nullptr;                      // [C] of the winner; the highest value where there is none
  float* disparities = nullptr;               // with their fractions
  void* rivals = nullptr;                     // [C] the lowest cost more than one label away
  // In the order of the mirrored right image; null: not wanted.
  void* right_costs = nullptr;   // [C]
  void* right_labels = nullptr;  // [C]
  rows::RowVotes votes[2];       // [left, right]

  // The row offset of a pass.
  int offset(int of_pass) const { return of_pass - passes / 2; }
  // A row of a plane with `pitch` or `right_pitch`.
  template <class T>
  T* row(void* planes, int of_pass, int y, std::ptrdiff_t plane_pitch) const {
    return static_cast<T*>(planes) + (std::ptrdiff_t{of_pass} * height + y) * plane_pitch;
  }
};

struct Sweep {
  SweepShape shape;
  BlockCost cost;
  Sums sums;
  int uniqueness;
  SubPixel sub_pixel;
  View<const std::uint16_t> left;                  // columns() wide
  View<const std::uint16_t> right;                 // mirrored, right_columns() wide
  View<const std::uint8_t> left_mask, right_mask;  // may be empty
  View<const std::uint8_t> textureless;            // may be empty; not 0 = textureless
  DisparityMap map;
  View<float> right_disparity;  // empty: not wanted
  SweepMemory memory;
  RowSearch rows = {};

  bool finds_right() const { return !right_disparity.empty(); }
  bool searches_rows() const { return rows.passes > 0; }
  int row_in_image(int y) const { return y < 0 ? 0 : y < shape.height ? y : shape.height - 1; }
  // The row of the right image that row y is compared with; it may lie outside.
  int right_y(int y) const { return searches_rows() ? y + rows.offset(rows.pass) : y; }
  const std::uint16_t* right_row(int y) const { return right.row(row_in_image(right_y(y))); }
  bool is_masked(int x, int y) const { return !left_mask.empty() && left_mask.at(x, y) == 0; }
  // The status of a left pixel. is_ambiguous() is called only where uniqueness decides.
  template <class IsAmbiguous>
  Status judge(int x, int y, bool has_candidate, const IsAmbiguous& is_ambiguous) const {
    if (is_masked(x, y)) return Status::input_masked;
    if (!has_candidate) return Status::out_of_range;
    if (!textureless.empty() && textureless.at(x, y) != 0) return Status::textureless;
    return uniqueness > 0 && is_ambiguous() ? Status::ambiguous : Status::matched;
  }
};

// Confidence in a winner; `rival` is the highest value of C where there is none.
template <class Cost>
float confidence(Cost best, Cost rival) {
  if (rival == std::numeric_limits<Cost>::max()) return 1;
  return decision::confidence<std::int64_t>(static_cast<std::int64_t>(best),
                                            static_cast<std::int64_t>(rival));
}

// Matches the rows [first, last), or makes a pass over them.
void sweep_rows(const Sweep& sweep, int first, int last);

// After the last pass: sums the votes of squares, in the rows of squares [first, last).
void count_row_votes(const Sweep& sweep, int first, int last);
// After the votes are settled: chooses the row offsets in the rows [first, last), and writes both maps.
void choose_rows(const Sweep& sweep, int first, int last);

}  // namespace parallax::block
