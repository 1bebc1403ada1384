// SPDX-License-Identifier: Apache-2.0
// Matches tiles of a plan for an external scheduler.
#pragma once

#include <string>

#include "tools/jobs/tiles/runner.h"

namespace parallax::tool {

// `ranges`: numbers of tiles, such as 0-19,40, or "-" to read them from standard input, line by line. Prints
// a line of JSON for each tile, and adds it to the log of the job. Returns the exit status. \throws
// UsageError for other ranges, Error
int match_tiles(const JobFile& file, const TileRun& run, const std::string& ranges);

}  // namespace parallax::tool
