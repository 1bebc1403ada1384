// SPDX-License-Identifier: Apache-2.0
// A match in tiles, stored in a file: the request and the tiles. Any process can read it and match a tile or
// merge the tiles.
#pragma once

#include <string>

#include "parallax/partition.h"

#include "tools/parallax/match.h"

namespace parallax::tool {

struct TileJob {
  MatchRequest request;  // with the final search range and absolute paths of pictures, masks and output
  TilePlan plan;
  int at_once = 1;                // tiles in flight in a match of the complete pair
  std::size_t process_bytes = 0;  // of a process that matches tiles, program included
  std::string folder;             // of the tiles' results
  std::string fingerprint;        // of the plan: marks tiles as belonging to it
  std::string asked;              // JSON: the request, and size and time of its files

  int count() const { return static_cast<int>(plan.tiles.size()); }
};

// The request and the present state of its files as JSON. \throws Error (file)
std::string describe_request(const MatchRequest& request, const ImageFormat& format);

// \throws Error (file)
void write_job(const TileJob& job, const std::string& path);
// \throws Error (file) if this is not a plan or is damaged
TileJob read_job(const std::string& path);

// `path`: the file of the job. \throws Error (file) naming the difference if the request is another
void check_same_job(const TileJob& job, const std::string& path, const MatchRequest& request,
                    const ImageFormat& format);
// \throws Error (file) when pictures were changed since the plan was made
void check_inputs_unchanged(const TileJob& job, const std::string& path);

}  // namespace parallax::tool
