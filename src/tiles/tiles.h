// SPDX-License-Identifier: Apache-2.0
// Functions that planning, matching and stitching tiles share.
#pragma once

#include "parallax/tiles.h"

namespace parallax::tiles {

// Parameters for matching a tile: the left-right check is the only refinement step.
MatcherParameters tile_parameters(MatcherParameters parameters);

// The refinement steps that run on the stitched map.
// \throws Error (argument) for refit, which cannot run there
RefineParameters steps_after_tiles(const MatcherParameters& parameters);

// Checks a plan, which may come from a file.
// \throws Error (argument) unless its tiles are in row order, cover the image without overlap, and are
// matched from rectangles of one size that include their margins
void check_tiles(const TilePlan& plan);

// Bytes of both colour images of a tile, their masks, and its map with and without margins.
std::size_t bytes_beside_matcher(const ImageFormat& tile, bool row_offsets);

}  // namespace parallax::tiles
