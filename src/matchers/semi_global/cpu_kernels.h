// SPDX-License-Identifier: Apache-2.0
// The inner loops of semi-global matching on the CPU, compiled once for each vector instruction set.
//
// Lanes are labels. Costs of a row are kept as [pixel][label], in bytes or in words of 16 bits, and pixels are
// `pitch()` elements apart. All elements behind the labels of a pixel, and some before the first one, have the highest
// value: so labels beyond the range never win.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/round_up.h"

namespace parallax::semi_global {

inline constexpr int vector_bytes = 64;  // of the widest vectors

// Labels of a pixel, up to a full vector.
inline int padded_labels(int labels, int element_bytes) {
  return round_up(labels, vector_bytes / element_bytes);
}
// At least one element lies between the labels of two pixels.
inline std::ptrdiff_t pitch(int labels, int element_bytes) {
  return round_up(labels + 1, vector_bytes / element_bytes);
}
// Sums of a row are 16 bits in any case.
inline std::ptrdiff_t sum_pitch(int labels) {
  return round_up(labels, vector_bytes / 2);
}

// Turns costs of up to data_cost::most_at_once pixels from [label][pixel] to [pixel][label].
struct Turn {
  const void* from;  // label k of pixel i is element k·stride + i; `from_bytes` each
  std::ptrdiff_t stride;
  int from_bytes;      // at most those of the target
  int labels, pixels;  // up to 15 more pixels are read, and written
  void* to;
  int to_bytes;
};
void turn_costs(const Turn& turn);

// The pixels from which a path comes, for a row of pixels.
struct Before {
  const void* path;            // [pixel][label], of the pixel before each
  const std::uint16_t* least;  // the lowest of them
  const std::uint16_t* large_jump;
};

// A path through a row.
struct PathRow {
  int element_bytes, labels, width;
  int small_jump;
  bool leftward;  // from the last pixel to the first
  const void* costs;
  Before before;
  const Before* beside;  // null: not MGM
  void* path;            // L, and where `before`, or `beside`, may lie
  std::uint16_t* least;
};
void follow_row(const PathRow& row);

// The path costs of a row, of up to most_paths.
inline constexpr int most_paths = 5;
struct SumRow {
  int element_bytes, labels, width;
  const void* paths[most_paths];
  int count;
  std::uint16_t* sums;  // [pixel][label], `sum_pitch()` apart
  bool adds;            // to the sums, instead of replacing them
};
void add_up_row(const SumRow& row);

// The lowest sum of a pixel.
struct Decided {
  int label;
  std::uint16_t best, before, after;  // those of the labels next to it, where there are such
  std::uint16_t rival;                // the lowest of the labels that are more than one away
  bool has_rival;
};
// `sums` has `sum_pitch()` elements, of which those beyond the labels have any value. The rival is found if it is wanted.
Decided decide(const std::uint16_t* sums, int labels, bool wants_rival);

// The lowest sum, and its label, that each right pixel of a row has, from right to left.
struct RightRow {
  std::uint16_t *lowest, *labels;  // of pixel width − 1 − i; some more elements are read, and written
};
// Takes labels [first, last) of a left pixel, the first of which leads to element `at`.
void take_right(const std::uint16_t* sums, int first, int last, int at, const RightRow& right);

}  // namespace parallax::semi_global
