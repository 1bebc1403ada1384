// SPDX-License-Identifier: Apache-2.0
// What planning, matching and stitching tiles share.
#pragma once

#include "parallax/partition.h"

namespace parallax::partition {

// What a tile is matched with: of the refinement, only the left-right check.
MatcherParameters tile_parameters(MatcherParameters parameters);

// The steps that are left for the stitched map.
RefineParameters steps_after_tiles(const MatcherParameters& parameters);

// A plan may come from a file. \throws Error (argument) unless its tiles are all there, row by row, cover the
// image once, and are matched from rectangles of one size that hold their margins
void check_tiles(const TilePlan& plan);

// Of a tile: both images in colour, their masks, and its map, with its margins and without.
std::size_t bytes_beside_matcher(const ImageFormat& tile);

}  // namespace parallax::partition
