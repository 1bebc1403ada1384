// SPDX-License-Identifier: Apache-2.0
// The computation of a message from a pixel's values. Each step of a sweep depends on the previous one, so
// latency matters.
//
// Specialised by SLOPE (λ), REACH (labels that a cost travels until it reaches the bound), SHIFTS (1 = by
// shifts of all labels at once, for a short reach; 0 = by a forward and a backward pass), LANE_REACH (the
// reach in threads, a power of two or 0); and by the macros of cuda_common.h.
#pragma once

#include "matchers/tiled_belief_propagation/cuda_common.h"

namespace parallax::tiled_belief_propagation {

// Sentinel above every value; plus a step of λ·K, it still fits in 16 bits.
constexpr uint32 nothing = 0xE000;

// The lowest value of a pixel, in both halves.
__device__ __forceinline__ uint32 min_of(const Labels& h) {
  uint32 least[half_labels];
#pragma unroll
  for (int k = 0; k < half_labels; ++k) least[k] = h.of[k];
#pragma unroll
  for (int count = half_labels; count > 1; count = (count + 1) / 2) {
#pragma unroll
    for (int k = 0; k < count / 2; ++k) least[k] = __vminu2(least[k], least[k + (count + 1) / 2]);
  }
  const uint32 found = over_lanes(least[0], [](uint32 a, uint32 b) { return __vminu2(a, b); });
  return __vminu2(found, __byte_perm(found, 0, 0x1032));
}

// Sets h(b) to the minimum of h(b), h(b − step) + cost and h(b + step) + cost.
template <int step>
__device__ __forceinline__ void shift(Labels& h) {
  constexpr int lanes = LANES;
  constexpr uint32 cost = static_cast<uint32>(step) * SLOPE;
  uint32 before[step], after[step];
#pragma unroll
  for (int i = 0; i < step; ++i) {
    // The last words, with labels one half further up; the first words, with labels one half further down.
    const uint32 last = h.of[half_labels - step + i], first = h.of[i];
    uint32 below = nothing << 16, above = nothing;
    if constexpr (lanes > 1) {
      const uint32 from_below = __shfl_up_sync(all_lanes, last, 1, LANES),
                   from_above = __shfl_down_sync(all_lanes, first, 1, LANES);
      if (lane_of_pixel() > 0) below = from_below;
      if (lane_of_pixel() < LANES - 1) above = from_above;
    }
    before[i] = __byte_perm(below, last, 0x5432);
    after[i] = __byte_perm(first, above, 0x5432);
  }
  Labels result;
#pragma unroll
  for (int k = 0; k < half_labels; ++k) {
    const uint32 lower = k < step ? before[k < step ? k : 0] : h.of[k < step ? 0 : k - step];
    const uint32 higher = k + step < half_labels ? h.of[k + step < half_labels ? k + step : 0]
                                                 : after[k + step < half_labels ? 0 : k + step - half_labels];
    result.of[k] = __viaddmin_u16x2(lower, both(cost), __viaddmin_u16x2(higher, both(cost), h.of[k]));
  }
  h = result;
}

// Shifts by 1, 2, 4, … until they reach far enough.
template <int step, int reach>
__device__ __forceinline__ void shift_up_to(Labels& h) {
  if constexpr (reach > 0) {
    constexpr int now = step < reach ? step : reach;
    shift<now>(h);
    shift_up_to<2 * step, reach - now>(h);
  }
}

// The lowest values that the previous (or next) lanes' labels allow at the neighbour of a thread's first
// (last) label.
template <bool upwards>
__device__ __forceinline__ uint32 carried(uint32 value) {
  const int lane = lane_of_pixel();
  const auto neighbour = [&](uint32 of, int step) {
    const uint32 other =
        upwards ? __shfl_up_sync(all_lanes, of, step, LANES) : __shfl_down_sync(all_lanes, of, step, LANES);
    return (upwards ? lane >= step : lane + step < LANES) ? other : nothing;
  };
  if constexpr (LANES == 1) return nothing;
#pragma unroll
  for (int step = 1; step <= LANE_REACH; step *= 2) {
    // Values beyond the bound have no effect, so all are limited to it.
    constexpr uint32 lane_cost = SLOPE * PER_LANE;
    value = min(value, neighbour(value, step) + min(lane_cost * step, static_cast<uint32>(TRUNCATION)));
  }
  return neighbour(value, 1);
}

// A pass over the labels. The dependency chains of both halves run in parallel, first without and then with
// the values from before them.
template <bool upwards>
__device__ __forceinline__ void pass(Labels& h) {
  constexpr int first = upwards ? 0 : half_labels - 1, step = upwards ? 1 : -1;
  uint32 chain = h.of[first];
#pragma unroll
  for (int i = 1; i < half_labels; ++i) chain = __viaddmin_u16x2(chain, both(SLOPE), h.of[first + i * step]);
  const uint32 begin = upwards ? chain & 0xFFFF : chain >> 16, end = upwards ? chain >> 16 : chain & 0xFFFF;
  constexpr uint32 half_cost = SLOPE * half_labels;
  const uint32 from_lanes = carried<upwards>(min(end, begin + half_cost));
  const uint32 middle = min(begin, from_lanes + half_cost);
  chain = upwards ? from_lanes | middle << 16 : middle | from_lanes << 16;
#pragma unroll
  for (int i = 0; i < half_labels; ++i) {
    chain = __viaddmin_u16x2(chain, both(SLOPE), h.of[first + i * step]);
    h.of[first + i * step] = chain;
  }
}

// The message that a pixel sends: the lower envelope of h, limited to its minimum plus T, minus its minimum.
__device__ __forceinline__ Labels message_from(Labels h) {
  const uint32 least = min_of(h);
  if constexpr (SHIFTS) {
    shift_up_to<1, REACH>(h);
  } else {
    pass<true>(h);
    pass<false>(h);
  }
  const uint32 negative = __byte_perm(0u - least, 0, 0x1010);  // in each half
#pragma unroll
  for (int k = 0; k < half_labels; ++k) h.of[k] = __viaddmin_u16x2(h.of[k], negative, both(TRUNCATION));
  return h;
}

}  // namespace parallax::tiled_belief_propagation
