// SPDX-License-Identifier: Apache-2.0
// From a request to a plan: whether a pair can be matched in tiles, and how the memory limit is divided among
// program, pictures and tiles.
#pragma once

#include <string>

#include "tools/jobs/tiles/job.h"

namespace parallax::tool {

// Memory that a match may use; the machine's if no limit is given.
std::size_t memory_limit(const MatchRequest& request);
// Memory of the pictures, maps and outputs of an untiled match.
std::size_t pair_bytes(const MatchRequest& request, const ImageFormat& format);
// Memory of an untiled match with pictures, maps and outputs. The search range must be settled.
// \throws Error like the constructor of Matcher, except for memory
std::size_t whole_match_bytes(const MatchRequest& request, const ImageFormat& format);

// Why a request cannot be planned as a job, or matched in tiles: the option to leave out, or what is missing; empty = it can.
std::string obstacle_to_jobs(const MatchRequest& request);
std::string obstacle_to_tiles(const MatchRequest& request);

// Format and memory of the pictures of a request.
struct Inputs {
  ImageFormat format;
  std::size_t opening_bytes = 0;  // at most, while they are being opened
  std::size_t held_bytes = 0;     // while parts of them are read
};

// A request for one pair, with absolute paths and a settled search range, and its pictures.
struct PairRequest {
  MatchRequest match;
  Inputs inputs;
  PlannedFile left, right, left_mask, right_mask;
};

// `with_hash`: also the hashes of pictures. `decode`: finds damaged pictures now.
// \throws UsageError if it cannot be matched, Error (file) if pictures are unreadable or differ
PairRequest settle_request(const MatchRequest& request, bool with_hash, bool decode);

// \throws UsageError for an obstacle to tiles, Error (memory) for outputs that need the complete map where it does not fit
void check_in_tiles(const PairRequest& request);

// The folder of the tiles of a match of one pair.
inline std::string folder_of_tiles(const PairRequest& request) {
  return request.match.output + ".tiles";
}

// A job of one pair in tiles, for a match by this process. \throws Error (memory) with the smallest sufficient limit
Job plan_in_tiles(const PairRequest& request);

}  // namespace parallax::tool
