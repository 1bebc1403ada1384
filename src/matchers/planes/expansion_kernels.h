// SPDX-License-Identifier: Apache-2.0
// The inner loops of moves on the CPU, compiled once for each vector instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/integers.h"
#include "matchers/planes/features.h"
#include "matchers/planes/planes.h"

namespace parallax::planes {

// Lanes of a vector, at most: the planes' guards are as wide.
inline constexpr int move_lanes = 16;
static_assert(PlaneMap::guard >= 2 * move_lanes);

// A pair's data costs and edges.
struct Scene {
  Size size;
  Features features;
  View<const std::uint8_t> left_mask, right_mask;
};

// The data costs of the planes in row y, as they are.
void write_data_costs(const Model& model, const Scene& scene, const PlaneMap& planes, int y);

// Offers a plane to the pixels of a region; `offered` is that at its first pixel.
struct Move {
  Box region;
  Plane offered;
  std::int16_t* memory;  // move_elements
};
void make_move(const Model& model, const Scene& scene, const PlaneMap& planes, const Move& move);

// A square of words for the pixels of a region, with one more row and column.
constexpr int move_pitch(int region_side) {
  return round_up(region_side + 1, move_lanes);
}
inline constexpr int move_squares = 20;
// Vectors read one lane before and after a square.
inline constexpr std::size_t square_elements(int pitch) {
  return to_size(pitch) * to_size(pitch) + 2 * move_lanes;
}
inline constexpr std::size_t move_elements = move_squares * square_elements(move_pitch(largest_region));

// The bits of row y of a census as 64-bit signatures, from eight planes of bytes.
void gather_signatures(const std::uint8_t* const* planes, int width, std::uint64_t* signatures);

// Which of the neighbours of each pixel look like it, with the cost of a bit. Rows repeat their border:
// element x + i + 4 of channel c of `rows[j]` is i columns and j − 3 rows from pixel x.
struct AlikeRow {
  const std::uint8_t* rows[7][3];
  int channels, width;
  std::uint8_t* planes[8];  // at least `width` bytes and a vector each
};
void write_alike(const AlikeRow& row);

}  // namespace parallax::planes
