// SPDX-License-Identifier: Apache-2.0
// Levels whose tiles consider only candidate labels (candidates.h), on CUDA; in bytes.
//
// A group, the four pixels of one colour in a row, is a row of a tile. The candidates of a tile are numbered
// from 0 on, in order: these numbers are its slots.
//
//   data costs   [colour][tile][slot][row of the tile]
//   messages     [colour][tile][slot][direction][row of the tile]
//
// with room for all labels. There are no groups outside the image: messages from beyond the border are 0.
//
// Specialised by LABELS and RANGES (candidate_ranges), and by the macros of cuda_groups.h.
#pragma once

#include "matchers/belief_propagation/cuda_groups.h"

namespace parallax::belief_propagation {

static_assert(BITS == 8);
constexpr int tile_side = 8;
constexpr int warp_lanes = 32;
// Words of a tile: data costs, and messages.
constexpr int64 tile_words = static_cast<int64>(LABELS) * tile_side,
                tile_message_words = static_cast<int64>(LABELS) * warp_lanes;
static_assert(directions * tile_side == warp_lanes);

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

__device__ __forceinline__ uint32* messages_of(const CudaCandidateLevel& level, int colour, int tile) {
  return level.messages + (colour == 0 ? 0 : directions * level.plane_words) + tile * tile_message_words;
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
