// SPDX-License-Identifier: Apache-2.0
// Levels in integer arithmetic on CUDA: bytes (fixed8) or 16 bits (fixed16).
//
// A word holds the values of neighbours of one colour in a row: four bytes, or two times 16 bits; these
// pixels are a "group". LANES neighbouring threads share a group; each has PER_LANE of its labels in
// registers, so a pass over the labels is a loop and a few shuffles. Labels are padded to LANES · PER_LANE
// with data costs at the bound, which neither win nor change a message: see belief_propagation.h.
//
//   plane of one colour   [row + 1][group + 1][piece][lane][VECTOR words]
//
// where label lane · PER_LANE + piece · VECTOR + i is word i: the lanes of a group, and neighbouring groups,
// are one contiguous access. The rows and groups around the image, and pixels beyond the width, send zeros.
//
// Specialised by BITS of a value (8, 16), LANES, PER_LANE, VECTOR, BLOCK (threads); and by the macros of
// cuda_groups.h.
#pragma once

#include "devices/cuda/lanes.h"
#include "matchers/belief_propagation/cuda_groups.h"

namespace parallax::belief_propagation {

struct Words {
  uint32 of[PER_LANE];
};

// Loads a thread's part of a group.
__device__ __forceinline__ Words load_words(const uint32* group) {
  const int lane = threadIdx.x % LANES;
  Words words;
#pragma unroll
  for (int k = 0; k < PER_LANE; k += VECTOR) load<VECTOR>(group + k * LANES + lane * VECTOR, words.of + k);
  return words;
}

__device__ __forceinline__ void store_words(const Words& words, uint32* group) {
  const int lane = threadIdx.x % LANES;
#pragma unroll
  for (int k = 0; k < PER_LANE; k += VECTOR) store<VECTOR>(words.of + k, group + k * LANES + lane * VECTOR);
}

// The group and lane of a thread.
struct Place {
  int y, group, lane;
  bool inside;
};

// Threads beyond the last group repeat it, because all take part in shuffles, but do not store.
__device__ __forceinline__ Place find_place(const CudaIntegerLevel& level) {
  const uint32 groups = level.groups, last = groups * level.height - 1;
  const uint32 index = (blockIdx.x * BLOCK + threadIdx.x) / LANES;
  const uint32 shown = min(index, last);
  const uint32 y = shown / groups;
  return {static_cast<int>(y), static_cast<int>(shown - y * groups), static_cast<int>(threadIdx.x % LANES),
          index <= last};
}

__device__ __forceinline__ uint32 min_over_lanes(uint32 halves_of_word) {
  return cuda::over_lanes(halves_of_word, [](uint32 a, uint32 b) { return __vminu2(a, b); });
}

// Messages

// The columns of a colour, halved, count 0, 1, 2, … in each row. The neighbours of a group's pixels, some
// columns to the left or right, are therefore the pixels of the same number, or of the next one before or
// after. In the latter case all but one lie in the group, and that one is the last of the previous group or
// the first of the next. `steps` is −1, 0 or 1.
template <class Fetch>
__device__ __forceinline__ Words stepped(int steps, int group, const Fetch& fetch) {
  const Words here = fetch(group);
  if (steps == 0) return here;
  const Words next = fetch(group + steps);
  Words words;
#pragma unroll
  for (int k = 0; k < PER_LANE; ++k)
    words.of[k] = steps < 0 ? __funnelshift_l(next.of[k], here.of[k], BITS)
                            : __funnelshift_r(here.of[k], next.of[k], BITS);
  return words;
}

// Group steps from columns of this parity to the columns `columns` away.
__device__ __forceinline__ int steps_to(int columns, int odd) {
  return (columns + odd) >> 1;
}

// The initial messages of a colour on a level, which are those of the pixels (x/2, y/2) of the coarser level,
// without storing them first. The columns of a colour, halved, count 0, 1, 2, … without a gap.
__device__ __forceinline__ Words start_words(const CudaIntegerLevel& level, const CudaIntegerLevel& coarser,
                                             int colour, int direction, int y, int group) {
  Words words = {};
  const bool coarsest = coarser.messages == nullptr;
  if (coarsest || y < 0 || y >= level.height || group < 0 || group >= level.groups) return words;
  const uint32 mask = inside_mask(pixels_in(level.width, y, colour), group);
  const int row = y / 2, even = row & 1;  // colour of the even columns in that row
  const int64 offset = group_offset(coarser, row, group / 2);
  const Words first = load_words(messages(coarser, even, direction) + offset);
  const Words second = load_words(messages(coarser, 1 - even, direction) + offset);
  const uint32 low = halves == 1 ? 0x5410 : 0x5140, high = halves == 1 ? 0x7632 : 0x7362;
  const uint32 selector = group % 2 == 0 ? low : high;
#pragma unroll
  for (int k = 0; k < PER_LANE; ++k) words.of[k] = __byte_perm(first.of[k], second.of[k], selector) & mask;
  return words;
}

struct Incoming {
  Words from[directions];
};

// The four messages to the pixels of a group.
template <class Fetch>
__device__ __forceinline__ Incoming incoming(int y, int colour, int group, const Fetch& fetch) {
  const int odd = parity(y, colour);
  Incoming words;
  words.from[above] = fetch(below, y - 1, group);
  words.from[below] = fetch(above, y + 1, group);
  words.from[left_side] = stepped(steps_to(-1, odd), group, [&](int g) { return fetch(right_side, y, g); });
  words.from[right_side] = stepped(steps_to(1, odd), group, [&](int g) { return fetch(left_side, y, g); });
  return words;
}

__device__ __forceinline__ Words beliefs(const Words& data, const Incoming& words) {
  Words sum;
#pragma unroll
  for (int k = 0; k < PER_LANE; ++k)
    sum.of[k] = data.of[k] + words.from[above].of[k] + words.from[below].of[k] + words.from[left_side].of[k] +
                words.from[right_side].of[k];
  return sum;
}

// The messages that the other colour sent.
__device__ __forceinline__ Incoming incoming(const CudaIntegerLevel& level, int colour, const Place& place) {
  return incoming(place.y, colour, place.group, [&](int direction, int y, int group) {
    return load_words(messages(level, 1 - colour, direction) + group_offset(level, y, group));
  });
}

__device__ __forceinline__ Words data_of(const CudaIntegerLevel& level, int colour, const Place& place) {
  return load_words(level.data + colour * level.plane_words + group_offset(level, place.y, place.group));
}

}  // namespace parallax::belief_propagation
