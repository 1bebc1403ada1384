// SPDX-License-Identifier: Apache-2.0
#include "tools/match/match_plan.h"

#include <algorithm>

#include "parallax/check.h"

#include "tools/files/calibration.h"
#include "tools/files/rigs/rig_files.h"
#include "tools/match/check_report.h"

namespace parallax::tool {
namespace {

Plane<std::uint8_t> read_mask_of(const std::string& path, Size size) {
  if (path.empty()) return {};
  Plane<std::uint8_t> mask = read_mask(path);
  if (mask.size() != size)
    throw Error(ErrorCategory::file, path + " is " + text(mask.size()) + ", the pair is " + text(size) +
                                         ": give a mask of the size of the pair");
  return mask;
}

CostArray read_costs_of(const std::string& path, int labels, Size size) {
  if (path.empty()) return {};
  CostArray costs = read_costs(path, labels);
  if (costs.size != size)
    throw Error(ErrorCategory::file, path + " has costs of " + text(costs.size) + " pixels, the pair is " +
                                         text(size) + ": give costs of the size of the pair");
  return costs;
}

void settle_range(const Input& input, const Calibration& calibration, Size size, Search& search) {
  MatcherParameters& parameters = search.parameters;
  if (!search.range_given) {
    if (calibration.disparities > 0 && calibration.disparities < size.width)
      parameters.disparities() = calibration.disparities;
    const int reachable = size.width - parameters.min_disparity();
    const int fewest = static_cast<int>(describe_parameter(search.method, "disparities").least);
    parameters.disparities() = std::min(parameters.disparities(), std::max(reachable, fewest));
  }
  // Labels of a cost file may mean anything.
  if (input.cost_file.empty()) check_range_fits(parameters, size);
}

}  // namespace

void check_range_fits(const MatcherParameters& parameters, Size size) {
  const int lowest = parameters.min_disparity(), highest = lowest + parameters.disparities() - 1;
  if (searches_full_rows(parameters) || (lowest > -size.width && highest < size.width)) return;
  throw UsageError("--disparities " + std::to_string(parameters.disparities()) + " from " +
                   std::to_string(lowest) + " reach to " + std::to_string(highest) + ": the images are " +
                   std::to_string(size.width) + " pixels wide, keep them between " +
                   std::to_string(1 - size.width) + " and " + std::to_string(size.width - 1));
}

void settle_range(const Input& input, Search& search, Size size) {
  Calibration calibration;
  if (!input.calibration.empty()) {
    const auto [given, turns] = read_pair_calibration(input.calibration, input.choices);
    std::string notice;
    calibration = fitted(given, turned(size, turns), join(input.calibration, " and "), notice);
  }
  settle_range(input, calibration, size, search);
}

MatchPlan::MatchPlan(const MatchRequest& request)
    : request_(request), device_(request.search.first_device()) {
  const Input& input = request.input;
  if (request.repaired)
    rectifier_.emplace(request.repaired->cameras.rig, request.repaired->cameras.rectification,
                       request.repaired->left_kept ? Interpolation::lanczos3 : input.rectify.interpolation,
                       device_);
  else if (!input.rig.empty())
    rectifier_.emplace(input.rig, input.choices, input.rectify, device_);
  if (input.calibration.empty()) return;
  given_ = read_pair_calibration(input.calibration, input.choices);
  quarter_turns_ = given_.quarter_turns;
  calibration_ = turned(given_.calibration, quarter_turns_);
  settle_unit();
  if (quarter_turns_ != 0) write_notice("the cameras are above each other: their pictures are turned by 90°");
}

void MatchPlan::settle_unit() {
  const Input& input = request_.input;
  const std::string& file = input.rig.empty() ? input.calibration.front() : input.rig.front();
  tool::settle_unit(request_.depth.unit, !request_.outputs.depth.empty() || request_.depth.has_limits(), file,
                    calibration_);
}

PicturePair MatchPlan::rectified(PicturePair pictures, const std::string& left, const std::string& right) {
  if (!rectifier_) {
    const auto add = [&](Picture& picture, const std::string& path) {
      if (!picture.mask().empty() && !path.empty())
        picture.add_to_mask(read_mask_of(path, picture.size()).view());
    };
    add(pictures.left, request_.input.left_mask);
    add(pictures.right, request_.input.right_mask);
    if (quarter_turns_ == 0) return pictures;
    return {turned(pictures.left, quarter_turns_), turned(pictures.right, quarter_turns_)};
  }
  PicturePair result = rectifier_->run(pictures, left, right);
  if (calibration_.focal == 0 && !request_.input.rig.empty()) {
    calibration_ = rectifier_->calibration();
    settle_unit();
  }
  // Always the same after the first pair, when others may read it.
  if (quarter_turns_ != rectifier_->quarter_turns()) quarter_turns_ = rectifier_->quarter_turns();
  return result;
}

void MatchPlan::read_masks(Size size) {
  const Size upright = turned(size, quarter_turns_);
  left_mask_ = turned(read_mask_of(request_.input.left_mask, upright), quarter_turns_);
  right_mask_ = turned(read_mask_of(request_.input.right_mask, upright), quarter_turns_);
}

void MatchPlan::find_range(const PicturePair& pictures, const std::string& name) {
  Search& search = request_.search;
  if (!search.automatic_range) return;
  read_masks(pictures.left.size());
  const PairReport report = check_pair(pair(pictures), {.threads = search.threads});
  if (!report.has_range())
    throw Error(ErrorCategory::file, "no range of disparities was found: " + report.sentence);
  if (!report.fit()) complain(report.sentence);
  if (!report.range.sure) complain(report.range.sentence);
  search.parameters.min_disparity() = report.range.min_disparity;
  search.parameters.disparities() = report.range.disparities;
  search.parameters.validate();
  search.range_given = true;
  write_message("searching the range of " + name + ": " + range_options(report.range) + "\n");
}

void MatchPlan::fit_calibration(const ImageFormat& format) {
  format_ = format;
  const Input& input = request_.input;
  if (input.calibration.empty()) return;
  std::string notice;
  const double unit = calibration_.metres_per_unit;
  calibration_ = turned(fitted(given_.calibration, map_size(), join(input.calibration, " and "), notice),
                        quarter_turns_);
  calibration_.metres_per_unit = unit;
  if (!notice.empty()) write_notice(notice);
}

void MatchPlan::settle(const ImageFormat& format) {
  read_masks(format.size);
  fit_calibration(format);
  const Input& input = request_.input;
  settle_range(input, calibration_, format.size, request_.search);
  costs_ = read_costs_of(input.cost_file, parameters().disparities(), format.size);
  for (const std::string& path : {request_.outputs.disparity, request_.outputs.right_disparity})
    check_disparities_fit(path, lowest_disparity(), lowest_disparity() + disparities() - 1);
}

void MatchPlan::make(const ImageFormat& format) {
  settle(format);
  const CompilationNotice notice;
  matcher_.emplace(parameters(), device_, format,
                   PlanOptions{.max_memory_bytes = request_.search.max_memory,
                               .configuration = request_.search.configuration,
                               .both_maps = !request_.outputs.right_disparity.empty()});
}

int MatchPlan::lowest_disparity() const {
  return searches_full_rows(parameters()) ? 1 - format_.size.width : parameters().min_disparity();
}

int MatchPlan::disparities() const {
  return searches_full_rows(parameters()) ? 2 * format_.size.width - 1 : parameters().disparities();
}

Result MatchPlan::make_result() const {
  Result result(format_.size, !request_.outputs.confidence.empty(), searches_rows(parameters()));
  if (!request_.outputs.right_disparity.empty()) result.right = std::make_unique<Result>(format_.size);
  return result;
}

void MatchPlan::run(const PicturePair& pictures, Result& result) {
  matcher_->run(pair(pictures), result.map());
}

StereoPair MatchPlan::pair(const PicturePair& pictures) const {
  StereoPair pair{pictures.left.view(), pictures.right.view()};
  if (left_mask_.width() > 0) pair.left_mask = left_mask_.view();
  if (right_mask_.width() > 0) pair.right_mask = right_mask_.view();
  if (rectifier_) pair.left_mask = rectifier_->left_mask(), pair.right_mask = rectifier_->right_mask();
  // They include the others.
  if (!pictures.left.mask().empty()) pair.left_mask = pictures.left.mask();
  if (!pictures.right.mask().empty()) pair.right_mask = pictures.right.mask();
  if (!costs_.costs.empty()) pair.costs = costs_.view();
  return pair;
}

}  // namespace parallax::tool
