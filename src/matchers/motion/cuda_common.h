// SPDX-License-Identifier: Apache-2.0
// Functions that the kernels of all labels and of windows share.
//
// Specialised by STORED (8, 16: bits of an integer; 32: float), BOUND of a message in integers, COLUMNS and
// ROWS of the labels that a pixel considers, SUB_PIXEL, EDGE_TABLE (elements of a table by edges); and by the
// macros of data_cost/cuda_costs.h.
#pragma once

#include "data_cost/cuda_costs.h"
#include "decision/cuda_decision.h"
#include "devices/cuda/kernel.h"
#include "matchers/motion/cuda_types.h"

namespace parallax::motion {

using namespace data_cost;
using namespace decision;

#if STORED == 32
using Stored = float;
using Value = float;
constexpr Value no_limit = no_value;
#else
#if STORED == 16
using Stored = uint16;
#else
using Stored = uint8;
#endif
using Value = int;
constexpr Value no_limit = 0x3FFFFFFF;
#endif
constexpr bool in_integers = STORED != 32;

// The sums from which a pixel's messages are computed fit in the stored type.
static_assert(!in_integers || 7 * BOUND + 1 < 1 << (STORED == 32 ? 16 : STORED));

__device__ __forceinline__ Value lower(Value a, Value b) {
  return a < b ? a : b;
}

// The lower of a value and a neighbour's value plus the slope.
__device__ __forceinline__ Value lowered(Value neighbour, Value slope, Value value) {
#if STORED == 32
  return fminf(neighbour + slope, value);
#else
  return __viaddmin_s32(neighbour, slope, value);
#endif
}

enum Direction { above, below, left_side, right_side };
constexpr int directions = 4;

// The order of summation: below, above, right, left.
__device__ __forceinline__ constexpr int in_order(int i) {
  return i ^ 1;
}
__device__ __forceinline__ constexpr int opposite(int direction) {
  return direction ^ 1;
}
__device__ __forceinline__ int step_x(int direction) {
  return direction == left_side ? -1 : direction == right_side ? 1 : 0;
}
__device__ __forceinline__ int step_y(int direction) {
  return direction == above ? -1 : direction == below ? 1 : 0;
}

// A pixel, which is number i of its colour in its row.
struct Pixel {
  int x, y, i;
};

__device__ __forceinline__ Pixel pixel_of(int colour, int y, int i) {
  return {2 * i + ((y + colour) & 1), y, i};
}

__device__ __forceinline__ bool contains(const CudaLevel& level, int x, int y) {
  return x >= 0 && y >= 0 && x < level.width && y < level.height;
}

// A pixel's values in a plane of its colour. `elements`: number per pixel.
template <int elements>
__device__ __forceinline__ int64 place_of(const CudaLevel& level, int x, int y) {
  return (static_cast<int64>(y) * level.pitch + (x >> 1)) * elements;
}

template <int elements>
__device__ __forceinline__ Stored* data_of(const CudaLevel& level, int x, int y) {
  return static_cast<Stored*>(level.data) + ((x + y) & 1) * level.plane_elements +
         place_of<elements>(level, x, y);
}

// Address of the message that a pixel sends.
template <int elements>
__device__ __forceinline__ Stored* message_of(const CudaLevel& level, int x, int y, int to) {
  return static_cast<Stored*>(level.messages) + (((x + y) & 1) * directions + to) * level.plane_elements +
         place_of<elements>(level, x, y);
}

// `edges`: slopes, then truncations, by difference.
struct Smoothness {
  Value slope, truncation;
};

__device__ __forceinline__ Smoothness smoothness(const CudaLevel& level, const Value* edges, int x, int y,
                                                 int direction) {
  const uint16* here = level.gray + static_cast<int64>(y) * level.gray_stride + x;
  const int there = here[step_y(direction) * static_cast<int64>(level.gray_stride) + step_x(direction)];
  const int edge = (abs(static_cast<int>(*here) - there) + 128) / 256;
  return {edges[edge], edges[EDGE_TABLE + edge]};
}

__device__ __forceinline__ bool is_valid(const uint32* bits, int words, int x, int y) {
  return (bits[static_cast<int64>(y) * words + x / 32] >> x % 32 & 1) != 0;
}

// A pixel of the first frame whose data costs are computed.
struct CostPixel {
  uint64 feature;
  int x, y;
  bool valid;
};

__device__ __forceinline__ CostPixel cost_pixel(const CudaCosts& costs, int x, int y) {
  CostPixel pixel{0, x, y, is_valid(costs.validity.left, costs.validity.words, x, y)};
  if constexpr (COST == census_distance)
    pixel.feature = row_of(static_cast<const uint64*>(costs.left_features), costs.samples, y)[x];
  else
    pixel.feature = row_of(costs.samples.left, costs.samples, y)[x];
  return pixel;
}

// The cost of a difference.
__device__ __forceinline__ float units_of(const CudaCosts& costs, int difference) {
  const float units = static_cast<float>(min(difference, costs.differences)) * costs.cost_scale;
  return in_integers ? floorf(units + 0.5f) : units;
}

// The cost in units, before any subtraction.
__device__ __forceinline__ float cost(const CudaCosts& costs, const CostPixel& pixel, CudaOffset offset) {
  if (!pixel.valid) return 0;
  const CudaSamples& samples = costs.samples;
  const int x = pixel.x - offset.x, y = pixel.y + offset.y;
  if (x < 0 || y < 0 || x >= samples.width || y >= samples.height ||
      !is_valid(costs.validity.right, costs.validity.words, x, y))
    return costs.outside;
  int difference;
  if constexpr (COST == census_distance)
    difference =
        __popcll(pixel.feature ^ row_of(static_cast<const uint64*>(costs.right_features), samples, y)[x]) *
        256;
  else
    difference = abs(static_cast<int>(pixel.feature) - row_of(samples.right, samples, y)[x]);
  return units_of(costs, difference);
}

// A data cost after subtraction and limiting.
__device__ __forceinline__ Value settled(float cost, float least) {
  const float above_least = cost - least;
  return in_integers ? static_cast<Value>(fminf(above_least, 4.0f * BOUND + 1.0f)) : above_least;
}

// Decisions

// The lowest belief of a pixel, at a column and row of the labels that it considers, those of its neighbours,
// infinite where there are none, and its rival.
struct Found {
  CudaOffset first;
  int column, row;
  float best, left, right, above, below, rival;
};

__device__ __forceinline__ bool wants_neighbours(const CudaMotion& to) {
  return to.best == nullptr && !to.backward;
}

__device__ __forceinline__ void write_motion(const CudaMotion& to, int x, int y, int width,
                                             const Found& found) {
  const CudaOffset offset{found.first.x + found.column, found.first.y + found.row};
  if (to.best != nullptr) {
    to.best[static_cast<int64>(y) * width + x] = offset;
    return;
  }
  const int64 at = static_cast<int64>(y) * to.map.stride + x;
  const uint8 status = to.map.from_start[static_cast<int64>(y) * to.map.from_start_stride + x];
  if (to.backward) {
    to.map.disparity[at] = status == matched ? static_cast<float>(-offset.x) : no_value;
    to.row_offset[at] = status == matched ? static_cast<float>(-offset.y) : no_value;
    return;
  }
  CudaDecision map = to.map;
  map.min_disparity = found.first.x;
  write_decision<SUB_PIXEL>(map, x, y, width, COLUMNS, status,
                            {found.column, found.left, found.best, found.right, found.rival});
  float row_offset = static_cast<float>(offset.y);
  if (found.row > 0 && found.row + 1 < ROWS && found.above < no_value && found.below < no_value)
    row_offset += sub_pixel_offset<SUB_PIXEL>(found.above, found.best, found.below);
  to.row_offset[at] = map.disparity[at] < no_value ? row_offset : no_value;
}

}  // namespace parallax::motion
