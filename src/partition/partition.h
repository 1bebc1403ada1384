// What planning, matching and stitching tiles share.
#pragma once

#include "parallax/partition.h"

namespace parallax::partition {

// What a tile is matched with: of the refinement, only the left-right check.
MatcherParameters tile_parameters(MatcherParameters parameters);

// The steps that are left for the stitched map.
RefineParameters steps_after_tiles(const MatcherParameters& parameters);

// What stitch() holds. \throws Error (argument) when `rows` is below 1
std::size_t stitch_memory_bytes(const RefineParameters& steps, Size image, int rows);

}  // namespace parallax::partition
