// SPDX-License-Identifier: Apache-2.0
// A match in tiles as it is kept in a file: what was asked for, and how the pair was cut. Any process reads
// it, matches a tile, or puts the tiles together.
#pragma once

#include <string>
#include <vector>

#include "parallax/partition.h"

#include "tools/parallax/match.h"
#include "tools/parallax/picture_parts.h"

namespace parallax::tool {

struct TileJob {
  MatchRequest request;  // its search range is settled, its paths of pictures, masks and output are absolute
  TilePlan plan;
  int workers = 1;               // processes
  std::size_t worker_bytes = 0;  // of each, with the program itself
  std::string folder;            // of the tiles' results
  std::string fingerprint;       // of all of this: what was matched for one plan is not taken for another's
  std::string asked;             // JSON: the request, and what its files were like

  int count() const { return static_cast<int>(plan.tiles.size()); }
};

// The pictures of a request, looked at.
struct Inputs {
  ImageFormat format;
  std::size_t opening_bytes = 0;  // at most, until all are open
  std::size_t held_bytes = 0;     // while parts of them are read
};

// Memory that a match may use, the machine's where nothing was said.
std::size_t memory_limit(const MatchRequest& request);
// Of a match that is not cut, with pictures, maps, and all that is written. The search range is settled.
// \throws Error as the constructor of Matcher does, save for memory
std::size_t whole_match_bytes(const MatchRequest& request, const ImageFormat& format);

// Why a request cannot go in tiles: the option that has to be left out, or what is missing; empty = it can.
std::string obstacle_to_tiles(const MatchRequest& request);
// \throws UsageError
void check_goes_in_tiles(const MatchRequest& request);

// A request whose paths are absolute and whose search range is settled, and the pictures that this took a
// look at.
struct TileRequest {
  MatchRequest match;
  Inputs inputs;

  std::string folder() const { return match.output + ".tiles"; }
};

// \throws UsageError, Error (file) when pictures cannot be read, or do not fit together
TileRequest settle_request(const MatchRequest& request);

// Plans. \throws Error (memory) with the least limit that would do
TileJob plan_job(const TileRequest& request);

// JSON, of one moment. \throws Error (file)
std::string describe_request(const MatchRequest& request, const ImageFormat& format);

// \throws Error (file)
void write_job(const TileJob& job, const std::string& path);
// \throws Error (file) when this is no plan, or was damaged
TileJob read_job(const std::string& path);

// \throws Error (file) that says what differs when `job`, of this file, is not what is asked for
void check_same_job(const TileJob& job, const std::string& path, const TileRequest& request);
// \throws Error (file) when pictures were changed since the plan was made
void check_inputs_unchanged(const TileJob& job, const std::string& path);

}  // namespace parallax::tool
