// SPDX-License-Identifier: Apache-2.0
// Inner loops of all_labels.h. Lanes are the pixels of a row whose columns have one parity, which are of one
// colour of the checkerboard: pixel i is column 2i or 2i + 1. Values of label k of pixel i are element
// k·stride + i of a plane.
#pragma once

#include <cstddef>
#include <cstdint>

#include "parallax/arithmetic.h"
#include "parallax/image.h"

#include "core/integers.h"
#include "core/label_space.h"
#include "data_cost/features.h"

namespace parallax::motion {

// The side to which a message goes, or from which it comes.
namespace side {
inline constexpr int above = 0, below = 1, left = 2, right = 3, count = 4;
inline constexpr int opposite[] = {below, above, right, left};
}  // namespace side

using data_cost::widest_vector_bytes;

// Calls action(a value of the type of this arithmetic's costs and messages).
template <class Action>
auto as_element(Arithmetic arithmetic, const Action& action) {
  if (arithmetic == Arithmetic::fixed8) return action(std::uint8_t{});
  if (arithmetic == Arithmetic::fixed16) return action(std::uint16_t{});
  return action(0.0f);
}

inline std::size_t element_bytes(Arithmetic arithmetic) {
  return as_element(arithmetic, [](auto element) { return sizeof element; });
}

// A row of pixels that send messages, or decide.
struct PixelRow {
  Size labels;
  int first, last;        // pixels; sending pixels fill widest vectors
  std::ptrdiff_t stride;  // elements between labels
  const void* data;
  // Messages to these pixels from each side: element i is to pixel i. Their stride is 0 where all labels
  // share zeros.
  const void* from[side::count];
  std::ptrdiff_t from_stride[side::count];
};

struct SendingRow : PixelRow {
  void* to[side::count];
  const void *slopes[side::count], *truncations[side::count];
  void* scratch;  // sending_scratch() bytes
};
inline std::size_t sending_scratch(Size labels) {
  return to_size(labels.width) * side::count * widest_vector_bytes;
}

struct DecidingRow : PixelRow {
  bool around;                  // whether beliefs around the lowest are asked for
  std::uint16_t *column, *row;  // position of the label of the lowest belief, by pixel
  // By pixel: the lowest belief, those before and after it along both axes, and the rival; infinite where
  // there is none.
  float *lowest, *before[2], *after[2], *rival;
  void* scratch;  // deciding_scratch() bytes
};
inline std::size_t deciding_scratch(Size labels) {
  return (to_size(labels.width) * to_size(labels.height) + to_size(labels.height)) * widest_vector_bytes;
}

// Data costs of the coarser level: pixel X of it has children of index X in both parities of two rows. A
// pixel's least is subtracted from all of its labels, and they are cut at the bound.
struct SummingRow {
  int labels;
  int first, count;         // indices of children; full vectors
  const void* children[4];  // both parities of the first row, then of the second; null = none
  std::ptrdiff_t stride;    // stride of the children
  void* sums[2];            // [parity of the coarse pixel]
  std::ptrdiff_t sums_stride;
  int bound;      // integer arithmetic only
  void* scratch;  // 4 widest vectors for each label
};

// Messages of a pixel, taken from the pixel of its index one level up, whose messages are by parity.
struct CopyingRow {
  int labels;
  int computed;
  const void* coarse[2];
  std::ptrdiff_t coarse_stride;
  void* fine;
  std::ptrdiff_t stride;
};

// The features of a frame: by row, by parity, planes of census bytes, or one of samples; and last, bytes that
// are 255 where pixels take part. On both sides of a plane, some of its elements are those of pixels that
// take no part.
struct FeatureLayout {
  static constexpr int border = widest_vector_bytes;
  bool census;
  int pixels;  // pixels of a parity
  int planes() const { return census ? data_cost::max_feature_planes : 1; }
  int sample_bytes() const { return census ? 1 : 2; }
  std::ptrdiff_t elements() const { return round_up(pixels, border) + 2 * border; }
  std::ptrdiff_t half_bytes() const { return (planes() * sample_bytes() + 1) * elements(); }
  std::ptrdiff_t row_bytes() const { return 2 * half_bytes(); }
  // Address of pixel 0 in the planes of a row and parity.
  std::ptrdiff_t plane_at(int y, int parity, int plane) const {
    return y * row_bytes() + parity * half_bytes() + (plane * elements() + border) * sample_bytes();
  }
  std::ptrdiff_t valid_at(int y, int parity) const {
    return y * row_bytes() + (parity + 1) * half_bytes() - elements() + border;
  }
};

// Data costs of a row of one parity, minus the lowest of each pixel, limited to the bound.
struct CostingRow {
  LabelSpace labels;
  FeatureLayout layout;
  Size size;  // size of the frames
  int y, parity;
  const std::uint8_t *left, *right;  // features of the frames, from their first row on
  int first, count;                  // pixels, filling widest vectors; those beyond the frame cost 0
  // Costs of 0…63 differing bits; null if these or the outside cost do not fit in bytes.
  const std::uint8_t* table;
  float scale, outside;
  int differences;
  int bound;  // integer arithmetic only
  void* out;  // address of pixel `first`
  std::ptrdiff_t stride;
  float* scratch;  // a widest vector for each label
};

// The inner loops of an arithmetic.
struct LabelKernels {
  void (*send_row)(const SendingRow&);
  void (*decide_row)(const DecidingRow&);
  void (*sum_row)(const SummingRow&);
  void (*copy_row)(const CopyingRow&);
  void (*write_costs)(const CostingRow&);
};
LabelKernels label_kernels(Arithmetic arithmetic);

}  // namespace parallax::motion
