// SPDX-License-Identifier: Apache-2.0
// Arguments of the kernels of belief propagation; included by host and kernels.
#pragma once

namespace parallax::belief_propagation {

// A level in integer arithmetic. A word holds neighbours of one colour in a row, a "group"; see
// cuda_integer.h.
struct CudaIntegerLevel {
  int width, height;
  int groups;             // in a row
  long long plane_words;  // words of one colour
  unsigned* data;         // [colour]
  unsigned* messages;     // [colour][direction]; null = the level does not exist
  const unsigned* edges;  // [colour][row][group][direction][slope, truncation]; null = the same everywhere
};

// The levels of which edges are found, the image first.
struct CudaEdges {
  struct Level {
    int width, height, groups;
    int stride;
    const unsigned short* gray;
    unsigned* edges;  // see CudaIntegerLevel
  };
  static constexpr int max_levels = 30;
  Level of[max_levels];
};

// The slots of a tile are a multiple of slots_at_once. A slot has a link in each direction, and for each
// colour the messages of four directions and the data costs of the eight rows of a tile.
constexpr int slots_at_once = 4, links_of_slot = 4, colour_words = (4 + 1) * 8, slot_words = 2 * colour_words;

// The candidates of all tiles of a pair's levels; see cuda_tiles.h.
struct CudaSlots {
  unsigned* words;         // [slot][colour]: messages, then data costs; null = there are none
  unsigned short* labels;  // [slot]
  unsigned short* links;   // [slot][direction]
  unsigned* used;          // number of slots in use
};

// A level with candidates. A group is a row of one colour in a tile.
struct CudaCandidateLevel {
  int width, height;
  int groups;  // in a row; as many tiles
  CudaSlots slots;
  const unsigned* edges;  // see CudaIntegerLevel
  unsigned* ranges;       // [tile][range]: the first label, and in the upper half the label after the last
  unsigned* spans;        // [tile]: its first slot, and their number
};

// The label of each pixel's lowest belief on a level, in rows without gaps.
struct CudaLabels {
  int width, height;
  unsigned short* of;
};

// A level in floats, [row][label][pixel of one colour], or as the index order says.
struct CudaFloatLevel {
  int width, height;
  int pitch;                 // pixels of one colour in a row
  long long plane_elements;  // elements of one colour
  void* data;                // [colour]
  void* messages;            // [colour][direction]
  const unsigned short* gray;
  int gray_stride;
};

struct CudaSmoothness {
  unsigned slope, truncation;  // used if all edges have the same
};

}  // namespace parallax::belief_propagation
