// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>

#include "parallax/repair.h"

#include "core/checks.h"
#include "core/floating_point.h"
#include "geometry/turn.h"
#include "repair/repair.h"
#include "rows/corner_rows.h"

namespace parallax {
namespace repair {
namespace {

constexpr int min_points = 20;
// If rows are off by more pixels than this, the points are searched again with the rig as it is then known.
constexpr double look_again = 0.1;
constexpr int max_looks = 4;
constexpr double settled = 0.1;     // pixels by which a frame may move rows once the estimate has converged
constexpr double disagrees = 0.15;  // pixels, and 4 standard deviations
constexpr int frames_of_drift = 3;
// share of the width: scenes may show such disparities, or larger ones
constexpr double nearest_share = 0.05;
constexpr double far_share = 0.004;  // disparities below are far away
constexpr double not_better_than = 0.9;
constexpr double degrees = 180 / std::numbers::pi;

// Uses the points whose rows are known best, like check_pair().
double rows_off_95(const std::vector<double>& rows, std::span<const PointPair> points,
                   const std::vector<bool>& agrees = {}) {
  constexpr double well_located = 0.05;
  std::vector<double> uncertainties, off;
  for (const PointPair& point : points) uncertainties.push_back(point.uncertainty);
  const double limit = std::max(well_located, rows::quantile(uncertainties, 0.5));
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (std::isfinite(rows[i]) && points[i].uncertainty <= limit && (agrees.empty() || agrees[i]))
      off.push_back(std::abs(rows[i]));
  return rows::quantile(off, 0.95);
}

// The points that are no wrong matches by check_pair()'s rule.
std::vector<bool> agreeing(const std::vector<double>& rows) {
  std::vector<double> distances;
  for (const double difference : rows)
    if (std::isfinite(difference)) distances.push_back(std::abs(difference));
  const double limit = std::max(rows::wrong, 4 * rows::deviation(distances));
  std::vector<bool> agrees;
  for (const double difference : rows) agrees.push_back(std::abs(difference) <= limit);
  return agrees;
}

bool shows_points(const PairReport& report) {
  switch (report.verdict) {
    case Verdict::fit:
    case Verdict::rows_off:
    case Verdict::exchanged:
    case Verdict::identical:
      return !report.points.empty();
    default:
      return false;
  }
}

void check_points(std::span<const PointPair> points) {
  for (const PointPair& point : points) {
    for (const double value : {point.left[0], point.left[1], point.right[0], point.right[1]})
      check_finite("a position of a point", value);
    check_not_negative("uncertainty of a point", point.uncertainty);
  }
}

}  // namespace
}  // namespace repair

using namespace repair;

class RigRepairer::Estimator {
 public:
  Estimator(const Rig& rig, const RepairParameters& parameters)
      : rig_(rig), parameters_(parameters), before_(belief_before(rig, parameters)), main_{before_} {
    parameters.validate();
    validate(rig);
    rectification(rig);
  }

  FrameRepair add(const StereoPair& pictures) {
    check_pictures(pictures);
    Rig current = changed(rig_, main_.belief.mean);
    std::optional<Fit> alone;
    std::vector<PointPair> points;
    FrameRepair frame;
    for (int looks = 0; looks < max_looks; ++looks) {
      Sight sight = look_with(current, pictures);
      if (!shows_points(sight.report)) {
        if (looks > 0) break;
        frame.refused = sight.report.sentence;
        unmatched_ = frame.refused;
        ++seen_;
        return frame;
      }
      points = std::move(sight.points);
      const Rows rows(rig_, points);
      alone = fit(rows, points, before_);
      if (!alone) break;
      const Rig next = changed(rig_, alone->belief.mean);
      const std::vector<double> then = Rows(current, points).at({}), now = Rows(next, points).at({});
      double moved = 0;
      for (std::size_t i = 0; i < then.size(); ++i)
        if (std::isfinite(then[i] - now[i])) moved = std::max(moved, std::abs(then[i] - now[i]));
      if (moved < look_again) break;
      current = next;
    }
    return add(points);
  }

  FrameRepair add(std::span<const PointPair> points) {
    check_points(points);
    FrameRepair frame;
    frame.points = static_cast<int>(points.size());
    const int index = seen_++;
    const Rows rows(rig_, points);
    frame.rows_off = rows_off_95(rows.at(main_.belief.mean), points);
    const std::optional<Fit> alone = fit(rows, points, before_);
    if (points.empty() || !alone) {
      frame.refused = "the frame has no points that two cameras could see";
      return frame;
    }
    measure(points, alone->belief.mean);
    last_points_.assign(points.begin(), points.end());
    if (frames_ > 0) {
      frame.disagreement = difference(alone->belief, main_.belief);
      frame.agrees = frame.disagreement == 0;
    }
    if (frame.agrees) {
      pending_ = {};
      take(rows, points, index, frame);
    } else {
      frame.refused = "the frame does not agree with those before";
      suspect(rows, points, *alone, index);
      frame.uncertainty = grid().uncertainty(main_.belief);
    }
    return frame;
  }

  bool has_converged() const { return converged_ >= 0 && uncertainty() <= parameters_.max_uncertainty; }

  RigRepair result() const {
    RigRepair result;
    result.rig = rig_;
    result.frames = frames_;
    result.points = main_.points;
    result.drifts = drifts_;
    if (frames_ == 0) {
      result.verdict = RepairVerdict::unmatched;
      result.sentence = "Not repaired: no points were found. " + unmatched_;
      return result;
    }
    describe_changes(result);
    const Rows rows(rig_, accepted_points_);
    const std::vector<double> after = rows.at(main_.belief.mean);
    const std::vector<bool> agrees = agreeing(after);
    result.rows_before = rows_off_95(rows.at({}), accepted_points_, agrees);
    result.rows_after = rows_off_95(after, accepted_points_, agrees);
    result.uncertainty = uncertainty();
    result.converged = has_converged() ? converged_ : -1;
    judge(result);
    if (result.repaired()) result.rig = changed(rig_, main_.belief.mean);
    return result;
  }

 private:
  struct Pending {
    Fit fit;
    int first = 0, frames = 0;
  };

  KeptLeft rectification(const Rig& rig) const {
    return parameters_.keep_left ? keep_left(rig) : KeptLeft{rig, rectify(rig)};
  }
  Sight look_with(const Rig& rig, const StereoPair& pictures) const {
    const KeptLeft kept = rectification(rig);
    return look(kept.rig, kept.rectification, pictures, parameters_.check);
  }

  void check_pictures(const StereoPair& pictures) const {
    check_image("left image", pictures.left);
    check_image("right image", pictures.right);
    const auto check_size_of = [](const char* which, const ImageView& image, const Camera& camera) {
      if (image.format.size != camera.size)
        refuse(std::string(which) + " is " + text(image.format.size) + ", its camera takes " +
               text(camera.size) + ": give pictures and rig of one size");
    };
    check_size_of("left image", pictures.left, rig_.left);
    check_size_of("right image", pictures.right, rig_.right);
    if (pictures.left.format.depth != pictures.right.format.depth)
      refuse("left and right image differ in depth: give two of one depth");
  }

  // Measures the nearest disparity of the scene, and how its points are spread.
  void measure(std::span<const PointPair> points, const Values& values) {
    const std::vector<Rectified> places = repair::rectified(changed(rig_, values), points);
    std::vector<double> disparities;
    for (const Rectified& place : places) disparities.push_back(place.disparity);
    flat_ = (frames_ == 0 || flat_) && in_one_plane(places);
    near_ = std::max(near_, rows::quantile(disparities, 0.99));
  }
  bool all_far() const { return near_ < far_share * rig_.left.size.width; }

  Grid grid() const {
    return Grid(rig_, main_.belief.mean, std::max(near_, nearest_share * rig_.left.size.width));
  }
  double uncertainty() const { return grid().uncertainty(main_.belief); }
  double difference(const Belief& a, const Belief& b) const {
    const double rows = grid().difference(a, b);
    return rows > disagrees ? rows : 0;
  }

  // Adds a frame to the belief.
  void take(const Rows& rows, std::span<const PointPair> points, int index, FrameRepair& frame) {
    const Values known = main_.belief.mean;
    std::optional<Fit> next = fit(rows, points, main_.belief);
    if (!next) return;
    next->points += main_.points;
    main_ = *next;
    accepted_points_.assign(points.begin(), points.end());
    const Grid rows_grid = grid();
    frame.moved = rows_grid.difference(main_.belief.mean, known);
    frame.uncertainty = rows_grid.uncertainty(main_.belief);
    ++frames_;
    if (frame.moved > settled && frames_ > 1) converged_ = -1;
    if (frame.moved <= settled && converged_ < 0) converged_ = index;
  }

  // Handles a frame that does not agree: if three consecutive frames agree with each other, the cameras have
  // moved.
  void suspect(const Rows& rows, std::span<const PointPair> points, const Fit& alone, int index) {
    if (pending_.frames > 0 && difference(alone.belief, pending_.fit.belief) == 0) {
      if (const std::optional<Fit> next = fit(rows, points, pending_.fit.belief)) {
        const int known = pending_.fit.points;
        pending_.fit = *next;
        pending_.fit.points += known;
        ++pending_.frames;
      }
    } else {
      pending_ = {alone, index, 1};
    }
    if (pending_.frames < frames_of_drift) return;
    drifts_.push_back({pending_.first, grid().difference(pending_.fit.belief.mean, main_.belief.mean)});
    main_ = pending_.fit;
    frames_ = pending_.frames;
    accepted_points_.assign(points.begin(), points.end());
    converged_ = index;
    pending_ = {};
  }

  void describe_changes(RigRepair& result) const {
    const Values& values = main_.belief.mean;
    const auto factor = Factor::of(main_.belief.information, min_pivot);
    const auto value = [&](Unknown unknown, double unit) {
      const auto k = static_cast<std::size_t>(unknown);
      if (before_.kept[k] || !factor) return RepairedValue{};
      const double deviation = std::sqrt(factor->inverse_diagonal(unknown)),
                   before = 1 / std::sqrt(before_.information[k][k]);
      return RepairedValue{unit * values[k], unit * deviation, deviation < 0.5 * before};
    };
    result.rotation = {value(turn_x, degrees), value(turn_y, degrees), value(turn_z, degrees)};
    result.down = value(down, degrees);
    result.forward = value(forward, degrees);
    result.focal_ratio = value(ratio, 1);
    result.principal_row = value(row, 1);
    result.distortion = value(bend, 1);
    result.decentring = value(decentre, 1);
  }

  void judge(RigRepair& result) const {
    const std::string points = std::to_string(result.points) + " points";
    const std::string rows = "rows are off by " + with_decimals(result.rows_before, 2) +
                             " px at 95 % of the points by the given rig, by " +
                             with_decimals(result.rows_after, 2) + " px by the repaired one";
    if (result.points < min_points) {
      result.verdict = RepairVerdict::too_few;
      result.sentence =
          "Not repaired: " + points + " are too few: give more pairs, or a scene with more texture.";
    } else if (result.uncertainty > parameters_.max_uncertainty) {
      result.verdict = RepairVerdict::not_held;
      result.sentence = "Not repaired: " + cause_of_uncertainty() + ", so rows would be uncertain by " +
                        with_decimals(result.uncertainty, 2) +
                        " px: give more pairs, with near and far things all over the picture.";
    } else if (result.rows_after > parameters_.check.max_rows_off &&
               result.rows_after > not_better_than * result.rows_before) {
      result.verdict = RepairVerdict::not_better;
      result.sentence = "Not repaired: " + rows + ": calibrate the cameras again.";
    } else {
      result.verdict = RepairVerdict::repaired;
      result.sentence = "Repaired from " + points + ": " + rows + ".";
    }
    for (const Drift& drift : drifts_)
      result.sentence += " The cameras moved at frame " + std::to_string(drift.frame) + ", rows by up to " +
                         with_decimals(drift.rows, 2) + " px.";
    if (pending_.frames > 0)
      result.sentence +=
          " The last frames, from " + std::to_string(pending_.first) + " on, do not agree with those before.";
  }

  std::string cause_of_uncertainty() const {
    if (all_far()) return "all points are far away and do not determine the direction of the baseline";
    if (flat_) return "all points lie in one plane and do not determine the direction of the baseline";
    return "the points do not determine the rows all over the picture";
  }

  Rig rig_;
  RepairParameters parameters_;
  Belief before_;
  Fit main_;
  Pending pending_;
  std::vector<PointPair> accepted_points_, last_points_;
  std::vector<Drift> drifts_;
  std::string unmatched_;
  double near_ = 0;
  bool flat_ = false;
  int seen_ = 0, frames_ = 0, converged_ = -1;
};

RepairParameters RepairParameters::uncalibrated(Size size) {
  RepairParameters parameters;
  parameters.rotation = 6;
  parameters.direction = 6;
  parameters.focal_ratio = 0.05;
  parameters.principal_row = 0.05 * size.height;
  parameters.distortion = 0.02;
  parameters.decentring = 0.005;
  return parameters;
}

void RepairParameters::validate() const {
  check_range("rotation", rotation, 0.0, 45.0);
  check_range("direction", direction, 0.0, 45.0);
  check_range("focal_ratio", focal_ratio, 0.0, 0.5);
  check_range("principal_row", principal_row, 0.0, 10000.0);
  check_range("distortion", distortion, 0.0, 1.0);
  check_range("decentring", decentring, 0.0, 1.0);
  check_range("max_uncertainty", max_uncertainty, 0.001, 100.0);
  check.validate();
}

const char* name(RepairVerdict verdict) {
  constexpr const char* names[] = {"repaired", "unmatched", "too_few", "not_held", "not_better"};
  return names[static_cast<std::size_t>(verdict)];
}

RigRepairer::RigRepairer(const Rig& rig, const RepairParameters& parameters) {
  if (turns_of(rig).left != 0)
    refuse(
        "the cameras are above each other, or the left one is upside down, which a repair does not support");
  const DefaultFloatingPoint environment;
  estimator_ = std::make_unique<Estimator>(rig, parameters);
}
RigRepairer::~RigRepairer() = default;
RigRepairer::RigRepairer(RigRepairer&&) noexcept = default;
RigRepairer& RigRepairer::operator=(RigRepairer&&) noexcept = default;

FrameRepair RigRepairer::add(const StereoPair& pictures) {
  const DefaultFloatingPoint environment;
  return estimator_->add(pictures);
}

FrameRepair RigRepairer::add(std::span<const PointPair> points) {
  const DefaultFloatingPoint environment;
  return estimator_->add(points);
}

RigRepair RigRepairer::result() const {
  const DefaultFloatingPoint environment;
  return estimator_->result();
}

bool RigRepairer::has_converged() const {
  const DefaultFloatingPoint environment;
  return estimator_->has_converged();
}

RigRepair repair_rig(const Rig& rig, const StereoPair& pictures, const RepairParameters& parameters) {
  RigRepairer repairer(rig, parameters);
  repairer.add(pictures);
  return repairer.result();
}

RigRepair repair_rig(const Rig& rig, std::span<const PointPair> points, const RepairParameters& parameters) {
  RigRepairer repairer(rig, parameters);
  repairer.add(points);
  return repairer.result();
}

}  // namespace parallax
