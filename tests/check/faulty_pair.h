// SPDX-License-Identifier: Apache-2.0
// Pairs of two pinhole cameras with known faults. The right view is ray-cast through the exact camera, so that points have
// known positions in it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "parallax/image.h"

namespace parallax {

struct Faults {
  double rows = 0;  // by which the right picture is shifted down, in pixels
  double roll =
      0;  // turns of the right camera, in radians: about the optical axis, clockwise as the picture shows it
  double pitch = 0;       // about the horizontal axis; what it shows moves down
  double yaw = 0;         // about the vertical axis; what it shows moves right
  double scale = 1;       // of the right focal length
  double higher = 0;      // the right camera stands lower by this share of the baseline
  double forward = 0;     // it stands before the left one by this share of the baseline
  double distortion = 0;  // k1 of the right lens
  double noise = 0;       // amplitude of uniform noise in both pictures, in gray levels
  double gain = 1;        // of the right picture
  double offset = 0;
};

class FaultyPair {
 public:
  FaultyPair(Size size, std::uint64_t seed, const Faults& faults)
      : size_(size), faults_(faults), seed_(seed), left_(size), right_(size) {
    make_scene();
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) {
        left_.at(x, y) = level(texture_seen_by_left(x, y), 1, 0, random_at(x, y, 1));
        right_.at(x, y) = level(texture_seen_by_right(x, y), faults.gain, faults.offset, random_at(x, y, 2));
      }
  }

  double focal() const { return 1.2 * size_.width; }
  StereoPair pair() const { return {left_.view(), right_.view()}; }
  Plane<std::uint8_t>& left() { return left_; }
  Plane<std::uint8_t>& right() { return right_; }

  // The disparity without faults of a left position.
  double true_disparity(double x, double y) const { return nearest(x, y)->disparity(x, y); }
  // Where the right picture shows what the left one shows here.
  std::array<double, 2> true_position(double x, double y) const {
    const double f = focal(), z = f / true_disparity(x, y);  // the baseline is the unit of length
    return project({(x - centre_x()) * z / f, (y - centre_y()) * z / f, z});
  }

 private:
  using Vector = std::array<double, 3>;

  // A plane of the disparity a + b·x + c·y inside a rectangle of the left picture.
  struct Surface {
    double a, b, c, left, top, right, bottom;
    std::uint64_t texture;
    double disparity(double x, double y) const { return a + b * x + c * y; }
    bool covers(double x, double y) const { return x >= left && x < right && y >= top && y < bottom; }
  };

  double centre_x() const { return 0.5 * (size_.width - 1); }
  double centre_y() const { return 0.5 * (size_.height - 1); }

  static std::uint64_t scramble(std::uint64_t v) {
    v += 0x9e3779b97f4a7c15u;
    v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9u;
    v = (v ^ (v >> 27)) * 0x94d049bb133111ebu;
    return v ^ (v >> 31);
  }
  static double unit(std::uint64_t v) { return static_cast<double>(scramble(v) >> 11) * 0x1p-53; }
  double random_at(int x, int y, std::uint64_t picture) const {
    return unit(seed_ * 977 + picture +
                4 * (static_cast<std::uint64_t>(y) * 65536 + static_cast<std::uint64_t>(x)));
  }

  void make_scene() {
    std::uint64_t state = seed_ * 7919;
    const auto between = [&](double low, double high) { return low + (high - low) * unit(++state); };
    const double w = size_.width, h = size_.height;
    surfaces_.push_back({0.02 * w, 0.01, 0.02 * w / h, -1e9, -1e9, 1e9, 1e9, ++state});
    for (int i = 0; i < 14; ++i) {
      const double x = between(0.05, 0.95) * w, y = between(0.05, 0.95) * h, half = between(0.05, 0.14) * w;
      const double b = between(-0.04, 0.04), c = between(-0.04, 0.04), d = between(0.04, 0.12) * w;
      surfaces_.push_back({d - b * x - c * y, b, c, x - half, y - half, x + half, y + half, ++state});
    }
  }

  const Surface* nearest(double x, double y) const {
    const Surface* best = nullptr;
    for (const Surface& surface : surfaces_)
      if (surface.covers(x, y) && (best == nullptr || surface.disparity(x, y) > best->disparity(x, y)))
        best = &surface;
    return best;
  }

  static double noise(std::uint64_t seed, double x, double y, double spacing) {
    const double column = std::floor(x / spacing), row = std::floor(y / spacing);
    const auto ease = [](double t) { return t * t * t * (t * (6 * t - 15) + 10); };
    const double u = ease(x / spacing - column), v = ease(y / spacing - row);
    const auto value = [&](int i, int j) {
      const auto cell =
          (static_cast<std::int64_t>(column) + i) * 1000003 + static_cast<std::int64_t>(row) + j;
      return unit(seed ^ scramble(static_cast<std::uint64_t>(cell)));
    };
    return (value(0, 0) * (1 - u) + value(1, 0) * u) * (1 - v) +
           (value(0, 1) * (1 - u) + value(1, 1) * u) * v;
  }
  static double texture(const Surface& surface, double x, double y) {
    return 30 + 195 * (0.5 * noise(surface.texture, x, y, 5) + 0.3 * noise(surface.texture + 7, x, y, 11) +
                       0.2 * noise(surface.texture + 9, x, y, 37));
  }
  double texture_seen_by_left(double x, double y) const { return texture(*nearest(x, y), x, y); }

  std::uint8_t level(double value, double gain, double offset, double random) const {
    const double with_noise = gain * value + offset + faults_.noise * (2 * random - 1);
    return static_cast<std::uint8_t>(std::clamp(std::floor(with_noise + 0.5), 0.0, 255.0));
  }

  // Rows of the rotation from the left camera's axes to the right one's.
  std::array<Vector, 3> rotation() const {
    const double cr = std::cos(faults_.roll), sr = std::sin(faults_.roll), cp = std::cos(faults_.pitch),
                 sp = std::sin(faults_.pitch), cy = std::cos(faults_.yaw), sy = std::sin(faults_.yaw);
    const auto times = [](const std::array<Vector, 3>& a, const std::array<Vector, 3>& b) {
      std::array<Vector, 3> product{};
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 3; ++j)
          for (std::size_t k = 0; k < 3; ++k) product[i][j] += a[i][k] * b[k][j];
      return product;
    };
    const std::array<Vector, 3> roll = {{{cr, -sr, 0}, {sr, cr, 0}, {0, 0, 1}}};
    const std::array<Vector, 3> pitch = {{{1, 0, 0}, {0, cp, sp}, {0, -sp, cp}}};
    const std::array<Vector, 3> yaw = {{{cy, 0, sy}, {0, 1, 0}, {-sy, 0, cy}}};
    return times(roll, times(pitch, yaw));
  }
  Vector camera() const { return {1, faults_.higher, faults_.forward}; }

  std::array<double, 2> project(const Vector& point) const {
    const std::array<Vector, 3> r = rotation();
    const Vector c = camera(), from = {point[0] - c[0], point[1] - c[1], point[2] - c[2]};
    Vector p;
    for (std::size_t i = 0; i < 3; ++i) p[i] = r[i][0] * from[0] + r[i][1] * from[1] + r[i][2] * from[2];
    const double x = p[0] / p[2], y = p[1] / p[2], factor = 1 + faults_.distortion * (x * x + y * y);
    const double f = focal() * faults_.scale;
    return {f * factor * x + centre_x(), f * factor * y + centre_y() + faults_.rows};
  }

  double texture_seen_by_right(double column, double row) const {
    const double f = focal() * faults_.scale;
    const double xd = (column - centre_x()) / f, yd = (row - faults_.rows - centre_y()) / f;
    double x = xd, y = yd;
    for (int i = 0; i < 8; ++i) {
      const double factor = 1 + faults_.distortion * (x * x + y * y);
      x = xd / factor;
      y = yd / factor;
    }
    const std::array<Vector, 3> r = rotation();
    const Vector c = camera();
    Vector ray;
    for (std::size_t i = 0; i < 3; ++i) ray[i] = r[0][i] * x + r[1][i] * y + r[2][i];
    double best = 0, value = 0;
    for (const Surface& surface : surfaces_) {
      // The plane is n · point = focal, because disparity · Z is the focal length.
      const double nx = surface.b * focal(), ny = surface.c * focal(),
                   nz = surface.a + surface.b * centre_x() + surface.c * centre_y();
      const double t =
          (focal() - nx * c[0] - ny * c[1] - nz * c[2]) / (nx * ray[0] + ny * ray[1] + nz * ray[2]);
      const double z = c[2] + t * ray[2];
      if (!(t > 0 && z > 0) || (best > 0 && t >= best)) continue;
      const double left_x = focal() * (c[0] + t * ray[0]) / z + centre_x(),
                   left_y = focal() * (c[1] + t * ray[1]) / z + centre_y();
      if (!surface.covers(left_x, left_y)) continue;
      best = t;
      value = texture(surface, left_x, left_y);
    }
    return value;
  }

  Size size_;
  Faults faults_;
  std::uint64_t seed_;
  std::vector<Surface> surfaces_;
  Plane<std::uint8_t> left_, right_;
};

}  // namespace parallax
