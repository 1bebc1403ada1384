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

// A level with candidates; see cuda_candidates.cu. A group is a row of one colour in a tile.
struct CudaCandidateLevel {
  int width, height;
  int groups;              // in a row; as many tiles
  long long plane_words;   // words of one colour
  unsigned* data;          // [colour]
  unsigned* messages;      // [colour]; null = the level does not exist
  const unsigned* edges;   // see CudaIntegerLevel
  unsigned* ranges;        // [tile][range]: the first label, and in the upper half the label after the last
  unsigned short* labels;  // [tile][slot]
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
