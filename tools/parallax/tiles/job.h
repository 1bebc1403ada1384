// SPDX-License-Identifier: Apache-2.0
// A match in tiles as it is kept in a file: what was asked for, and how the pair was cut. Any process reads
// it, matches a tile, or puts the tiles together.
#pragma once

#include <string>

#include "parallax/partition.h"

#include "tools/parallax/match.h"

namespace parallax::tool {

struct TileJob {
  MatchRequest request;  // its search range is settled, its paths of pictures, masks and output are absolute
  TilePlan plan;
  int at_once = 1;                // tiles that a match of the whole pair has under way
  std::size_t process_bytes = 0;  // of a process that matches tiles, with the program itself
  std::string folder;             // of the tiles' results
  std::string fingerprint;        // of all of this: what was matched for one plan is not taken for another's
  std::string asked;              // JSON: the request, and what its files were like

  int count() const { return static_cast<int>(plan.tiles.size()); }
};

// JSON, of one moment. \throws Error (file)
std::string describe_request(const MatchRequest& request, const ImageFormat& format);

// \throws Error (file)
void write_job(const TileJob& job, const std::string& path);
// \throws Error (file) when this is no plan, or was damaged
TileJob read_job(const std::string& path);

// `path`: of the file of the job. \throws Error (file) that says what differs when another match is asked for
void check_same_job(const TileJob& job, const std::string& path, const MatchRequest& request,
                    const ImageFormat& format);
// \throws Error (file) when pictures were changed since the plan was made
void check_inputs_unchanged(const TileJob& job, const std::string& path);

}  // namespace parallax::tool
