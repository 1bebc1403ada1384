// SPDX-License-Identifier: Apache-2.0
// The inner loops of belief propagation on the CPU, compiled once for each vector instruction set.
//
// Lanes are neighbouring pixels of one colour of the checkerboard. The pixels of a row are split by the
// parity of x: pixel x is element x / 2 of its half. In row y, colour c is the half of parity (y + c) % 2, so
// that c is 0 where x + y is even. A plane holds the values of every label for one half of a row,
// [label][stride] elements. The last of every `stride` are beyond the half. Elements next to the half, before
// and behind it, must be zero in messages to the right and to the left: there are none from beyond the
// border. In integers they are after an update, because slopes and truncations are 0 there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "parallax/belief_propagation.h"

#include "data_cost/features.h"

namespace parallax::belief_propagation {

using data_cost::Feature, data_cost::feature_bytes, data_cost::feature_planes, data_cost::max_feature_planes,
    data_cost::widest_vector_bytes;

// The direction that a message goes to, or comes from.
enum Direction { above, below, left, right, direction_count };

// Shape of the planes of one level.
struct PlaneShape {
  int labels, row_offsets;  // labels of all row offsets together; each has the same number
  int computed;             // elements of a half that are computed: full vectors
  int copied;               // the same, an even number of vectors of stored elements
  std::ptrdiff_t stride;    // elements from one label to the next
};

// Elements [first, last) of a half: full vectors.
struct Range {
  int first, last;
};

// Updates one row of one colour. Planes have the storage type of the arithmetic, and are shifted so that
// element i of `from` is for pixel i.
struct RowUpdate {
  PlaneShape shape;
  Range range;
  const void* data;
  const void* from[direction_count];
  void* to[direction_count];
  // For each pixel, in the computing type: the discontinuity cost of one label, and its bound.
  const void* slopes[direction_count];
  const void* truncations[direction_count];
  // Where there are several row offsets: the cost of one, and for each pixel the bound of all; 0 beyond the
  // border.
  float row_slope;
  const void* row_bounds[direction_count];
  void* scratch;  // scratch_bytes(labels) bytes
};

struct RowDecision {
  PlaneShape shape;
  Range range;
  const void* data;
  const void* from[direction_count];
  void* scratch;  // scratch_bytes(labels) bytes
  // For each pixel.
  std::uint16_t* labels;
  float *before, *best, *after;   // null when only labels are wanted
  float *row_before, *row_after;  // written where there are several row offsets
};

// Sums two rows of the finer level to one of the coarser. A missing row is given as zeros.
struct RowSum {
  PlaneShape fine, coarse;
  const void* children[2][2] = {};  // [row][parity of x]
  void* sums[2] = {};               // [parity of x]
  int bound;                        // integer arithmetic: bound of the data costs
  void* scratch;                    // scratch_bytes(labels) bytes
};

// Data costs of one row of one colour.
//
// The right row is extended to every column that any label reaches, and split by parity as the left one:
// disparity k of left pixel x reads extended column x + disparities − 1 − k.
struct RightRow {
  const void* planes[2][max_feature_planes];  // both halves of the extended row
  const std::uint8_t* valid[2];               // 255 where there is a right pixel, else 0
};
struct RowCost {
  PlaneShape shape;
  Range range;
  Feature feature;
  int parity;                            // parity of the left pixels' columns
  const void* left[max_feature_planes];  // the half of this parity
  const std::uint8_t* left_valid;        // 255 where the pixel has data costs, else 0
  const RightRow* right;                 // for each row offset
  // Integer differences 0…255 and the outside cost in bytes, where fixed8 represents them exactly.
  bool simple;
  const std::uint8_t* table;
  int table_end;  // differences from here on have the last entry's cost
  // Otherwise costs are computed in floats.
  float scale;
  int differences;
  float outside;
  int bound;  // integer arithmetic
  void* out;
  void* scratch;  // scratch_bytes(labels) bytes
};

// What row offsets cost one half of a row in addition, or by themselves: the costs of row offset k are
// `costs`[k·stride + i].
struct RowOffsets {
  PlaneShape shape;
  void* data;  // the data costs of all labels
  float* costs;
  int bound;      // integer arithmetic: bound of the data costs
  void* scratch;  // scratch_bytes(labels) bytes
};

// Enough for four floats per label and lane.
inline std::size_t scratch_bytes(int labels) {
  return to_size(labels) * 4 * 64;
}

std::size_t storage_bytes(Arithmetic arithmetic);
// Bytes of one slope or truncation.
std::size_t computing_bytes(Arithmetic arithmetic);
// Ranges are multiples of this many elements.
int computing_unit(Arithmetic arithmetic);
int copying_unit(Arithmetic arithmetic);

PlaneShape plane_shape(Size size, int labels, int row_offsets, Arithmetic arithmetic);

void update_row(Arithmetic arithmetic, const RowUpdate& row);
void decide_row(Arithmetic arithmetic, const RowDecision& row);
void sum_row(Arithmetic arithmetic, const RowSum& row);
void cost_row(Arithmetic arithmetic, const RowCost& row);
// Sets the costs of row offsets to the least data costs of their labels.
void min_costs(Arithmetic arithmetic, const RowOffsets& row);
// Adds the costs of row offsets to the data costs.
void add_costs(Arithmetic arithmetic, const RowOffsets& row);

// The last step of cost_row(): stores the data costs of elements from their costs in `units`, [label][pitch].
inline constexpr int pitch = 64;
void settle_costs(Arithmetic arithmetic, const PlaneShape& shape, int count, const float* units, int bound,
                  void* out);
// Splits a row into even and odd elements, in full vectors.
void split_row(const std::uint8_t* row, int count, std::uint8_t* even, std::uint8_t* odd);
void split_row(const std::uint16_t* row, int count, std::uint16_t* even, std::uint16_t* odd);

// Initialises a level's messages: element i of `out` becomes coarse pixel i of the same plane, whose even
// pixels are in `even` and odd ones in `odd`. The range consists of pairs of vectors of stored elements.
void copy_down(Arithmetic arithmetic, const PlaneShape& fine, const PlaneShape& coarse, Range range,
               const void* even, const void* odd, void* out);

}  // namespace parallax::belief_propagation
