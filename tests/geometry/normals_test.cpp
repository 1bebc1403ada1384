// SPDX-License-Identifier: Apache-2.0
// Normals of planes are exact up to the precision of floats, also beside jumps and borders.
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "parallax/geometry.h"

#include "support.h"

namespace parallax {
namespace {

constexpr float no_disparity = std::numeric_limits<float>::infinity();

Calibration wide_rig() {
  Calibration calibration;
  calibration.focal = 300;
  calibration.centre_x = 17.5;
  calibration.centre_y = 9;
  calibration.doffs = 6;
  calibration.baseline = 0.2;
  return calibration;
}

// The plane n·P = −distance, whose normal looks towards the camera.
struct SpacePlane {
  std::array<double, 3> normal;
  double distance;

  float disparity(int x, int y) const {
    const Calibration c = wide_rig();
    const double along =
        normal[0] * (x - c.centre_x) + normal[1] * (y - c.centre_y) + normal[2] * c.focal;  // n·P·f / Z
    return static_cast<float>(-along * c.baseline / distance - c.doffs);
  }
};

const SpacePlane front{{0, 0, -1}, 4}, slanted{{0.6, 0, -0.8}, 2}, floor{{-0.28, -0.672, -0.6856}, 1.5},
    steep{{-0.2, -0.96, -0.196}, 0.11};

constexpr Size map_size{40, 24};

// A map of disparity_at(x, y).
template <class DisparityAt>
Plane<float> map_of(const DisparityAt& disparity_at) {
  Plane<float> disparity(map_size);
  for (int y = 0; y < map_size.height; ++y)
    for (int x = 0; x < map_size.width; ++x) disparity.at(x, y) = disparity_at(x, y);
  return disparity;
}

Normal normal_in(const std::vector<float>& normals, int x, int y) {
  const auto at = static_cast<std::size_t>(3 * (y * map_size.width + x));
  return {normals[at], normals[at + 1], normals[at + 2]};
}

std::vector<float> normals_of(const Plane<float>& disparity) {
  std::vector<float> normals(3 * map_size.pixels(), -9);
  normal_map(wide_rig(), disparity.view(),
             View<float>(normals.data(), {3 * map_size.width, map_size.height}));
  return normals;
}

void expect_normal(const Normal& normal, const SpacePlane& plane, int x, int y) {
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(normal[i], plane.normal[i], 2e-4) << "component " << i << " at " << x << ", " << y;
}

TEST(NormalsTest, APlaneInSpaceHasOneNormal) {
  for (const SpacePlane& plane : {front, slanted, floor}) {
    const Plane<float> disparity = map_of([&](int x, int y) { return plane.disparity(x, y); });
    const std::vector<float> normals = normals_of(disparity);
    for (int y = 0; y < map_size.height; ++y)
      for (int x = 0; x < map_size.width; ++x) expect_normal(normal_in(normals, x, y), plane, x, y);
  }
}

// Its disparities change by 1.7 px from row to row: at the upper and the lower border, nothing tells that
// from a jump.
TEST(NormalsTest, ASteepPlaneIsNoJump) {
  const Plane<float> disparity = map_of([&](int x, int y) { return steep.disparity(x, y); });
  const std::vector<float> normals = normals_of(disparity);
  for (int y = 1; y + 1 < map_size.height; ++y)
    for (int x = 0; x < map_size.width; ++x) expect_normal(normal_in(normals, x, y), steep, x, y);
}

TEST(NormalsTest, AJumpSeparatesSurfaces) {
  const Plane<float> disparity =
      map_of([&](int x, int y) { return x < 20 ? slanted.disparity(x, y) + 30 : floor.disparity(x, y); });
  const std::vector<float> normals = normals_of(disparity);
  for (int y = 0; y < map_size.height; ++y)
    for (int x = 20; x < map_size.width; ++x) expect_normal(normal_in(normals, x, y), floor, x, y);
}

TEST(NormalsTest, PixelsWithoutADepthHaveNoneAndDisturbNoOther) {
  const Plane<float> disparity =
      map_of([&](int x, int y) { return (x + 2 * y) % 5 == 0 ? no_disparity : floor.disparity(x, y); });
  const std::vector<float> normals = normals_of(disparity);
  for (int y = 0; y < map_size.height; ++y)
    for (int x = 0; x < map_size.width; ++x)
      if (disparity.at(x, y) == no_disparity)
        EXPECT_EQ(normal_in(normals, x, y), Normal{});
      else
        expect_normal(normal_in(normals, x, y), floor, x, y);
}

// A lone pixel looks like a surface of one disparity.
TEST(NormalsTest, ALonePixelHasANormal) {
  Plane<float> disparity(map_size, no_disparity);
  disparity.at(17, 9) = 10;
  const Normal normal = normal_in(normals_of(disparity), 17, 9);
  EXPECT_EQ(normal, (Normal{0, 0, -1}));
}

TEST(NormalsTest, CloudsAndMeshesHaveThemWhereAsked) {
  const Plane<float> disparity =
      map_of([&](int x, int y) { return x == 7 ? no_disparity : floor.disparity(x, y); });
  const Plane<std::uint8_t> left(map_size);
  EXPECT_EQ(point_cloud(wide_rig(), disparity.view(), left.view()).front().normal, Normal{});
  const std::vector<Point> cloud = point_cloud(wide_rig(), disparity.view(), left.view(), {}, true);
  ASSERT_EQ(cloud.size(), map_size.pixels() - static_cast<std::size_t>(map_size.height));
  for (const Point& point : cloud) expect_normal(point.normal, floor, 0, 0);
  const std::vector<Point> organised = organised_cloud(wide_rig(), disparity.view(), left.view(), {}, true);
  EXPECT_EQ(organised[7].normal, Normal{});
  expect_normal(organised[8].normal, floor, 8, 0);
  MeshParameters parameters;
  EXPECT_EQ(mesh(wide_rig(), disparity.view(), left.view(), parameters).vertices.front().normal, Normal{});
  parameters.normals = true;
  const Mesh surface = mesh(wide_rig(), disparity.view(), left.view(), parameters);
  ASSERT_FALSE(surface.vertices.empty());
  for (const Point& vertex : surface.vertices) expect_normal(vertex.normal, floor, 0, 0);
}

TEST(NormalsTest, SizesMustAgree) {
  const Plane<float> disparity({4, 2});
  Plane<float> normals({4, 2});
  test::expect_refused([&] { normal_map(wide_rig(), disparity.view(), normals.view()); }, "normals");
}

}  // namespace
}  // namespace parallax
