// SPDX-License-Identifier: Apache-2.0
#include <iomanip>
#include <iostream>
#include <optional>

#include <nlohmann/json.hpp>

#include "tools/command/memory.h"
#include "tools/files/frames.h"
#include "tools/jobs/tiles/plan.h"
#include "tools/match/match.h"
#include "tools/match/match_report.h"
#include "tools/match/row_offsets.h"

namespace parallax::tool {
namespace {

void check_outputs(const MatchRequest& request) {
  for (const std::string& path : output_paths(request).all())
    if (names_folder(path))
      throw UsageError(path + " is a directory: give a file name, as for any single pair");
  if (!request.video.empty())
    throw UsageError("--video is for a sequence: give two folders, patterns or videos");
}

// \throws Error (memory) if a match that does not fit cannot be matched in tiles either
void check_tiles_are_possible(const MatchRequest& request, std::size_t needed) {
  const std::string obstacle = obstacle_to_tiles(request);
  if (!obstacle.empty())
    throw Error(ErrorCategory::memory,
                "the match needs " + memory_text(needed) + ", and " + memory_text(memory_limit(request)) +
                    " are allowed: raise the limit, or, to match in tiles, " + obstacle);
}

// Whether a pair of this format must be matched in tiles: on request, or because it does not fit.
// \throws Error (memory) if it neither fits nor can be matched in tiles
bool goes_in_tiles(MatchRequest request, const ImageFormat& format) {
  if (request.resume || request.largest_tile != Size{}) return true;
  settle_range(request, format.size);
  const std::size_t needed = whole_match_bytes(request, format);
  if (needed <= memory_limit(request)) return false;
  // The machine's own limit is an estimate: without tiles, the match is tried anyway.
  if (request.max_memory == 0 && !obstacle_to_tiles(request).empty()) return false;
  check_tiles_are_possible(request, needed);
  return true;
}

// Whether the format of the pictures is needed before they are read.
bool looks_first(const MatchRequest& request) {
  return request.max_memory > 0 || request.resume || request.largest_tile != Size{} ||
         open_picture_tiff(request.left).has_value();
}

// Whether the untiled match fits its device. \throws Error if it neither fits nor can be matched in tiles
bool plan_whole(MatchPlan& plan, const ImageFormat& format) {
  try {
    plan.make(format);
    return true;
  } catch (const Error& error) {
    if (error.category() != ErrorCategory::memory || !obstacle_to_tiles(plan.request()).empty()) throw;
    return false;
  }
}

// Empty if the pair does not fit untiled. `fits`: it is known to fit.
std::optional<int> match_whole(const MatchRequest& request, bool fits) {
  MatchPlan plan(request);
  const PicturePair pictures = plan.rectified(read_one_pair(request), request.left, request.right);
  const ImageFormat format = pictures.left.view().format;
  const std::optional<Truth> truth = read_truth(request, format.size);
  if ((!fits && goes_in_tiles(request, format)) || !plan_whole(plan, format)) return std::nullopt;
  MatchResult result = plan.make_result();
  Stopwatch stopwatch;
  for (int i = 0; i < request.repeat; ++i) {
    if (request.repeat > 1)
      show_progress("run " + std::to_string(i + 1) + " of " + std::to_string(request.repeat),
                    static_cast<double>(i) / request.repeat);
    plan.run(pictures, result);
    stopwatch.add(plan.matcher().stage_times());
  }
  if (request.repeat > 1) show_progress("");
  write_outputs(output_paths(request), plan, pictures, result);

  const PixelShares shares = pixel_shares(result);
  std::optional<RowOffsetSummary> rows;
  if (result.row_offset.width() > 0)
    rows = summarise_row_offsets(result.disparity.view(), result.row_offset.view());
  if (request.json) {
    nlohmann::ordered_json report = describe(plan, stopwatch, shares);
    if (request.energy)
      report["energy"] = energy(plan.request().parameters, plan.pair(pictures), result.disparity.view());
    if (rows) report["rows_off"] = row_offsets_json(*rows);
    if (truth) add_errors(*truth, result.disparity.view(), report);
    std::cout << report.dump(2) << "\n";
  } else {
    const Size size = plan.format().size;
    std::cerr << std::fixed << std::setprecision(1) << "matched " << size.width << "×" << size.height
              << " by " << request.method << " on " << plan.device().text() << " in " << stopwatch.total()
              << " ms, " << 100 * shares.valid << " % of pixels have a disparity\n";
    if (rows) std::cerr << describe_row_offsets(*rows);
  }
  return done;
}

// With the range that the pair shows.
MatchRequest with_automatic_range(const MatchRequest& request) {
  if (!request.automatic_range) return request;
  MatchPlan plan(request);
  plan.find_range(plan.rectified(read_one_pair(request), request.left, request.right), "the pair");
  return plan.request();
}

}  // namespace

int match_pair(const MatchRequest& requested) {
  check_outputs(requested);
  MatchRequest repaired = requested;
  if (repaired.repair) repair(repaired, nullptr);
  const MatchRequest request = with_automatic_range(repaired);
  const bool first = looks_first(request) && !request.side_by_side;
  if (first && goes_in_tiles(request, PictureParts(request.left).format())) return match_by_tiles(request);
  const std::optional<int> status = match_whole(request, first);
  return status ? *status : match_by_tiles(request);
}

}  // namespace parallax::tool
