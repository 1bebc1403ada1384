// SPDX-License-Identifier: Apache-2.0
// Merges the results of all tiles into the requested files.
#pragma once

#include "tools/parallax/match_report.h"
#include "tools/parallax/tiles/job.h"

namespace parallax::tool {

struct StitchedMap {
  // A file of its disparities, not rounded as in a PNG; it may be in the folder of the tiles.
  std::string path;
  PixelShares shares;
};

// Merges the map strip by strip and writes the job's output, completely or not at all.
// `plan_path`: the file of the job, for messages. \throws Error (file)
StitchedMap stitch_tiles(const TileJob& job, const std::string& plan_path);

}  // namespace parallax::tool
