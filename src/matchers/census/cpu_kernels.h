// SPDX-License-Identifier: Apache-2.0
// The inner loops of census matching on the CPU, compiled once for each vector instruction set. Lanes are
// neighbouring pixels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "parallax/image.h"

#include "matchers/census/census.h"

namespace parallax::census {

// The minimum number of columns in memory left of column 0 and right of the last column: as many as a vector
// reads and a window reaches.
inline constexpr int row_border = 64;

// Rows of T, each from row_border columns before column 0 to as many after the last.
template <class T>
struct BorderedPlane {
  T* data = nullptr;  // column 0 of row 0
  Size size;
  std::ptrdiff_t pitch = 0;

  T* row(int y) const { return data + y * pitch; }
};

// Signatures: for each image row, a row for each of their bytes and, for AD-census, a row of 8-bit gray
// values.
struct Signatures {
  std::uint8_t* data = nullptr;  // column 0 of row 0, byte 0
  Size size;
  int bytes = 0;   // bytes of a signature
  int planes = 0;  // bytes, and the gray values
  std::ptrdiff_t pitch = 0;

  std::uint8_t* row(int y, int plane) const { return data + (y * std::ptrdiff_t{planes} + plane) * pitch; }
};

// A search may read this many bytes before and after the rows of signatures, into lanes that it discards.
inline constexpr std::size_t signature_margin = 256;

// Repeats the first and the last pixel of a row in its borders.
template <class T>
void repeat_border(T* row, int width) {
  for (int i = 1; i <= row_border; ++i) {
    row[-i] = row[0];
    row[width - 1 + i] = row[width - 1];
  }
}

// Writes a row of the next level. T is uint8_t or uint16_t.
void halve_row(const BorderedPlane<std::uint8_t>& fine, int y, std::uint8_t* coarse, int width);
void halve_row(const BorderedPlane<std::uint16_t>& fine, int y, std::uint16_t* coarse, int width);

// Writes a row of signatures, with their borders. `scratch` has describe_scratch_bytes().
void describe_row(const BorderedPlane<std::uint8_t>& gray, const Neighbourhood& neighbourhood, int y,
                  const Signatures& out, void* scratch);
void describe_row(const BorderedPlane<std::uint16_t>& gray, const Neighbourhood& neighbourhood, int y,
                  const Signatures& out, void* scratch);
std::size_t describe_scratch_bytes(int width);

// A search runs over tiles of the base image. A tile's columns and the columns that its windows reach fill
// `tile_lanes` together.
inline constexpr int tile_lanes = 64;
inline constexpr int usual_tile_rows = 24;
inline constexpr int max_tile_rows = 40;
inline constexpr int max_window = 15;
inline constexpr int max_batch_labels = 16;

inline int tile_columns(int window) {
  return tile_lanes - 2 * (window / 2);
}

// Labels count integer disparities from the level's lowest, in 16 bits.
inline constexpr std::uint16_t no_label = 0xFFFF;
inline constexpr std::uint16_t no_cost = 0xFFFF;

// The estimates of the level above; empty on the coarsest level.
struct Estimates {
  const std::uint16_t* labels = nullptr;
  std::ptrdiff_t stride = 0;
  Size size;
  int lowest = 0;
};

struct TileMemory {
  std::uint8_t* costs;      // [max_batch_labels][cost_rows][cost_pitch]
  std::uint16_t* row_sums;  // [cost_rows][tile_lanes]
  std::uint16_t* states;    // [planes of state][max_tile_rows][tile_lanes]
  std::int32_t* wanted;     // [labels + 3]
};
inline constexpr int cost_pitch = tile_lanes;  // reads beyond a row continue in the next
inline constexpr int cost_rows = max_tile_rows + max_window;
inline constexpr int state_planes = 10;

// What the search of one row offset finds, where several are searched: for each pixel of the level, `stride`
// elements from one row to the next.
struct Found {
  std::uint16_t* costs = nullptr;  // the lowest costs; no_cost without a candidate
  std::uint16_t* labels = nullptr;
  // On the left image itself instead: disparities with their fractions, and the lowest costs more than one
  // away.
  float* disparities = nullptr;
  std::uint16_t* rivals = nullptr;
  std::ptrdiff_t stride = 0;
};

// A search of one level of one side.
struct Search {
  Level level;
  int side = left_side;                 // side of the base image
  int rows_lower = 0;                   // rows by which the other image's compared rows are lower
  int tile_rows = usual_tile_rows;      // even
  int batch_labels = max_batch_labels;  // labels whose costs are computed together
  int window = 1;
  int search_radius = 0;
  int highest_pixel_cost = 0;
  int ad_truncation = 0;  // 0 = Hamming distances only
  Signatures base, other;
  const std::uint8_t* base_mask = nullptr;  // null = all valid
  const std::uint8_t* other_mask = nullptr;
  std::ptrdiff_t mask_stride = 0;
  Estimates estimates;

  // The output: what one row offset has; or the labels; or, on the image itself, the disparities of the right
  // image, or the map.
  Found found;
  std::uint16_t* labels = nullptr;
  std::ptrdiff_t label_stride = 0;
  View<float> right_disparity;
  DisparityMap map;
  SubPixel sub_pixel = SubPixel::none;
  int uniqueness = 0;
};

// Searches the tile in that column and row of tiles.
void search_tile(const Search& search, int tile_column, int tile_row, const TileMemory& memory);

}  // namespace parallax::census
