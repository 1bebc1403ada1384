// SPDX-License-Identifier: Apache-2.0
#include "geometry/lens.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/length.h"
#include "geometry/matrix.h"

namespace parallax {
namespace {

using Coefficients = std::array<double, 14>;

// A value and its derivative.
struct Slope {
  double value, derivative;
};

Slope polynomial(double u, double a, double b, double c) {
  return {1 + u * (a + u * (b + u * c)), a + u * (2 * b + u * 3 * c)};
}

// The rational radial factor of u = r²: (1 + k1 u + k2 u² + k3 u³) / (1 + k4 u + k5 u² + k6 u³). Brown (1966)
// has the numerator. Empty from the denominator's first root on.
Slope radial_factor(const Coefficients& k, double u) {
  const Slope above = polynomial(u, k[0], k[1], k[4]), below = polynomial(u, k[5], k[6], k[7]);
  if (!(below.value > 0)) return {0, -1};
  const double value = above.value / below.value;
  return {value, (above.derivative - value * below.derivative) / below.value};
}

// Kannala and Brandt (2006): the distance from the principal point at which a ray ends, by its angle to the
// axis: θ (1 + k1 θ² + k2 θ⁴ + k3 θ⁶ + k4 θ⁸).
Slope equidistant_radius(const Coefficients& k, double angle) {
  const double u = angle * angle;
  return {angle * (1 + u * (k[0] + u * (k[1] + u * (k[2] + u * k[3])))),
          1 + u * (3 * k[0] + u * (5 * k[1] + u * (7 * k[2] + u * 9 * k[3])))};
}

// The coefficients of Brown's model: the omnidirectional one has ξ before them, and the spheres have none.
Coefficients bending_of(const Camera& camera) {
  const Coefficients& k = camera.distortion;
  if (camera.model == LensModel::radial_tangential) return k;
  if (camera.model == LensModel::omnidirectional) return {k[1], k[2], k[3], k[4]};
  return {};
}

// Mei and Rives (2007): the point on the unit sphere, seen from ξ behind its centre.
struct Omnidirectional {
  double xi;

  std::optional<Position> project(double x, double y, double z, double length) const {
    const double depth = z / length + xi;
    // Where ξ is above 1, rays farther back end where others do.
    if (!(depth > 0) || (xi > 1 && !(z * xi > -length))) return std::nullopt;
    return Position{x / length / depth, y / length / depth};
  }
  std::optional<Vector3> ray(double x, double y) const {
    const double u = x * x + y * y, below = 1 + (1 - xi * xi) * u;
    if (!(below >= 0)) return std::nullopt;
    const double factor = (xi + std::sqrt(below)) / (u + 1);
    return Vector3{factor * x, factor * y, factor - xi};
  }
};

// The inclination up to which a sphere's rays are seen, in the notation of both papers.
double first_weight(double alpha) {
  return alpha > 0.5 ? (1 - alpha) / alpha : alpha / (1 - alpha);
}

// Usenko et al. (2018), equations 40 to 46.
struct DoubleSphere {
  double xi, alpha;

  std::optional<Position> project(double x, double y, double z, double length) const {
    const double w1 = first_weight(alpha), w2 = (w1 + xi) / std::sqrt(2 * w1 * xi + xi * xi + 1);
    if (!(z > -w2 * length)) return std::nullopt;
    const double moved = xi * length + z, second = std::sqrt(x * x + y * y + moved * moved);
    const double depth = alpha * second + (1 - alpha) * moved;
    if (!(depth > 0)) return std::nullopt;
    return Position{x / depth, y / depth};
  }
  std::optional<Vector3> ray(double x, double y) const {
    const double u = x * x + y * y, root = 1 - (2 * alpha - 1) * u;
    if (!(root >= 0)) return std::nullopt;
    const double z = (1 - alpha * alpha * u) / (alpha * std::sqrt(root) + 1 - alpha);
    const double below = z * z + (1 - xi * xi) * u;
    if (!(below >= 0)) return std::nullopt;
    const double factor = (z * xi + std::sqrt(below)) / (z * z + u);
    return Vector3{factor * x, factor * y, factor * z - xi};
  }
};

// Khomutenko et al. (2016), in the notation of Usenko et al., equations 23 to 29.
struct ExtendedUnified {
  double alpha, beta;

  std::optional<Position> project(double x, double y, double z) const {
    const double distance = std::sqrt(beta * (x * x + y * y) + z * z);
    const double depth = alpha * distance + (1 - alpha) * z;
    if (!(z > -first_weight(alpha) * distance) || !(depth > 0)) return std::nullopt;
    return Position{x / depth, y / depth};
  }
  std::optional<Vector3> ray(double x, double y) const {
    const double u = beta * (x * x + y * y), root = 1 - (2 * alpha - 1) * u;
    if (!(root >= 0)) return std::nullopt;
    return Vector3{x, y, (1 - alpha * alpha * u) / (alpha * std::sqrt(root) + 1 - alpha)};
  }
};

// Whether rays with a slightly larger inclination end farther out.
bool grows(const Camera& camera, double inclination) {
  if (camera.model == LensModel::equidistant)
    return equidistant_radius(camera.distortion, inclination).derivative > 0;
  const double u = inclination * inclination;
  const Slope factor = radial_factor(bending_of(camera), u);
  return factor.value + 2 * u * factor.derivative > 0;
}

// The inclination up to which rays end farther out the more they are inclined.
double find_limit(const Camera& camera) {
  constexpr int steps = 4096;
  const bool is_angle = camera.model == LensModel::equidistant;
  const double largest = is_angle ? std::numbers::pi : std::numbers::pi / 2;
  const auto inclination = [&](double step) {
    const double angle = largest * step / steps;
    return is_angle ? angle : std::tan(angle);
  };
  for (int step = 1; step < steps; ++step) {
    if (grows(camera, inclination(step))) continue;
    double growing = inclination(step - 1), turned = inclination(step);
    for (int halving = 0; halving < 60; ++halving) {
      const double middle = (growing + turned) / 2;
      (grows(camera, middle) ? growing : turned) = middle;
    }
    return growing;
  }
  return inclination(steps - 1);
}

// OpenCV's model of a sensor that is tilted by τx and τy: with R = Ry(τy) Rx(τx),
//   [ R33   0  −R13 ]
//   [  0   R33 −R23 ] R.
//   [  0    0    1  ]
Matrix3 tilt_of(const Coefficients& k) {
  const double cx = std::cos(k[12]), sx = std::sin(k[12]), cy = std::cos(k[13]), sy = std::sin(k[13]);
  const Matrix3 about_x = {1, 0, 0, 0, cx, sx, 0, -sx, cx}, about_y = {cy, 0, -sy, 0, 1, 0, sy, 0, cy};
  const Matrix3 rotation = about_y * about_x;
  const Matrix3 onto_plane = {rotation[8], 0, -rotation[2], 0, rotation[8], -rotation[5], 0, 0, 1};
  return onto_plane * rotation;
}

// Brown (1966, 1971) with OpenCV's extensions, before the tilt: the distorted position of (x, y) and its
// derivatives.
//   x' = x f(r²) + 2 p1 x y + p2 (r² + 2 x²) + s1 r² + s2 r⁴
//   y' = y f(r²) + p1 (r² + 2 y²) + 2 p2 x y + s3 r² + s4 r⁴
struct Bent {
  double x, y;
  double xx, xy, yx, yy;  // xy: of x' by y
};

Bent bend_radial_tangential(const Coefficients& k, const Position& plane) {
  const auto [x, y] = plane;
  const double p1 = k[2], p2 = k[3], u = x * x + y * y;
  const Slope f = radial_factor(k, u);
  const double prism_x = k[8] + 2 * k[9] * u, prism_y = k[10] + 2 * k[11] * u;
  return {.x = x * f.value + 2 * p1 * x * y + p2 * (u + 2 * x * x) + u * (k[8] + u * k[9]),
          .y = y * f.value + p1 * (u + 2 * y * y) + 2 * p2 * x * y + u * (k[10] + u * k[11]),
          .xx = f.value + 2 * x * x * f.derivative + 2 * p1 * y + 6 * p2 * x + 2 * x * prism_x,
          .xy = 2 * x * y * f.derivative + 2 * p1 * x + 2 * p2 * y + 2 * y * prism_x,
          .yx = 2 * x * y * f.derivative + 2 * p1 * x + 2 * p2 * y + 2 * x * prism_y,
          .yy = f.value + 2 * y * y * f.derivative + 6 * p1 * y + 2 * p2 * x + 2 * y * prism_y};
}

// Positions closer than this are equal: about 1e-9 pixels.
constexpr double converged = 1e-12;

// Newton's method; steps are halved until they reduce the distance. Empty if it does not converge within the
// limit.
std::optional<Position> unbend_radial_tangential(const Coefficients& k, const Position& target,
                                                 double limit) {
  const double radius = detail::length_of(target[0], target[1]);
  const double start = radius > 0.9 * limit ? 0.9 * limit / radius : 1;
  Position plane = {start * target[0], start * target[1]};
  Bent bent = bend_radial_tangential(k, plane);
  const auto error_of = [&](const Bent& b) { return detail::length_of(b.x - target[0], b.y - target[1]); };
  for (double error = error_of(bent); error > converged * (1 + radius);) {
    const double determinant = bent.xx * bent.yy - bent.xy * bent.yx;
    const double ex = bent.x - target[0], ey = bent.y - target[1];
    const Position step = {(bent.yy * ex - bent.xy * ey) / determinant,
                           (bent.xx * ey - bent.yx * ex) / determinant};
    bool closer = false;
    for (double share = 1; !closer && share > 1e-6; share /= 2) {
      const Position next = {plane[0] - share * step[0], plane[1] - share * step[1]};
      const Bent there = bend_radial_tangential(k, next);
      closer = detail::length_of(next[0], next[1]) <= limit && error_of(there) < error;
      if (closer) plane = next, bent = there;
    }
    if (!closer) return std::nullopt;
    error = error_of(bent);
  }
  return plane;
}

// The angle of the ray that ends at this distance from the principal point: Newton's method, kept between
// bounds.
std::optional<double> equidistant_angle(const Coefficients& k, double radius, double limit) {
  double low = 0, high = limit;
  if (!(radius <= equidistant_radius(k, limit).value)) return std::nullopt;
  double angle = std::min(radius, limit);
  for (int step = 0; step < 100; ++step) {
    const Slope there = equidistant_radius(k, angle);
    const double error = there.value - radius;
    if (std::abs(error) <= converged) break;
    (error > 0 ? high : low) = angle;
    angle -= error / there.derivative;
    if (!(angle > low && angle < high)) angle = (low + high) / 2;
  }
  return angle;
}

}  // namespace

Lens::Lens(const Camera& camera)
    : camera_(camera),
      bending_(bending_of(camera)),
      tilt_(tilt_of(bending_)),
      tilt_back_(inverse(tilt_)),
      limit_(find_limit(camera)) {}

Position Lens::apply(const Matrix3& homography, const Position& position) const {
  const Vector3 image = homography * Vector3{position[0], position[1], 1};
  return {image[0] / image[2], image[1] / image[2]};
}

Position Lens::bend(const Position& plane) const {
  const Bent bent = bend_radial_tangential(bending_, plane);
  return tilts() ? apply(tilt_, {bent.x, bent.y}) : Position{bent.x, bent.y};
}

std::optional<Position> Lens::straighten(const Position& bent) const {
  return unbend_radial_tangential(bending_, tilts() ? apply(tilt_back_, bent) : bent, limit_);
}

std::optional<Vector3> Lens::unit_ray(const Position& bent) const {
  const Coefficients& k = camera_.distortion;
  if (camera_.model == LensModel::double_sphere) return DoubleSphere{k[0], k[1]}.ray(bent[0], bent[1]);
  if (camera_.model == LensModel::extended_unified) return ExtendedUnified{k[0], k[1]}.ray(bent[0], bent[1]);
  const std::optional<Position> plane = straighten(bent);
  if (!plane) return std::nullopt;
  return Omnidirectional{k[0]}.ray((*plane)[0], (*plane)[1]);
}

std::optional<Position> Lens::project(const Vector3& ray) const {
  const auto [x, y, z] = ray;
  const double across = detail::length_of(x, y);
  const Coefficients& k = camera_.distortion;
  Position bent;
  if (camera_.model >= LensModel::omnidirectional) {
    const double distance = length(ray);
    if (!(distance > 0)) return std::nullopt;
    const bool is_double = camera_.model == LensModel::double_sphere;
    const std::optional<Position> plane = camera_.model == LensModel::omnidirectional
                                              ? Omnidirectional{k[0]}.project(x, y, z, distance)
                                          : is_double ? DoubleSphere{k[0], k[1]}.project(x, y, z, distance)
                                                      : ExtendedUnified{k[0], k[1]}.project(x, y, z);
    if (!plane || !(detail::length_of((*plane)[0], (*plane)[1]) <= limit_)) return std::nullopt;
    bent = camera_.model == LensModel::omnidirectional ? bend(*plane) : *plane;
  } else if (camera_.model == LensModel::equidistant) {
    const double angle = std::atan2(across, z);
    if (!(angle <= limit_) || (across == 0 && !(z > 0))) return std::nullopt;
    const double factor = across == 0 ? 0 : equidistant_radius(camera_.distortion, angle).value / across;
    bent = {factor * x, factor * y};
  } else {
    if (!(z > 0) || !(across <= limit_ * z)) return std::nullopt;
    bent = bend({x / z, y / z});
  }
  return Position{camera_.focal_x * bent[0] + camera_.centre_x, camera_.focal_y * bent[1] + camera_.centre_y};
}

std::optional<Vector3> Lens::ray(const Position& position) const {
  const Position bent = {(position[0] - camera_.centre_x) / camera_.focal_x,
                         (position[1] - camera_.centre_y) / camera_.focal_y};
  if (camera_.model == LensModel::equidistant) {
    const double radius = detail::length_of(bent[0], bent[1]);
    const std::optional<double> angle = equidistant_angle(camera_.distortion, radius, limit_);
    if (!angle) return std::nullopt;
    const double factor = radius == 0 ? 0 : std::sin(*angle) / radius;
    return Vector3{factor * bent[0], factor * bent[1], std::cos(*angle)};
  }
  if (camera_.model >= LensModel::omnidirectional) {
    const std::optional<Vector3> ray = unit_ray(bent);
    // The equations have solutions beyond the rays that the lens brings into the image.
    if (!ray || !project(*ray)) return std::nullopt;
    return scaled(*ray, 1 / length(*ray));
  }
  const std::optional<Position> plane = straighten(bent);
  if (!plane) return std::nullopt;
  const Vector3 ray = {(*plane)[0], (*plane)[1], 1};
  return scaled(ray, 1 / length(ray));
}

}  // namespace parallax
