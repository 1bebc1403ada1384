// SPDX-License-Identifier: Apache-2.0
#include "tools/match/match_plan.h"

#include <algorithm>

#include "parallax/check.h"

#include "tools/files/calibration.h"
#include "tools/files/depth_files.h"
#include "tools/match/check_report.h"

namespace parallax::tool {
namespace {

void check_calibration_fits(const Calibration& calibration, const std::string& path, Size size) {
  const Size described{calibration.width, calibration.height};
  if (described.width == 0 || described.height == 0 || described == size) return;
  throw Error(ErrorCategory::file, path + " is for images of " + text(described) + ", these are " +
                                       text(size) + ": give the calibration of this size");
}

Plane<std::uint8_t> read_mask_of(const std::string& path, Size size) {
  if (path.empty()) return {};
  Plane<std::uint8_t> mask = read_mask(path);
  if (mask.size() != size)
    throw Error(ErrorCategory::file, path + " is " + text(mask.size()) + ", the pair is " + text(size) +
                                         ": give a mask of the size of the pair");
  return mask;
}

CostArray read_costs_of(const MatchRequest& request, Size size) {
  if (request.cost_file.empty()) return {};
  CostArray costs = read_costs(request.cost_file, request.parameters.disparities());
  if (costs.size != size)
    throw Error(ErrorCategory::file, request.cost_file + " has costs of " + text(costs.size) +
                                         " pixels, the pair is " + text(size) +
                                         ": give costs of the size of the pair");
  return costs;
}

void settle_range(MatchRequest& request, const Calibration& calibration, Size size) {
  if (!request.range_given) {
    if (calibration.disparities > 0) request.parameters.disparities() = calibration.disparities;
    const int reachable = size.width - request.parameters.min_disparity();
    const int fewest = static_cast<int>(describe_parameter(request.method, "disparities").least);
    request.parameters.disparities() =
        std::min(request.parameters.disparities(), std::max(reachable, fewest));
  }
  // Labels of a cost file may mean anything.
  if (request.cost_file.empty()) check_range_fits(request.parameters, size);
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

void settle_range(MatchRequest& request, Size size) {
  Calibration calibration;
  if (!request.calibration.empty()) {
    calibration = read_calibration(request.calibration);
    check_calibration_fits(calibration, request.calibration, size);
  }
  settle_range(request, calibration, size);
}

MatchPlan::MatchPlan(const MatchRequest& request)
    : request_(request), device_(Device::parse(request.device)) {
  device_.threads = request.threads;
  if (request.repaired)
    rectifier_.emplace(request.repaired->cameras.rig, request.repaired->cameras.rectification,
                       request.repaired->left_kept ? Interpolation::lanczos3 : request.rectify.interpolation,
                       device_);
  else if (!request.rig.empty())
    rectifier_.emplace(request.rig, RigChoices{}, request.rectify, device_);
  if (!has_geometry(request)) return;
  if (!request.rig.empty()) {
    calibration_ = rectifier_->calibration();
  } else {
    calibration_ = read_calibration(request.calibration);
  }
  settle_unit(request, calibration_);
}

PicturePair MatchPlan::rectified(PicturePair pictures, const std::string& left, const std::string& right) {
  return rectifier_ ? rectifier_->run(pictures, left, right) : std::move(pictures);
}

void MatchPlan::read_masks(Size size) {
  left_mask_ = read_mask_of(request_.left_mask, size);
  right_mask_ = read_mask_of(request_.right_mask, size);
}

void MatchPlan::find_range(const PicturePair& pictures, const std::string& name) {
  if (!request_.automatic_range) return;
  read_masks(pictures.left.size());
  const PairReport report = check_pair(pair(pictures), {.threads = request_.threads});
  if (!report.has_range())
    throw Error(ErrorCategory::file, "no range of disparities was found: " + report.sentence);
  if (!report.fit()) complain(report.sentence);
  request_.parameters.min_disparity() = report.range.min_disparity;
  request_.parameters.disparities() = report.range.disparities;
  request_.parameters.validate();
  request_.range_given = true;
  write_message("searching the range of " + name + ": " + range_options(report.range) + "\n");
}

void MatchPlan::settle(const ImageFormat& format) {
  format_ = format;
  read_masks(format.size);
  if (!request_.calibration.empty()) check_calibration_fits(calibration_, request_.calibration, format.size);
  settle_range(request_, calibration_, format.size);
  costs_ = read_costs_of(request_, format.size);
}

void MatchPlan::make(const ImageFormat& format) {
  settle(format);
  const CompilationNotice notice;
  matcher_.emplace(request_.parameters, device_, format,
                   PlanOptions{request_.max_memory, request_.configuration});
}

int MatchPlan::lowest_disparity() const {
  return searches_full_rows(request_.parameters) ? 1 - format_.size.width
                                                 : request_.parameters.min_disparity();
}

int MatchPlan::disparities() const {
  return searches_full_rows(request_.parameters) ? 2 * format_.size.width - 1
                                                 : request_.parameters.disparities();
}

MatchResult MatchPlan::make_result() const {
  const Size size = format_.size;
  return {Plane<float>(size), Plane<std::uint8_t>(size),
          Plane<float>(request_.confidence.empty() ? Size{} : size),
          Plane<float>(searches_rows(request_.parameters) ? size : Size{})};
}

void MatchPlan::run(const PicturePair& pictures, MatchResult& result) {
  matcher_->run(pair(pictures), map(result));
}

DisparityMap MatchPlan::map(MatchResult& result) const {
  DisparityMap map{result.disparity.view(), result.status.view()};
  if (!request_.confidence.empty()) map.confidence = result.confidence.view();
  if (result.row_offset.width() > 0) map.row_offset = result.row_offset.view();
  return map;
}

StereoPair MatchPlan::pair(const PicturePair& pictures) const {
  StereoPair pair{pictures.left.view(), pictures.right.view()};
  if (left_mask_.width() > 0) pair.left_mask = left_mask_.view();
  if (right_mask_.width() > 0) pair.right_mask = right_mask_.view();
  if (rectifier_) pair.left_mask = rectifier_->left_mask(), pair.right_mask = rectifier_->right_mask();
  if (!costs_.costs.empty()) pair.costs = costs_.view();
  return pair;
}

}  // namespace parallax::tool
