// SPDX-License-Identifier: Apache-2.0
// Data costs of a thread's labels for neighbours in a row, which reach mostly the same right pixels.
// Each column of such a span is loaded once.
//
// Specialised by LABELS, LANES (threads that share the labels), PER_LANE (labels of a thread), TABLE (1 =
// differences are integer gray levels or bits); and by the macros of cuda_costs.h.
#pragma once

#include "data_cost/cuda_costs.h"
#include "devices/cuda/lanes.h"

namespace parallax::data_cost {

// `pixels` neighbours, `apart` columns from one to the next.
template <int pixels, int apart>
struct Span {
  static constexpr int columns = PER_LANE + apart * (pixels - 1);
  static_assert(columns <= 64);

  int x, y;  // pixel 0
  int first_label, first_right;

  __device__ __forceinline__ Span(const CudaCosts& costs, int first_x, int row, int lane)
      : x(first_x), y(row), first_label(lane * PER_LANE) {
    first_right = x - costs.min_disparity - first_label - (PER_LANE - 1);
  }

  // The index in the span of label k of pixel p.
  static __device__ __forceinline__ constexpr int index_of(int p, int k) {
    return apart * p + PER_LANE - 1 - k;
  }

  // Calls action(p, k) for each pixel and label.
  template <class Action>
  static __device__ __forceinline__ void for_each(const Action& action) {
#pragma unroll
    for (int p = 0; p < pixels; ++p) {
#pragma unroll
      for (int k = 0; k < PER_LANE; ++k) action(p, k);
    }
  }

  // Calls action(p, k, distance of the values that label k of pixel p compares).
  template <class Value, class Distance, class Action>
  __device__ __forceinline__ void compare(const CudaSamples& samples, const void* left, const void* right,
                                          const Distance& distance, const Action& action) const {
    const Value *left_row = row_of(static_cast<const Value*>(left), samples, y),
                *right_row = row_of(static_cast<const Value*>(right), samples, y);
    Value reached[columns];
#pragma unroll
    for (int i = 0; i < columns; ++i) reached[i] = right_row[column_inside(first_right + i, samples.width)];
#pragma unroll
    for (int p = 0; p < pixels; ++p) {
      const Value here = left_row[column_inside(x + apart * p, samples.width)];
#pragma unroll
      for (int k = 0; k < PER_LANE; ++k) action(p, k, distance(here, reached[index_of(p, k)]));
    }
  }

  template <class Action>
  __device__ __forceinline__ void for_each_difference(const CudaCosts& costs, const Action& action) const {
    const CudaSamples& samples = costs.samples;
    if constexpr (COST == census_distance)
      compare<uint64>(
          samples, costs.left_features, costs.right_features,
          [](uint64 l, uint64 r) { return __popcll(l ^ r) * 256; }, action);
    else if constexpr (COST == census_of_opposites)
      compare<uint32>(
          samples, costs.left_features, costs.right_features,
          [](uint32 l, uint32 r) { return __popc(l ^ r) * 256; }, action);
    else if constexpr (COST == absolute_difference)
      compare<uint16>(
          samples, samples.left, samples.right, [](int l, int r) { return abs(l - r); }, action);
    else
      for_each([&](int p, int k) {
        action(p, k,
               difference(costs, y, column_inside(x + apart * p, samples.width),
                          column_inside(first_right + index_of(p, k), samples.width)));
      });
  }

  // Calls action(p, k, cost), regardless of the right pixel's validity. `units`: a cost as the table has it;
  // `per_difference`: the cost of a gray level or a bit, if costs up to `highest` are proportional to them,
  // else 0; `highest`: 0 = differences are not truncated.
  template <int per_difference, int highest, class Cost, class Units, class Action>
  __device__ __forceinline__ void for_each_cost(const CudaCosts& costs, const Cost* table, const Units& units,
                                                const Action& action) const {
    if constexpr (COST == volume) {
      const int width = costs.samples.width;
      for_each([&](int p, int k) {
        const int right = first_right + index_of(p, k), label = min(first_label + k, LABELS - 1);
        const int column = column_inside(costs.mirrored ? width - 1 - right : x + apart * p, width);
        action(p, k, units(floorf(volume_cost(costs, y, column, label, LABELS) + 0.5f)));
      });
    } else {
      for_each_difference(costs, [&](int p, int k, int difference) {
        if constexpr (per_difference > 0) {
          const Cost cost = static_cast<Cost>(difference / 256) * per_difference;
          action(p, k, highest > 0 ? min(cost, static_cast<Cost>(highest)) : cost);
        } else if constexpr (TABLE)
          action(p, k, table[difference / 256]);
        else
          action(p, k,
                 units(floorf(static_cast<float>(min(difference, costs.differences)) * costs.cost_scale +
                              0.5f)));
      });
    }
  }

  // The validity bits of the span. A volume's labels correspond to no right pixels.
  __device__ __forceinline__ uint64 right_valid(const CudaCosts& costs) const {
    const bool everywhere = COST == volume && !costs.mirrored;
    return everywhere ? ~0ull : valid_bits(costs.validity.right, costs.validity.words, y, first_right);
  }

  // Which pixels have a label whose right pixel exists, and which have one whose right pixel does not.
  struct Existence {
    uint32 some, some_not;
    __device__ __forceinline__ bool any(int p) const { return (some >> p & 1) != 0; }
    __device__ __forceinline__ bool all(int p) const { return (some_not >> p & 1) == 0; }
  };

  __device__ __forceinline__ Existence existence(uint64 right_valid) const {
    constexpr int halfway = 16;
    const int labels = min(max(LABELS - first_label, 0), PER_LANE);
    const uint64 of_pixel_0 = ((1ull << labels) - 1) << (PER_LANE - labels);
    uint32 flags = 0;
#pragma unroll
    for (int p = 0; p < pixels; ++p) {
      const uint64 wanted = of_pixel_0 << apart * p, found = right_valid & wanted;
      if (found != 0) flags |= 1u << p;
      if (found != wanted) flags |= 1u << (halfway + p);
    }
    flags = cuda::over_lanes(flags, [](uint32 a, uint32 b) { return a | b; });
    return {flags & 0xFFFF, flags >> halfway};
  }
};

}  // namespace parallax::data_cost
