// SPDX-License-Identifier: Apache-2.0
// The inner loops of candidate levels on the CPU, compiled once for each vector instruction set.
//
// A tile has 8×8 pixels, 32 of each colour of the checkerboard, which are the lanes of a vector: lane 8·i + y
// of colour c is the pixel in row y of the tile and column 2·i + (y + c) % 2. So the pixels above and below a
// lane, which have the other colour, are the lanes before and after it, and those to its left and right are
// the same lane, or 8 lanes away.
#pragma once

#include <cstddef>
#include <cstdint>

#include "matchers/belief_propagation/candidates.h"
#include "matchers/belief_propagation/cpu_kernels.h"

namespace parallax::belief_propagation {

inline constexpr int tile_pixels = tile_side * tile_side;
inline constexpr int tile_lanes = tile_pixels / 2;

// The pixel of a lane.
struct Pixel {
  int x, y;
};
constexpr Pixel pixel_of(int tile_x, int tile_y, int colour, int lane) {
  return {tile_x * tile_side + lane / tile_side * 2 + (lane + colour) % 2,
          tile_y * tile_side + lane % tile_side};
}

// A value for each pixel of a tile and direction.
struct TileMessages {
  std::uint8_t of[2][direction_count][tile_lanes];  // [colour]
};

// What a tile has for one label. Messages come first, so that a pointer to a record is one to its messages.
struct TileRecord {
  TileMessages messages;
  std::uint8_t data[2][tile_lanes];  // data costs, [colour]
};

// Vectors read up to this many bytes before and after messages.
inline constexpr std::size_t tile_margin = 64;

// The candidates of a tile, in rising order, and their records.
struct TileLabels {
  int count;
  const std::uint16_t* labels;
  TileRecord* records;
  // The messages of the four tiles around, for each candidate.
  const TileMessages* const* around[direction_count];
};

// Sends the messages of one colour. `slopes` and `truncations` are those of the edges; both are 0 at pixels
// beyond the image.
void update_tile(const TileLabels& tile, int colour, const TileMessages& slopes,
                 const TileMessages& truncations);

// The lowest beliefs of one colour, for each lane.
struct TileDecision {
  std::uint16_t index[tile_lanes];  // of the best candidate
  // Only with `around`; infinite where that label is no candidate.
  float before[tile_lanes], best[tile_lanes], after[tile_lanes], rival[tile_lanes];
};
// `scratch` has 32 bytes for each candidate.
void decide_tile(const TileLabels& tile, int colour, bool around, std::uint8_t* scratch,
                 TileDecision& decision);

// Features of 8 rows, transposed: plane b of column x begins at planes[b] + 8·x. The last plane tells which
// pixels are valid (255) or not (0).
struct FeatureStrip {
  const std::uint8_t* planes[most_feature_planes + 1];
};

// Data costs of pixels from their census, as `table` has them for each distance.
struct TileCosts {
  FeatureStrip left[2], right[2];  // of the tile; of a coarse tile, [1] are those of the rows below
  const std::uint8_t* table;       // of 64 distances
  std::uint8_t outside;
  int column;      // of the tile's first pixel, in both images
  int labels_end;  // label k of left column x is right column x + labels_end − 1 − k
};
// Writes the data of the finest level, or of the next one: sums over four children.
void write_tile_costs(const TileCosts& costs, const TileLabels& tile, bool coarse);

// Writes columns of a plane of a strip: transposes 8 rows, which are `pitch` bytes apart. Reads, and writes, up to 15
// columns more than `columns`.
void transpose_rows(const std::uint8_t* rows, std::ptrdiff_t pitch, int columns, std::uint8_t* out);

// The first messages of colour 0 of a tile are those of the 4×4 parents of its pixels. They are a quarter of
// a tile of the next coarser level, which begins at lane `first_lane` of both colours; `parents` has the
// messages of that tile for each candidate.
void start_from_tile(const TileMessages* const* parents, int first_lane, const TileLabels& tile);

// Or they are pixels of planes as cpu_kernels.h describes them: [row][parity of x][direction].
struct ParentPlanes {
  const std::uint8_t* first[4][2][direction_count];  // of the first parent of each row
  std::ptrdiff_t stride;                             // from one label to the next
};
void start_from_planes(const ParentPlanes& parents, const TileLabels& tile);

}  // namespace parallax::belief_propagation
