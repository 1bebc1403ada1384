// SPDX-License-Identifier: Apache-2.0
// The match of a pair larger than memory, from plan to map.
#pragma once

#include <string>

#include "tools/files/truth.h"
#include "tools/jobs/tiles/job.h"

namespace parallax::tool {

struct TiledMatch {
  TiledPair pair;
  std::string rows_off, image;  // further outputs
  TruthFile truth;              // adds errors to the report
  bool json = false;
  bool resume = false;  // continues an interrupted match
};

// Returns the exit status. \throws Error, UsageError
int match_in_tiles(const TiledMatch& request);

}  // namespace parallax::tool
