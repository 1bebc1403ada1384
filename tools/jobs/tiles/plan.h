// SPDX-License-Identifier: Apache-2.0
// From a request to a plan: how the memory limit is divided among program, pictures and tiles.
#pragma once

#include <string>

#include "tools/files/truth.h"
#include "tools/jobs/tiles/job.h"

namespace parallax::tool {

// Advice if something keeps a pair from being matched in tiles; else empty.
std::string obstacle_to_tiles(const Search& search, const std::string& output);

// Format and memory of the pictures of a request.
struct Inputs {
  ImageFormat format;
  std::size_t opening_bytes = 0;  // at most, while they are being opened
  std::size_t held_bytes = 0;     // while parts of them are read
};

// A pair with absolute paths and a settled search range, and its pictures.
struct PairRequest {
  TiledPair pair;
  Inputs inputs;
  PlannedFiles files;
};

// `with_hash`: also the hashes of pictures. `decode`: finds damaged pictures now.
// \throws UsageError if it cannot be matched, Error (file) if pictures are unreadable or differ
PairRequest settle_pair(const TiledPair& pair, bool with_hash, bool decode);

// \throws UsageError for an obstacle to tiles, Error (memory) for an output that needs more than the limit
void check_in_tiles(const PairRequest& request);
// \throws Error (memory), with this remedy, if the whole map does not fit, which `what` needs
void check_whole_map_fits(const PairRequest& request, const std::string& what, const std::string& remedy);

// A picture with the name of a tile would be overwritten by it.
// \throws UsageError
void check_not_inside(const std::string& path, const std::string& folder);

// The folder of the tiles of a match of one pair.
inline std::string folder_of_tiles(const PairRequest& request) {
  return request.pair.output + ".tiles";
}

// A job of one pair in tiles, for this process.
// \throws Error (memory) with the smallest sufficient limit
Job plan_in_tiles(const PairRequest& request);

// What 'parallax plan' was asked for.
struct PlanRequest {
  TiledPair pair;        // or what many pairs share, with patterns or folders as pictures and output
  std::string path;      // path of the plan
  std::string list;      // list of many pairs, in place of pictures; "-" = standard input
  bool no_hash = false;  // pictures are not hashed
  bool skip = false;     // pairs that cannot be matched
};

Job plan_job(const PlanRequest& request);

// The match of a pair larger than memory, from plan to map.
struct TiledMatch {
  TiledPair pair;
  std::string rows_off, image;  // further outputs
  TruthFile truth;              // adds errors to the report
  bool json = false;
  bool resume = false;  // continues an interrupted match
};

// Returns the exit status.
// \throws Error, UsageError
int match_in_tiles(const TiledMatch& request);

}  // namespace parallax::tool
