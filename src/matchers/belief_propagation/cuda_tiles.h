// SPDX-License-Identifier: Apache-2.0
// Levels whose tiles consider only candidate labels (candidates.h), on CUDA; in bytes.
//
// A group, the four pixels of one colour in a row, is a row of a tile. A tile has a slot for each of its
// candidates, in order; its last candidate fills some more, so that their number is a multiple of
// slots_at_once: messages and decisions are the same with a label twice. A slot has, for each colour,
//
//   messages     [direction][row of the tile]
//   data costs   [row of the tile]
//
// and a link in each direction: the position of its label among the slots of the next tile. The slots of a
// tile are neighbours in memory, those of the tiles in any order. There are no groups outside the image:
// messages from beyond the border are 0.
//
// Specialised by LABELS and RANGES (candidate_ranges), and by the macros of cuda_groups.h.
#pragma once

#include "matchers/belief_propagation/cuda_groups.h"

namespace parallax::belief_propagation {

static_assert(BITS == 8);
constexpr int tile_side = 8;
constexpr int warp_lanes = 32;
static_assert(directions * tile_side == warp_lanes);
static_assert(colour_words == warp_lanes + tile_side && links_of_slot == directions);
constexpr uint32 no_link = 0xFFFF;

// Ranges as they are stored: the first label, and in the upper half the label after the last. Unused ranges
// are empty, and begin at the end of the last one.
constexpr int stored_ranges = 4;
struct StoredRanges {
  uint32 of[stored_ranges];
};

// The slots of the labels in a tile's ranges.
struct Slots {
  int first[RANGES], labels[RANGES];
  int slot[RANGES];  // slot of the first label

  // The slot of a label; −1 if it is no candidate.
  __device__ __forceinline__ int of(int label) const {
    int found = -1;
#pragma unroll
    for (int i = 0; i < RANGES; ++i) {
      const int index = label - first[i];
      if (static_cast<uint32>(index) < static_cast<uint32>(labels[i])) found = slot[i] + index;
    }
    return found;
  }
  __device__ __forceinline__ int count() const {
    return slot[RANGES - 1] + labels[RANGES - 1];
  }
  // The label of a slot; slots beyond the last have its label.
  __device__ __forceinline__ int label(int index) const {
    index = min(index, count() - 1);
    int found = first[0] + index;
#pragma unroll
    for (int i = 1; i < RANGES; ++i)
      if (index >= slot[i]) found = first[i] + index - slot[i];
    return found;
  }
};

__device__ __forceinline__ Slots slots_of(const StoredRanges& ranges) {
  Slots slots;
  int count = 0;
#pragma unroll
  for (int i = 0; i < RANGES; ++i) {
    slots.first[i] = ranges.of[i] & 0xFFFF;
    slots.labels[i] = static_cast<int>(ranges.of[i] >> 16) - slots.first[i];
    slots.slot[i] = count;
    count += slots.labels[i];
  }
  return slots;
}

__device__ __forceinline__ StoredRanges ranges_of(const CudaCandidateLevel& level, int tile) {
  StoredRanges ranges;
  load<stored_ranges>(level.ranges + static_cast<int64>(tile) * stored_ranges, ranges.of);
  return ranges;
}

// Lanes

// The row and the direction of a lane.
struct Place {
  int tile, tile_x, row, y, direction;
  bool inside;
};

__device__ __forceinline__ Place find_place(const CudaCandidateLevel& level, int tile_x, int tile_y) {
  const int lane = threadIdx.x % warp_lanes;
  Place place;
  place.tile = tile_y * level.groups + tile_x;
  place.tile_x = tile_x;
  place.row = lane % tile_side;
  place.y = tile_y * tile_side + place.row;
  place.direction = lane / tile_side;
  place.inside = place.y < level.height;
  return place;
}

// The slots of a tile.
struct Span {
  uint32 first, count;
};

__device__ __forceinline__ Span span_of(const CudaCandidateLevel& level, int tile) {
  uint32 pair[2];
  load<2>(level.spans + static_cast<int64>(tile) * 2, pair);
  return {pair[0], pair[1]};
}

// The words of one colour, from a slot on.
__device__ __forceinline__ uint32* words_of(const CudaCandidateLevel& level, uint32 slot, int colour) {
  return level.slots.words + static_cast<int64>(slot) * slot_words + colour * colour_words;
}

// Position of the messages in a slot.
__device__ __forceinline__ int message_at(int direction, int row) {
  return direction * tile_side + row;
}

// The slope and the truncation of a lane's edges, in the form in which weights() has them for all directions.
struct Edge {
  uint32 slope, truncation;
};

__device__ __forceinline__ Edge edge_of(const CudaCandidateLevel& level, const CudaSmoothness& alike,
                                        int colour, int y, int group, int direction) {
  if constexpr (!EDGES) return {alike.slope, alike.truncation};
  const int64 row = static_cast<int64>(colour) * level.height + min(y, level.height - 1);
  uint32 pair[2];
  load<2>(level.edges + ((row * level.groups + group) * directions + direction) * 2, pair);
  return {pair[0], pair[1]};
}

}  // namespace parallax::belief_propagation
