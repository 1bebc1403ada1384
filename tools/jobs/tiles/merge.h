// SPDX-License-Identifier: Apache-2.0
// Merges the results of all tiles of a pair into its map.
#pragma once

#include <optional>
#include <string>

#include "tools/jobs/tiles/job.h"
#include "tools/match/match_report.h"
#include "tools/match/row_offsets.h"

namespace parallax::tool {

struct StitchedMap {
  // A file of its disparities, not rounded as in a PNG; it may be in the folder of the tiles.
  std::string path;
  PixelShares shares;
  std::optional<RowOffsetSummary> rows;  // where the plan has row offsets
};

// Merges the map strip by strip and writes the pair's output, and, where the plan has them, the row offsets,
// each completely or not at all.
// \throws Error (file)
StitchedMap stitch_tiles(const PairJob& job, const std::string& rows_off = "");

// Merges the pairs from first to last whose tiles are all matched; complains of the others. Removes the
// results of tiles, unless they are kept, or other processes work there. Returns the exit status.
int merge_pairs(const JobFile& file, int first, int last, bool keep);

}  // namespace parallax::tool
