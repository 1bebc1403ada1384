// SPDX-License-Identifier: Apache-2.0
// The inner loops of block matching on the CPU, compiled once for each vector instruction set.
//
// Lanes are neighbouring labels. For every column u of the left image (extended by the window's radius) and
// label k there is a running sum over the w rows of the window, the column sum; a row of results comes from
// one sweep over u:
//
//   column(u, k) += term(new row) − term(row that left the window)
//   window(k)    += column(u, k) − column(u − w, k)
//
// So a label of a pixel costs the same for any window, and one row of column sums is kept, never a volume.
//
// The right image is stored mirrored: index j grows with the label. Column u of label k reads right pixel
// u − lowest − k, which stands at j = (width − 1 + radius − u) + k.
//
// Across rows there is a pass for each row offset, with the right image moved by so many rows. Each keeps what it finds,
// from which the row offset of each pixel is chosen at the end.
#pragma once

#include <cstddef>
#include <cstdint>

#include "parallax/block.h"
#include "parallax/image.h"

#include "rows/row_votes.h"

namespace parallax::block {

// The integer type of sums.
enum class Sums { bits16, bits32, bits64 };

inline constexpr int widest_vector_bytes = 64;
inline constexpr int most_block = 16;

struct SweepShape {
  int width, height;
  int radius;
  int lowest;  // lowest disparity
  int labels;
  int padded_labels;  // rounded up to whole vectors
  int block;          // pixels decided together; at most most_block

  int window() const { return 2 * radius + 1; }
  int columns() const { return width + 2 * radius; }
  // Of the mirrored right image.
  int right_columns() const { return columns() + padded_labels - 1; }
  // Index of the right pixel of label 0 that belongs to left column u, which may lie in the extension.
  int mirrored(int u) const { return width - 1 + radius - u; }
  // Labels of column u that any window needs: those whose right pixel is in the extended right image.
  int first_label(int u) const {
    return bounded(static_cast<std::int64_t>(u) - lowest - (width - 1 + radius));
  }
  int end_label(int u) const { return bounded(static_cast<std::int64_t>(u) - lowest + radius + 1); }
  // Labels of left pixel x whose right pixel exists.
  int first_candidate(int x) const { return bounded(static_cast<std::int64_t>(x) - lowest - (width - 1)); }
  int end_candidate(int x) const { return bounded(static_cast<std::int64_t>(x) - lowest + 1); }

 private:
  int bounded(std::int64_t label) const {
    return static_cast<int>(label < 0 ? 0 : label > labels ? labels : label);
  }
};

// Memory of one thread. Element types in brackets: S the type of the sums, C of the costs.
struct SweepMemory {
  void* columns;      // [S] columns × padded_labels
  void* zeros;        // [S] padded_labels
  void* window_sums;  // [S] block × padded_labels + a vector
  void* costs;        // [C] the same; where costs are not the sums themselves
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

// What the passes have found, for each pass a plane of costs C or floats of the image's height; `pitch` elements from one
// row to the next.
struct RowSearch {
  int passes = 0;            // 0: one row only
  int pass = 0;              // the current one
  bool with_rivals = false;  // whether they are wanted
  int height = 0;
  std::ptrdiff_t pitch = 0, right_pitch = 0;
  void* costs = nullptr;         // [C] the lowest; the highest value where there is none
  float* disparities = nullptr;  // with their fractions
  void* rivals = nullptr;        // [C] the lowest cost more than one away
  // In the order of the mirrored right image; null: not wanted.
  void* right_costs = nullptr;   // [C]
  void* right_labels = nullptr;  // [C]
  rows::RowVotes votes[2];       // [left, right]

  // The row offset of a pass.
  int offset(int of_pass) const { return of_pass - passes / 2; }
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
};

// Matches the rows [first, last), or makes a pass over them.
void sweep_rows(const Sweep& sweep, int first, int last);

// After the last pass: sums the votes of squares, in the rows of squares [first, last).
void count_row_votes(const Sweep& sweep, int first, int last);
// When the votes are settled: chooses the row offsets in the rows [first, last), and writes both maps.
void choose_rows(const Sweep& sweep, int first, int last);

}  // namespace parallax::block
