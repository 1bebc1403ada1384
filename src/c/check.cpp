// SPDX-License-Identifier: Apache-2.0
// The check of a pair, and its report.
#include "parallax/check.h"

#include <algorithm>

#include "c/call.h"

using namespace parallax;

namespace parallax::c {
namespace {

CheckParameters check_parameters_of(const parallax_check_parameters* given) {
  if (given == nullptr) return {};
  const parallax_check_parameters parameters = known(given, "check parameters");
  return {parameters.search_rows, parameters.search_columns, parameters.max_rows_off, parameters.threads};
}

parallax_estimate estimate_of(const Estimate& estimate) {
  return {estimate.value, estimate.uncertainty, estimate.held ? 1 : 0};
}

parallax_exposure exposure_of(const Exposure& exposure) {
  return {exposure.gain, exposure.offset};
}

// A report with what it points to.
class HeldReport : public parallax_pair_report {
 public:
  explicit HeldReport(PairReport given)
      : parallax_pair_report{},
        report_(std::move(given)),
        json_(to_json(report_)),
        histogram_(report_.range.histogram.begin(), report_.range.histogram.end()) {
    for (const std::string& remark : report_.remarks) remarks_.push_back(remark.c_str());
    for (const CheckedPoint& point : report_.points)
      points_.push_back(
          {point.left_x, point.left_y, point.right_x, point.right_y, point.uncertainty, point.residual});
    struct_size = sizeof(parallax_pair_report);
    describe();
    set_rows();
    set_model();
    set_range();
    set_appearance();
  }
  HeldReport(const HeldReport&) = delete;
  HeldReport& operator=(const HeldReport&) = delete;

 private:
  void describe() {
    verdict = static_cast<std::int32_t>(report_.verdict);
    side = static_cast<std::int32_t>(report_.side);
    sentence = report_.sentence.c_str();
    remarks = remarks_.data();
    remark_count = remarks_.size();
    json = json_.c_str();
    points = points_.data();
    point_count = points_.size();
    width = report_.size.width;
    height = report_.size.height;
  }
  void set_rows() {
    left_corners = report_.left_corners;
    right_corners = report_.right_corners;
    matched = report_.matched;
    rows_points = report_.rows_points;
    rows_off = report_.rows_off;
    rows_off_95 = report_.rows_off_95;
    rows_off_model = report_.rows_off_model;
  }
  void set_model() {
    const RowModel& model = report_.model;
    shift = estimate_of(model.shift);
    rotation = estimate_of(model.rotation);
    scale = estimate_of(model.scale);
    yaw = estimate_of(model.yaw);
    pitch = estimate_of(model.pitch);
    shear = estimate_of(model.shear);
    forward = estimate_of(model.forward);
    distortion = estimate_of(model.distortion);
    rotation_degrees = model.rotation_degrees();
    scale_ratio = model.scale_ratio();
    shear_degrees = model.shear_degrees();
    centre_x = model.centre_x;
    centre_y = model.centre_y;
    half_width = model.half_width;
    centre_disparity = model.centre_disparity;
    residual = model.residual;
    residual_95 = model.residual_95;
  }
  void set_range() {
    const DisparityRange& range = report_.range;
    has_range = report_.has_range() ? 1 : 0;
    min_disparity = range.min_disparity;
    disparities = range.disparities;
    range_points = range.points;
    lowest = range.lowest;
    highest = range.highest;
    std::copy(range.quantiles.begin(), range.quantiles.end(), quantiles);
    histogram = histogram_.data();
    histogram_count = histogram_.size();
    histogram_start = range.histogram_start;
    histogram_step = range.histogram_step;
    seen = range.seen;
    sure = range.sure ? 1 : 0;
    range_sentence = range.sentence.c_str();
  }
  void set_appearance() {
    exposure = exposure_of(report_.exposure);
    red = exposure_of(report_.colour[0]);
    green = exposure_of(report_.colour[1]);
    blue = exposure_of(report_.colour[2]);
    sharpness = report_.sharpness;
  }

  const PairReport report_;
  const std::string json_;
  const std::vector<std::int32_t> histogram_;
  std::vector<const char*> remarks_;
  std::vector<parallax_checked_point> points_;
};

}  // namespace
}  // namespace parallax::c

extern "C" {

parallax_code parallax_check_pair(const parallax_pair* pair, const parallax_check_parameters* parameters,
                                  const parallax_pair_report** report) {
  return c::call([&] {
    const StereoPair views = c::pair_of(pair);
    c::required(report, "report");
    *report = new c::HeldReport(check_pair(views, c::check_parameters_of(parameters)));
  });
}

void parallax_pair_report_release(const parallax_pair_report* report) {
  delete static_cast<const c::HeldReport*>(report);
}

}  // extern "C"
