// SPDX-License-Identifier: Apache-2.0
// Belief propagation on CUDA in integer arithmetic: messages.
//
// Specialised by BOUND of a message, REACH (lanes that a message travels until it reaches its bound), EDGES
// (0 = the same everywhere), LEAST_BLOCKS (minimum number resident on a multiprocessor; 0 = no minimum); and
// by the macros of cuda_integer.h.
#include "matchers/belief_propagation/cuda_integer.h"

using namespace parallax::belief_propagation;

namespace {

// The lowest values that the previous (or next) lanes' labels allow at this lane's first (or last) label; no
// limit at the ends.
template <bool upwards>
__device__ __forceinline__ uint32 carried(uint32 last, uint32 slope) {
  constexpr uint32 nothing = 0x7FFF7FFFu;
  const int lane = threadIdx.x % LANES;
  const auto neighbour = [&](uint32 value, int step) {
    const uint32 other = upwards ? __shfl_up_sync(all_lanes, value, step, LANES)
                                 : __shfl_down_sync(all_lanes, value, step, LANES);
    return (upwards ? lane >= step : lane + step < LANES) ? other : nothing;
  };
#pragma unroll
  for (int step = 1; step <= REACH && step < LANES; step *= 2) {
    // A slope whose sum over the distance exceeds 15 bits has no effect at its end.
    constexpr bool may_overflow = BOUND * PER_LANE * REACH > 0x7FFF;
    const uint32 steepest = both(0x7FFF / (PER_LANE * step));
    const uint32 way = (may_overflow ? __vminu2(slope, steepest) : slope) * (PER_LANE * step);
    last = __viaddmin_u16x2(neighbour(last, step), way, last);
  }
  return neighbour(last, 1);
}

// The message of a group: the lower envelope of h, limited to its minimum plus the truncation, minus its
// minimum.
__device__ __forceinline__ Words message(const Words& all_of_h, const Split& slope, const Split& truncation) {
  uint32 h[halves][PER_LANE];
  uint32 least[halves], last[halves];
#pragma unroll
  for (int k = 0; k < PER_LANE; ++k) {
    const Split words = split(all_of_h.of[k]);
#pragma unroll
    for (int i = 0; i < halves; ++i) {
      h[i][k] = words.half[i];
      least[i] = k == 0 ? h[i][k] : __vminu2(least[i], h[i][k]);
      last[i] = k == 0 ? h[i][k] : __viaddmin_u16x2(last[i], slope.half[i], h[i][k]);
    }
  }
#pragma unroll
  for (int i = 0; i < halves; ++i) {
    least[i] = min_over_lanes(least[i]);
    uint32 carry = carried<true>(last[i], slope.half[i]);
#pragma unroll
    for (int k = 0; k < PER_LANE; ++k) h[i][k] = carry = __viaddmin_u16x2(carry, slope.half[i], h[i][k]);
#pragma unroll
    for (int k = PER_LANE - 2; k >= 0; --k) carry = __viaddmin_u16x2(carry, slope.half[i], h[i][k]);
    carry = carried<false>(carry, slope.half[i]);
    const uint32 highest = least[i] + truncation.half[i];
#pragma unroll
    for (int k = PER_LANE - 1; k >= 0; --k) {
      carry = __viaddmin_u16x2(carry, slope.half[i], h[i][k]);
      h[i][k] = __vminu2(carry, highest) - least[i];
    }
  }
  Words words;
#pragma unroll
  for (int k = 0; k < PER_LANE; ++k) {
    Split result;
#pragma unroll
    for (int i = 0; i < halves; ++i) result.half[i] = h[i][k];
    words.of[k] = join(result);
  }
  return words;
}

__device__ __forceinline__ Words masked(Words words, uint32 mask) {
#pragma unroll
  for (int k = 0; k < PER_LANE; ++k) words.of[k] &= mask;
  return words;
}

// Sends the messages of a colour's pixels, computed from those that they received. With grid.y = 4, the
// blocks share the directions: more loads in total, but less time per thread.
__device__ __forceinline__ void send(const CudaIntegerLevel& level, int colour, const Place& place,
                                     const Words& data, const Weights& weight, const Incoming& words) {
  const Words belief = beliefs(data, words);
  const uint32 mask = inside_mask(pixels_in(level.width, place.y, colour), place.group);
#pragma unroll
  for (int direction = 0; direction < directions; ++direction) {
    if (gridDim.y == directions && direction != blockIdx.y) continue;
    Words h;
#pragma unroll
    for (int k = 0; k < PER_LANE; ++k) h.of[k] = belief.of[k] - words.from[direction].of[k];
    const Words sent = message(h, split(weight.slope[direction]), split(weight.truncation[direction]));
    if (place.inside)
      store_words(masked(sent, mask),
                  messages(level, colour, direction) + group_offset(level, place.y, place.group));
  }
}

}  // namespace

#if LEAST_BLOCKS > 0
#define PARALLAX_UPDATE_BOUNDS __launch_bounds__(BLOCK, LEAST_BLOCKS)
#else
#define PARALLAX_UPDATE_BOUNDS __launch_bounds__(BLOCK)
#endif

// One iteration: the messages of one colour. Data read before the wait was written before the previous kernel
// began; kernels before that one have ended by then.
PARALLAX_KERNEL PARALLAX_UPDATE_BOUNDS update(CudaIntegerLevel level, CudaSmoothness alike, int colour) {
  const Place place = find_place(level);
  const Words data = data_of(level, colour, place);
  const Weights weight = weights(level, alike, colour, place.y, place.group);
  wait_for_previous();
  send(level, colour, place, data, weight, incoming(level, colour, place));
}

// The first iteration of a level, from the messages of the coarser one.
PARALLAX_KERNEL PARALLAX_UPDATE_BOUNDS first_update(CudaIntegerLevel level, CudaIntegerLevel coarser,
                                                    CudaSmoothness alike, int colour) {
  const Place place = find_place(level);
  wait_for_previous();
  const Words data = data_of(level, colour, place);
  const Weights weight = weights(level, alike, colour, place.y, place.group);
  const Incoming words = incoming(place.y, colour, place.group, [&](int direction, int y, int group) {
    return start_words(level, coarser, 1 - colour, direction, y, group);
  });
  send(level, colour, place, data, weight, words);
}
