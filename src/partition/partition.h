// What planning, matching and stitching tiles share.
#pragma once

#include "parallax/partition.h"

namespace parallax::partition {

// What a tile is matched with: of the refinement, only the left-right check.
MatcherParameters tile_parameters(MatcherParameters parameters);

// The steps that are left for the stitched map.
RefineParameters steps_after_tiles(const MatcherParameters& parameters);

}  // namespace parallax::partition
