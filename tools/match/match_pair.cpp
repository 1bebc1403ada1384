// SPDX-License-Identifier: Apache-2.0
#include "tools/match/match_pair.h"

#include <iomanip>
#include <iostream>

#include "tools/command/command.h"
#include "tools/command/forced.h"
#include "tools/command/json.h"
#include "tools/files/frames.h"
#include "tools/match/row_offsets.h"

namespace parallax::tool {
namespace {

PicturePair read_rectified(const Input& input, MatchPlan& plan) {
  return plan.rectified(read_one_pair(input), input.left, input.right);
}

RowOffsetSummary rows_of(const Result& result) {
  return summarise_row_offsets(result.disparity.view(), result.row_offset.view());
}

}  // namespace

PairMatch::PairMatch(const MatchRequest& request, const ReportOptions& report)
    : report_(report),
      plan_(request),
      pictures_(read_rectified(request.input, plan_)),
      truth_(read_truth(report.truth, request.input.left, turned(format().size, plan_.quarter_turns()))) {}

void PairMatch::run() {
  Result result = plan_.make_result();
  Stopwatch stopwatch;
  const bool repeats = report_.repeat > 1;
  for (int i = 0; i < report_.repeat; ++i) {
    if (repeats)
      show_progress("run " + std::to_string(i + 1) + " of " + std::to_string(report_.repeat),
                    static_cast<double>(i) / report_.repeat);
    plan_.run(pictures_, result);
    stopwatch.add(plan_.matcher().stage_times());
  }
  if (repeats) show_progress("");
  write_files(encode_outputs(plan_.request().outputs, plan_, pictures_, result));
  if (report_.json)
    report_json(stopwatch, result);
  else
    tell(stopwatch, result);
}

void PairMatch::report_json(const Stopwatch& stopwatch, const Result& result) const {
  const View<const float> disparity = result.disparity.view();
  nlohmann::ordered_json json = describe(plan_, stopwatch, pixel_shares(result));
  if (report_.energy) json["energy"] = energy(plan_.parameters(), plan_.pair(pictures_), disparity);
  if (result.row_offset.width() > 0) json["rows_off"] = row_offsets_json(rows_of(result));
  if (result.right) {
    const PixelShares shares = pixel_shares(*result.right);
    json["right"] = {{"valid", shares.valid}, {"status", to_json(shares)}};
  }
  if (truth_) add_errors(*truth_, plan_.turned_back(result.disparity).view(), json);
  std::cout << json.dump(2) << "\n";
}

void PairMatch::tell(const Stopwatch& stopwatch, const Result& result) const {
  std::cerr << std::fixed << std::setprecision(1) << "matched " << text(plan_.map_size()) << " by "
            << plan_.request().search.method << " on " << plan_.device().text() << " in " << stopwatch.total()
            << " ms, " << 100 * pixel_shares(result).valid << " % of pixels have a disparity\n";
  if (const double rows = plan_.matcher().rows_moved(); rows > 0)
    std::cerr << std::setprecision(2) << "rows of the right picture were moved by " << rows
              << " px (root mean square) first, as its corners show; --rows given leaves them\n";
  if (result.row_offset.width() > 0) std::cerr << describe_row_offsets(rows_of(result));
}

void find_range(MatchRequest& request) {
  if (!request.search.automatic_range) return;
  MatchPlan plan(request);
  plan.find_range(read_rectified(request.input, plan), "the pair");
  request = plan.request();
}

std::size_t bytes_of_pictures(const ImageFormat& format) {
  return 3 * 3 * static_cast<std::size_t>(format.depth) / 8 + 5;
}

std::size_t pair_bytes(const MatchRequest& request, bool has_truth, const ImageFormat& format) {
  std::size_t bytes_of_pixel = bytes_of_pictures(format);
  const auto add = [&](bool wanted, std::size_t bytes) {
    if (wanted) bytes_of_pixel += bytes;
  };
  add(!request.input.left_mask.empty(), 2);
  add(!request.input.right_mask.empty(), 2);
  add(!request.outputs.disparity.empty(), 8);
  add(!request.outputs.right_disparity.empty(), 13);
  add(!request.outputs.confidence.empty(), 12);
  add(!request.outputs.rows_off.empty(), 12);
  add(!request.outputs.image.empty(), 12);
  add(has_truth, 12);
  add(!request.outputs.depth.empty(), 16);
  add(!request.outputs.cloud.empty(), 48);
  add(!request.outputs.mesh.empty(), 128);
  return bytes_of_pixel * format.size.pixels();
}

std::size_t whole_match_bytes(const MatchRequest& request, bool has_truth, const ImageFormat& format) {
  const Search& search = request.search;
  const Device device = search.first_device();
  // Tuning must not decide whether a pair is matched in tiles.
  const ForcedTuning untuned(false);
  return program_bytes(device) + pair_bytes(request, has_truth, format) +
         estimate_memory_bytes(search.parameters, device, format, search.configuration,
                               !request.outputs.right_disparity.empty());
}

}  // namespace parallax::tool
