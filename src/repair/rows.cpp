// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "geometry/lens.h"
#include "geometry/matrix.h"
#include "geometry/turn.h"
#include "repair/repair.h"

namespace parallax::repair {
namespace {

Vector3 plus(const Vector3& a, const Vector3& b, double factor) {
  return {a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2]};
}

Vector3 cross(const Vector3& a, const Vector3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

Vector3 unit(const Vector3& v) {
  return scaled(v, 1 / length(v));
}

// The right camera's centre in the left camera's coordinates, with the direction of the baseline changed.
Vector3 moved_centre(const Vector3& centre, double lower, double farther) {
  const Vector3 along = unit(centre);
  const Vector3 downwards = unit(plus({0, 1, 0}, along, -along[1]));
  const Vector3 forwards = cross(along, downwards);
  return scaled(unit(plus(plus(along, downwards, lower), forwards, farther)), length(centre));
}

double product(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t k = 0; k < unknowns; ++k) sum += a[k] * b[k];
  return sum;
}

Values without(Values values, const std::array<bool, unknowns>& kept) {
  for (std::size_t k = 0; k < unknowns; ++k)
    if (kept[k]) values[k] = 0;
  return values;
}

Values minus(const Values& a, const Values& b) {
  Values difference;
  for (std::size_t k = 0; k < unknowns; ++k) difference[k] = a[k] - b[k];
  return difference;
}

}  // namespace

Rig changed(const Rig& rig, const Values& values) {
  Rig result = rig;
  const Vector3 centre = moved_centre(exchanged(rig).translation, values[down], values[forward]);
  result.rotation = rotation_about({values[turn_x], values[turn_y], values[turn_z]}) * rig.rotation;
  result.translation = scaled(result.rotation * centre, -1);
  result.right.focal_x *= 1 + values[ratio];
  result.right.focal_y *= 1 + values[ratio];
  result.right.centre_y += values[row];
  result.right.distortion[0] += values[bend];
  if (values[decentre] != 0) result.right.distortion[2] += values[decentre];
  return result;
}

Rows::Rows(const Rig& rig, std::span<const PointPair> points)
    : rig_(rig), points_(points.begin(), points.end()) {
  const Lens lens(rig.left);
  for (const PointPair& point : points) left_rays_.push_back(lens.ray(point.left));
}

std::vector<double> Rows::at(const Values& values) const {
  const Rig rig = changed(rig_, values);
  const Rotations rotations = turn(rig);
  const Lens lens(rig.right);
  std::vector<double> rows(points_.size(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::optional<Vector3> ray = lens.ray(points_[i].right);
    if (!ray || !left_rays_[i]) continue;
    const Vector3 left = rotations.left * *left_rays_[i], right = rotations.right * *ray;
    if (left[2] > 0 && right[2] > 0) rows[i] = rig.left.focal_y * (right[1] / right[2] - left[1] / left[2]);
  }
  return rows;
}

std::vector<Values> Rows::derivatives(const Values& values, const std::vector<double>& at_values) const {
  constexpr double angle = 1e-5;
  constexpr Values steps = {angle, angle, angle, angle, angle, 1e-5, 1e-2, 1e-5, 1e-5};
  std::vector<Values> result(points_.size());
  for (std::size_t k = 0; k < unknowns; ++k) {
    Values stepped = values;
    stepped[k] += steps[k];
    const std::vector<double> rows = at(stepped);
    for (std::size_t i = 0; i < rows.size(); ++i) result[i][k] = (rows[i] - at_values[i]) / steps[k];
  }
  return result;
}

std::vector<Rectified> rectified(const Rig& rig, std::span<const PointPair> points) {
  const Rotations rotations = turn(rig);
  const Lens left(rig.left), right(rig.right);
  std::vector<Rectified> result;
  const double focal = rig.left.focal_x;
  for (const PointPair& point : points) {
    const std::optional<Vector3> l = left.ray(point.left), r = right.ray(point.right);
    if (!l || !r) continue;
    const Vector3 a = rotations.left * *l, b = rotations.right * *r;
    if (a[2] > 0 && b[2] > 0)
      result.push_back({focal * a[0] / a[2], focal * a[1] / a[2], focal * (a[0] / a[2] - b[0] / b[2])});
  }
  return result;
}

Grid::Grid(const Rig& rig, const Values& values, double near) {
  const Rig current = changed(rig, values);
  const Rotations rotations = turn(current);
  const Lens left(current.left), right(current.right);
  constexpr int steps = 6;
  std::vector<PointPair> points;
  for (int j = 0; j <= steps; ++j)
    for (int i = 0; i <= steps; ++i) {
      const Position at = {static_cast<double>(i) / steps * (rig.left.size.width - 1),
                           static_cast<double>(j) / steps * (rig.left.size.height - 1)};
      const std::optional<Vector3> ray = left.ray(at);
      if (!ray) continue;
      const Vector3 turned = rotations.left * *ray;
      if (!(turned[2] > 0)) continue;
      for (const double disparity : {0.0, near}) {
        const std::optional<Position> seen = right.project(
            transposed(rotations.right) *
            Vector3{turned[0] / turned[2] - disparity / current.left.focal_x, turned[1] / turned[2], 1});
        if (seen && (*seen)[0] >= 0 && (*seen)[0] <= rig.right.size.width - 1 && (*seen)[1] >= 0 &&
            (*seen)[1] <= rig.right.size.height - 1)
          points.push_back({at, *seen});
      }
    }
  const Rows rows(rig, points);
  for (const Values& derivative : rows.derivatives(values, rows.at(values)))
    if (std::isfinite(derivative[turn_x])) derivatives_.push_back(derivative);
}

double Grid::difference(const Values& a, const Values& b) const {
  const Values between = minus(a, b);
  double most = 0;
  for (const Values& derivative : derivatives_) most = std::max(most, std::abs(product(derivative, between)));
  return most;
}

double Grid::difference(const Belief& a, const Belief& b) const {
  constexpr double certain = 4;  // standard deviations
  const auto of_a = Factor::of(a.information, min_pivot), of_b = Factor::of(b.information, min_pivot);
  if (!of_a || !of_b) return 0;
  const Values between = minus(a.mean, b.mean);
  double most = 0;
  for (const Values& derivative : derivatives_) {
    const Values d = without(derivative, a.kept);
    const double variance = product(d, of_a->solve(d)) + product(d, of_b->solve(d));
    const double rows = std::abs(product(d, between));
    if (rows > certain * std::sqrt(variance)) most = std::max(most, rows);
  }
  return most;
}

double Grid::uncertainty(const Belief& belief) const {
  const auto factor = Factor::of(belief.information, min_pivot);
  if (!factor || derivatives_.empty()) return std::numeric_limits<double>::infinity();
  double most = 0;
  for (const Values& derivative : derivatives_) {
    const Values d = without(derivative, belief.kept);
    most = std::max(most, product(d, factor->solve(d)));
  }
  return std::sqrt(most);
}

}  // namespace parallax::repair
