// SPDX-License-Identifier: Apache-2.0
#include "check/faulty_pair.h"

#include <algorithm>
#include <cmath>

namespace parallax {
namespace {

std::uint64_t scramble(std::uint64_t v) {
  v += 0x9e3779b97f4a7c15u;
  v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9u;
  v = (v ^ (v >> 27)) * 0x94d049bb133111ebu;
  return v ^ (v >> 31);
}

double unit(std::uint64_t v) {
  return static_cast<double>(scramble(v) >> 11) * 0x1p-53;
}

double random_at(std::uint64_t seed, int x, int y, std::uint64_t picture) {
  return unit(seed * 977 + picture +
              4 * (static_cast<std::uint64_t>(y) * 65536 + static_cast<std::uint64_t>(x)));
}

// Value noise, smooth in its second derivatives, too.
double noise(std::uint64_t seed, double x, double y, double spacing) {
  const double column = std::floor(x / spacing), row = std::floor(y / spacing);
  const auto ease = [](double t) { return t * t * t * (t * (6 * t - 15) + 10); };
  const double u = ease(x / spacing - column), v = ease(y / spacing - row);
  const auto value = [&](int i, int j) {
    const auto cell = (static_cast<std::int64_t>(column) + i) * 1000003 + static_cast<std::int64_t>(row) + j;
    return unit(seed ^ scramble(static_cast<std::uint64_t>(cell)));
  };
  return (value(0, 0) * (1 - u) + value(1, 0) * u) * (1 - v) + (value(0, 1) * (1 - u) + value(1, 1) * u) * v;
}

double texture(std::uint64_t seed, double x, double y) {
  return 30 + 195 * (0.5 * noise(seed, x, y, 5) + 0.3 * noise(seed + 7, x, y, 11) +
                     0.2 * noise(seed + 9, x, y, 37));
}

using Vector3d = std::array<double, 3>;
using Matrix = std::array<Vector3d, 3>;

Matrix times(const Matrix& a, const Matrix& b) {
  Matrix product{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      for (std::size_t k = 0; k < 3; ++k) product[i][j] += a[i][k] * b[k][j];
  return product;
}

}  // namespace

FaultyPair::FaultyPair(Size size, std::uint64_t seed, const Faults& faults)
    : size_(size), faults_(faults), seed_(seed), left_(size), right_(size) {
  make_scene();
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      left_.at(x, y) = level(texture(nearest(x, y)->texture, x, y), 1, 0, random_at(seed, x, y, 1));
      right_.at(x, y) = level(seen_by_right(x, y), faults.gain, faults.offset, random_at(seed, x, y, 2));
    }
}

void FaultyPair::make_scene() {
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

const FaultyPair::Surface* FaultyPair::nearest(double x, double y) const {
  const Surface* best = nullptr;
  for (const Surface& surface : surfaces_)
    if (surface.covers(x, y) && (best == nullptr || surface.disparity(x, y) > best->disparity(x, y)))
      best = &surface;
  return best;
}

std::uint8_t FaultyPair::level(double value, double gain, double offset, double random) const {
  const double with_noise = gain * value + offset + faults_.noise * (2 * random - 1);
  return static_cast<std::uint8_t>(std::clamp(std::floor(with_noise + 0.5), 0.0, 255.0));
}

// Rotates from the left camera's axes to the right one's.
std::array<FaultyPair::Vector, 3> FaultyPair::rotation() const {
  const double cr = std::cos(faults_.roll), sr = std::sin(faults_.roll), cp = std::cos(faults_.pitch),
               sp = std::sin(faults_.pitch), cy = std::cos(faults_.yaw), sy = std::sin(faults_.yaw);
  const Matrix roll = {{{cr, -sr, 0}, {sr, cr, 0}, {0, 0, 1}}},
               pitch = {{{1, 0, 0}, {0, cp, sp}, {0, -sp, cp}}},
               yaw = {{{cy, 0, sy}, {0, 1, 0}, {-sy, 0, cy}}};
  return times(roll, times(pitch, yaw));
}

std::array<double, 2> FaultyPair::true_position(double x, double y) const {
  const double z = focal() / true_disparity(x, y);  // the baseline is the unit of length
  const std::array<Vector, 3> r = rotation();
  const Vector c = right_camera();
  const Vector from = {(x - centre_x()) * z / focal() - c[0], (y - centre_y()) * z / focal() - c[1],
                       z - c[2]};
  Vector p;
  for (std::size_t i = 0; i < 3; ++i) p[i] = r[i][0] * from[0] + r[i][1] * from[1] + r[i][2] * from[2];
  const double u = p[0] / p[2], v = p[1] / p[2],
               f = focal() * faults_.scale * (1 + faults_.distortion * (u * u + v * v));
  return {f * u + centre_x(), f * v + centre_y() + faults_.rows};
}

double FaultyPair::seen_by_right(double column, double row) const {
  const double f = focal() * faults_.scale;
  const double xd = (column - centre_x()) / f, yd = (row - faults_.rows - centre_y()) / f;
  double x = xd, y = yd;
  for (int i = 0; i < 8; ++i) {
    const double factor = 1 + faults_.distortion * (x * x + y * y);
    x = xd / factor;
    y = yd / factor;
  }
  const std::array<Vector, 3> r = rotation();
  const Vector c = right_camera();
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
    value = texture(surface.texture, left_x, left_y);
  }
  return value;
}

}  // namespace parallax
