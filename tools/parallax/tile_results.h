// SPDX-License-Identifier: Apache-2.0
// The results of tiles: a file for each, in the folder of the job. Two pictures of a TIFF: disparities and
// statuses, each with a checksum of its pixels.
#pragma once

#include <string>
#include <vector>

#include "tools/parallax/tile_job.h"

namespace parallax::tool {

enum class TileState {
  done,
  missing,
  damaged,  // its pixels are not those that were written; or cut short, of another size, or no result at all
  foreign,  // of another plan
};

std::string tile_path(const TileJob& job, int number);
// Reads all of the file.
TileState state_of(const TileJob& job, const Tile& tile);

// Whole or not at all; replaces what is there. \throws Error (file)
void write_tile(const TileJob& job, const Tile& tile, View<const float> disparity,
                View<const std::uint8_t> status);

// Fills `rows` with those of the tile's map that begin at `first_row` of the whole image.
// \throws Error (file)
void read_tile(const TileJob& job, const Tile& tile, int first_row, const DisparityMap& rows);

// "3, 7 to 12", of numbers in order
std::string text_of_numbers(const std::vector<int>& numbers);

}  // namespace parallax::tool
