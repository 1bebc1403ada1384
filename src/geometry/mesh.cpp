// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "core/checks.h"
#include "core/floating_point.h"
#include "geometry/points.h"

namespace parallax {
namespace {

constexpr std::uint32_t no_vertex = std::numeric_limits<std::uint32_t>::max();

// Triangles between pixels, which are counted row by row.
class Triangulation {
 public:
  Triangulation(View<const float> disparity, const PixelPoints& points, double greatest_step);

  Mesh mesh(const PixelPoints& points);

 private:
  std::uint32_t pixel(int x, int y) const {
    return static_cast<std::uint32_t>(y) * static_cast<std::uint32_t>(disparity_.size.width) +
           static_cast<std::uint32_t>(x);
  }
  float disparity(std::uint32_t pixel) const {
    const auto width = static_cast<std::uint32_t>(disparity_.size.width);
    return disparity_.at(static_cast<int>(pixel % width), static_cast<int>(pixel / width));
  }
  double step(std::uint32_t a, std::uint32_t b) const {
    return std::abs(static_cast<double>(disparity(a)) - static_cast<double>(disparity(b)));
  }
  bool present(std::uint32_t pixel) const { return present_[pixel]; }
  void add_square(int x, int y);
  void add_triangle(std::uint32_t a, std::uint32_t b, std::uint32_t c);

  View<const float> disparity_;
  double greatest_step_;
  std::vector<bool> present_;
  std::vector<std::array<std::uint32_t, 3>> triangles_;
};

Triangulation::Triangulation(View<const float> disparity, const PixelPoints& points, double greatest_step)
    : disparity_(disparity), greatest_step_(greatest_step), present_(disparity.size.pixels()) {
  const auto [width, height] = disparity.size;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) present_[pixel(x, y)] = points.exists(x, y);
  for (int y = 0; y + 1 < height; ++y)
    for (int x = 0; x + 1 < width; ++x) add_square(x, y);
}

void Triangulation::add_square(int x, int y) {
  const std::uint32_t a = pixel(x, y), b = pixel(x + 1, y), c = pixel(x, y + 1), d = pixel(x + 1, y + 1);
  const bool rising = present(b) && present(c);   // the diagonal from bottom left to top right is possible
  const bool falling = present(a) && present(d);  // the other one
  if (falling && !(rising && step(b, c) <= step(a, d))) {
    add_triangle(a, c, d);
    add_triangle(a, d, b);
  } else if (rising) {
    add_triangle(a, c, b);
    add_triangle(b, c, d);
  }
}

void Triangulation::add_triangle(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  if (!present(a) || !present(b) || !present(c)) return;
  if (step(a, b) > greatest_step_ || step(b, c) > greatest_step_ || step(c, a) > greatest_step_) return;
  triangles_.push_back({a, b, c});
}

// Numbers the pixels that have triangles.
Mesh Triangulation::mesh(const PixelPoints& points) {
  Mesh result;
  std::vector<std::uint32_t> vertices(present_.size(), no_vertex);
  for (const auto& triangle : triangles_)
    for (const std::uint32_t corner : triangle) vertices[corner] = 0;
  for (int y = 0; y < disparity_.size.height; ++y) {
    for (int x = 0; x < disparity_.size.width; ++x) {
      std::uint32_t& vertex = vertices[pixel(x, y)];
      if (vertex == no_vertex) continue;
      vertex = static_cast<std::uint32_t>(result.vertices.size());
      result.vertices.push_back(*points.at(x, y));
    }
  }
  for (auto& triangle : triangles_)
    for (std::uint32_t& corner : triangle) corner = vertices[corner];
  result.triangles = std::move(triangles_);
  return result;
}

}  // namespace

void MeshParameters::validate() const {
  limits.validate();
  check_not_negative("greatest_step", greatest_step);
}

Mesh mesh(const Calibration& calibration, View<const float> disparity, const ImageView& left,
          const MeshParameters& parameters) {
  const DefaultFloatingPoint environment;
  parameters.validate();
  // PLY counts vertices in ints.
  if (disparity.size.pixels() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    refuse("the disparity map is " + text(disparity.size) +
           ": a mesh has at most 2147483647 pixels, give a part");
  const PixelPoints points(calibration, disparity, left, parameters.limits, parameters.normals);
  return Triangulation(disparity, points, parameters.greatest_step).mesh(points);
}

}  // namespace parallax
