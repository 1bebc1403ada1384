// SPDX-License-Identifier: Apache-2.0
// From what was asked for to a plan: whether a pair can go in tiles, and how a limit of memory is shared out,
// to the program itself, to pictures, to tiles.
#pragma once

#include <string>

#include "tools/parallax/tiles/job.h"

namespace parallax::tool {

// Memory that a match may use, the machine's where nothing was said.
std::size_t memory_limit(const MatchRequest& request);
// Of a match that is not cut, with pictures, maps, and all that is written. The search range is settled.
// \throws Error as the constructor of Matcher does, save for memory
std::size_t whole_match_bytes(const MatchRequest& request, const ImageFormat& format);

// Why a request cannot go in tiles: the option that has to be left out, or what is missing; empty = it can.
std::string obstacle_to_tiles(const MatchRequest& request);

// The pictures of a request, looked at.
struct Inputs {
  ImageFormat format;
  std::size_t opening_bytes = 0;  // at most, until all are open
  std::size_t held_bytes = 0;     // while parts of them are read
};

// A request whose paths are absolute and whose search range is settled, and the pictures that this took a
// look at.
struct TileRequest {
  MatchRequest match;
  Inputs inputs;

  std::string folder() const { return match.output + ".tiles"; }
};

// \throws UsageError for what cannot go in tiles, Error (file) when pictures cannot be read, or do not fit
// together
TileRequest settle_request(const MatchRequest& request);

// \throws Error (memory) with the least limit that would do
TileJob plan_job(const TileRequest& request);

}  // namespace parallax::tool
