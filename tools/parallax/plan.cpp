// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "tools/parallax/memory.h"
#include "tools/parallax/tile_job.h"

namespace parallax::tool {

int plan_command(const Arguments& arguments) {
  const MatchRequest request = parse_match(arguments, "plan");
  check_goes_in_tiles(request);
  if (!request.image.empty() || !request.truth.empty())
    throw UsageError(
        "--image and --truth need a finished map: leave them out, and run 'parallax eval' after 'parallax "
        "merge'");
  if (!request.video.empty() || request.json)
    throw UsageError("--video and --json are for 'parallax match': leave them out");
  const TileJob job = plan_job(settle_request(request));
  write_job(job, request.plan);
  std::cerr << job.count() << " tiles of " << text(job.plan.tiles.front().around.size) << ", "
            << memory_text(job.worker_bytes) << " for a process that matches them\n";
  return done;
}

}  // namespace parallax::tool
