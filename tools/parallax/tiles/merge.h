// SPDX-License-Identifier: Apache-2.0
// From the results of all tiles to the files that were asked for.
#pragma once

#include "tools/parallax/match_report.h"
#include "tools/parallax/tiles/job.h"

namespace parallax::tool {

struct StitchedMap {
  // Of a file of its disparities, not rounded as in a PNG; it may be in the folder of the tiles.
  std::string path;
  PixelShares shares;
};

// Puts the map together, strip by strip, and makes the job's output of it, whole or not at all.
// `plan_path`: of the job, for messages. \throws Error (file)
StitchedMap stitch_tiles(const TileJob& job, const std::string& plan_path);

}  // namespace parallax::tool
