// SPDX-License-Identifier: Apache-2.0
// The inner loops of candidate levels on the CPU, compiled once for each vector instruction set.
//
// A tile has 8×8 pixels, 32 of each colour of the checkerboard, which are the lanes of a vector: lane 8·i + y
// of colour c is the pixel in row y of the tile and column 2·i + (y + c) % 2. So the pixels above and below a
// lane, which have the other colour, are the lanes before and after it, and those to its left and right are
// the same lane, or 8 lanes away.
#pragma once

#include <algorithm>
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

// Calls action(x, y, colour, lane) for each pixel of a tile that is inside the level, row by row.
template <class Action>
void for_each_pixel(int tile_x, int tile_y, Size size, const Action& action) {
  const int left = tile_x * tile_side, top = tile_y * tile_side;
  const int columns = std::min(tile_side, size.width - left), rows = std::min(tile_side, size.height - top);
  for (int y = 0; y < rows; ++y)
    for (int x = 0; x < columns; ++x) action(left + x, top + y, (x + y) % 2, x / 2 * tile_side + y);
}

// A value for each pixel of a tile and direction.
struct TileMessages {
  std::uint8_t of[2][direction_count][tile_lanes];  // [colour]
};

// Record of a tile for one label. Messages come first, so that a pointer to a record is one to its messages.
struct TileRecord {
  TileMessages messages;
  std::uint8_t data[2][tile_lanes];  // data costs, [colour]
};

// Vectors read up to this many bytes before and after messages.
inline constexpr std::size_t tile_margin = 64;

// The candidates of a tile, and their records: disparities in rising order, at each of some row offsets.
struct TileLabels {
  int count;  // number of disparities
  const std::uint16_t* labels;
  TileRecord* records;  // [row offset][disparity]
  // The messages of the four tiles around, for each record.
  const TileMessages* const* around[direction_count];
  int row_offsets = 1;
  // Where rows are searched: at each row offset, a last record has the messages at disparities that are no
  // candidates.
  bool has_others = false;

  // Records from one row offset to the next, and all of them.
  int pitch() const { return count + (has_others ? 1 : 0); }
  int all() const { return pitch() * row_offsets; }
};

// Costs of edges; all are 0 at pixels beyond the image.
enum EdgeTable { slopes, truncations, row_bounds, edge_tables };

// Sends the messages of one colour. `edges` are by EdgeTable; row bounds, and the cost of a row offset, count
// only where there are several.
void update_tile(const TileLabels& tile, int colour, const TileMessages* const* edges, int row_slope);

// The edges between pixels of a row and others, `before`: gray values, and a table that has a byte of each
// EdgeTable, the first one lowest, for each edge_index().
struct EdgeRow {
  const std::uint16_t *row, *before;
  int count;
  const std::int32_t* table;
  std::uint8_t* out[edge_tables];  // null where not wanted
};
void write_edge_row(const EdgeRow& edges);

// The edges of a tile: 8 columns of 8 rows in each direction.
struct TileEdges {
  const std::uint8_t* to[direction_count];
};
void split_edges(const TileEdges& edges, TileMessages& out);

// The lowest beliefs of one colour, for each lane.
inline constexpr std::uint8_t no_belief = 255;
enum class Wanted { labels, neighbours };  // the latter includes labels
struct TileDecision {
  std::uint16_t labels[tile_lanes];  // disparities
  // Beliefs of the label before, that label and the one after; no_belief without such a candidate.
  std::uint8_t before[tile_lanes], best[tile_lanes], after[tile_lanes];
  // Where there are several row offsets: which of the tile's, and the beliefs of the ones before and after
  // it.
  std::uint8_t rows[tile_lanes], row_before[tile_lanes], row_after[tile_lanes];
};
// `scratch` has 32 bytes for each candidate, where there are several row offsets.
void decide_tile(const TileLabels& tile, int colour, Wanted wanted, std::uint8_t* scratch,
                 TileDecision& decision);

// Writes what decision::disparity() is for each lane, from a decision with neighbours.
struct TileAxis {
  int first;  // the value of label 0
  SubPixel sub_pixel;
  const std::uint16_t* labels;
  const std::uint8_t *before, *best, *after;
};
void locate_tile(const TileAxis& axis, float* values);

// Features of 8 rows, transposed: plane b of column x begins at planes[b] + 8·x. The last plane is that of
// validity.
struct FeatureStrip {
  const std::uint8_t* planes[max_feature_planes + 1];
};
// Strips have a multiple of this many columns.
inline constexpr int strip_unit = 32;

// Inputs of a strip's data costs.
struct StripCosts {
  FeatureStrip left;  // validity: 255 where a pixel has data costs, else 0
  // Label k of left column x is column x + labels − 1 − k; validity: 255 where there is a right pixel, else
  // 0.
  FeatureStrip right;
  const std::uint8_t* table;  // costs of 64 distances; the last is that without a right pixel
  int labels;                 // disparities
};

// Writes the data of a tile of the finest level, from a strip, or of the next level, from two: sums over four
// children.
void write_tile_costs(const StripCosts* strips, int column, const TileLabels& tile, bool coarse);

// Data costs of a coarser level, for all labels: sums over blocks of 2×2 or 4×4 pixels of a strip, less the
// least of each block, cut at `bound`.
struct StripSums {
  const StripCosts* costs;  // for each row offset
  int row_offsets;
  int columns;                   // columns of the left strip
  int side;                      // side of a block
  int rows;                      // rows of blocks; later ones are not written
  std::uint8_t* out[4][2] = {};  // planes as cpu_kernels.h describes them: [row of blocks][parity of x]
  std::ptrdiff_t stride;         // from one label to the next
  int bound;
  void* scratch;  // scratch_bytes(labels) bytes
};
void sum_strip(const StripSums& sums);

// Writes columns of a plane of a strip: transposes 8 rows, which are `pitch` bytes apart. Reads, and writes,
// up to 15 columns more than `columns`.
void transpose_rows(const std::uint8_t* rows, std::ptrdiff_t pitch, int columns, std::uint8_t* out);

// The first messages of colour 0 of a tile are those of the 4×4 parents of its pixels. They are a quarter of
// a tile of the next coarser level, which begins at lane `first_lane` of both colours; `parents` has the
// messages of that tile for each candidate.
void start_from_tile(const TileMessages* const* parents, int first_lane, const TileLabels& tile);

// The first messages may also come from planes as cpu_kernels.h describes them: [row][parity of
// x][direction].
struct ParentPlanes {
  const std::uint8_t* first[4][2][direction_count];  // the first parent of each row
  std::ptrdiff_t stride;                             // from one label to the next
};
void start_from_planes(const ParentPlanes& parents, const TileLabels& tile);

}  // namespace parallax::belief_propagation
