// SPDX-License-Identifier: Apache-2.0
// The options of 'parallax match'.
#pragma once

#include "parallax/tiles.h"

#include "tools/match/match.h"

namespace parallax::tool {

struct MatchOptions {
  MatchRequest match;
  ReportOptions report;
  VideoOptions video;
  bool temporal = false;
  LiveOptions live;  // used if it has cameras
  TileOptions tiles;
  bool repair = false;  // the rows first
  bool resume = false;  // an interrupted match in tiles
};

// \throws UsageError, HelpRequest, Error (argument)
MatchOptions parse_match(const Arguments& arguments);

}  // namespace parallax::tool
