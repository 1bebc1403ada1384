// SPDX-License-Identifier: Apache-2.0
// The steps of a repair: points from pictures, rows as a function of the unknowns, and their estimate.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "parallax/repair.h"

#include "rows/least_squares.h"

namespace parallax::repair {

// The quantities of a rig that a repair may change. Angles are in radians, the baseline's as tangents; ratio,
// row and distortion are added to 1, and to the right camera's centre_y, k1 and p1.
enum Unknown { turn_x, turn_y, turn_z, down, forward, ratio, row, bend, decentre, unknowns };
using Values = rows::Vector<unknowns>;
using Factor = rows::Cholesky<unknowns>;
// Points may hold one combination of unknowns a million times better than another.
inline constexpr double min_pivot = 1e-13;

// The rig with these changes. The right camera turns about its own centre.
Rig changed(const Rig& rig, const Values& values);

// Differences of rows in the rectified pair, right minus left, in pixels of the left camera's focal length.
class Rows {
 public:
  Rows(const Rig& rig, std::span<const PointPair> points);

  std::size_t size() const { return points_.size(); }
  // NaN where a position has no ray.
  std::vector<double> at(const Values& values) const;
  // The derivatives of at().
  std::vector<Values> derivatives(const Values& values, const std::vector<double>& at_values) const;

 private:
  Rig rig_;
  std::vector<PointPair> points_;
  std::vector<std::optional<Vector3>> left_rays_;
};

// A normal distribution of the unknowns: its mean and inverse covariance. Unknowns of deviation 0 stay 0.
struct Belief {
  Values mean{};
  Factor::Matrix information{};
  std::array<bool, unknowns> kept{};
};

Belief belief_before(const Rig& rig, const RepairParameters& parameters);

struct Fit {
  Belief belief;
  int points = 0;  // number of points that agree
};
// The belief after these points; empty if the equations could not be solved.
std::optional<Fit> fit(const Rows& rows, std::span<const PointPair> points, const Belief& before);

// Rows of the rectified pair all over the picture, near and far.
class Grid {
 public:
  // `rig` must be approximately right; disparities are from 0 to `near`, in pixels of the left focal length.
  Grid(const Rig& rig, const Values& values, double near);

  // The maximum difference of rows. With beliefs, only where this is more than 4 standard deviations.
  double difference(const Values& a, const Values& b) const;
  double difference(const Belief& a, const Belief& b) const;
  double uncertainty(const Belief& belief) const;

 private:
  std::vector<Values> derivatives_;
};

// Points of a pair, in the coordinates of the cameras' pictures.
struct Sight {
  PairReport report;
  std::vector<PointPair> points;
};
Sight look(const Rig& rig, const Rectification& rectification, const StereoPair& pictures,
           const CheckParameters& parameters);

// A point in the rectified left picture, in pixels of the left focal length from the principal point.
struct Rectified {
  double x, y, disparity;
};
std::vector<Rectified> rectified(const Rig& rig, std::span<const PointPair> points);

// Whether the points lie in one plane, so that their disparities are a linear function of the position.
bool in_one_plane(const std::vector<Rectified>& points);

}  // namespace parallax::repair
