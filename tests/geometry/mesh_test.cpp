// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "parallax/geometry.h"

#include "support.h"

namespace parallax {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

// The principal point is in the middle of 8×6 pixels.
constexpr Calibration rig{.focal = 100, .centre_x = 3.5, .centre_y = 2.5, .baseline = 50};
constexpr Size size{8, 6};

Mesh mesh_of(const Plane<float>& disparity, const MeshParameters& parameters = {}) {
  return mesh(rig, disparity.view(), Plane<std::uint8_t>(disparity.size()).view(), parameters);
}

template <class Value>
Plane<float> disparities(const Value& value) {
  Plane<float> map(size);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) map.at(x, y) = static_cast<float>(value(x, y));
  return map;
}

// The number of triangles at each edge.
std::map<std::pair<std::uint32_t, std::uint32_t>, int> edges_of(const Mesh& mesh) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> edges;
  for (const auto& triangle : mesh.triangles)
    for (std::size_t i = 0; i < 3; ++i) ++edges[std::minmax(triangle[i], triangle[(i + 1) % 3])];
  return edges;
}

int border_edges(const Mesh& mesh) {
  const auto edges = edges_of(mesh);
  return static_cast<int>(
      std::count_if(edges.begin(), edges.end(), [](const auto& e) { return e.second == 1; }));
}

// Z of the normal of a triangle as the image shows it, right and down.
double normal_z(const Mesh& mesh, const std::array<std::uint32_t, 3>& triangle) {
  const auto at = [&](std::size_t i) {
    const Point& point = mesh.vertices[triangle[i]];
    return std::pair<double, double>(point.x / point.z, point.y / point.z);
  };
  const auto [ax, ay] = at(0);
  const auto [bx, by] = at(1);
  const auto [cx, cy] = at(2);
  return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax);
}

TEST(MeshTest, TwoByTwoPixelsAreTwoTriangles) {
  const std::array<float, 4> disparity{10, 10, 10, 10};
  const std::array<std::uint8_t, 12> colours{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const Mesh result = mesh(rig, View<const float>(disparity.data(), {2, 2}),
                           ImageView(colours.data(), {{2, 2}, BitDepth::bits8}, 3, 6));
  using Triangle = std::array<std::uint32_t, 3>;
  EXPECT_EQ(result.triangles, (std::vector<Triangle>{{0, 2, 1}, {1, 2, 3}}));
  ASSERT_EQ(result.vertices.size(), 4u);
  EXPECT_EQ(result.vertices[2].x, -17.5f);  // −3.5 pixels · 500 / 100
  EXPECT_EQ(result.vertices[2].y, -7.5f);
  EXPECT_EQ(result.vertices[2].z, 500.0f);
  EXPECT_EQ(result.vertices[2].colour, (std::array<std::uint8_t, 3>{7, 8, 9}));
}

TEST(MeshTest, APlaneIsClosed) {
  for (const auto& slope : {std::pair{0.0, 0.0}, {0.75, 0.75}, {-1.0, 0.5}, {0.5, -1.0}, {1.0, 1.0}}) {
    const Mesh result =
        mesh_of(disparities([&](int x, int y) { return 30 + slope.first * x + slope.second * y; }));
    EXPECT_EQ(result.vertices.size(), 48u);
    EXPECT_EQ(result.triangles.size(), 70u) << slope.first << " " << slope.second;  // 2 · 7 · 5
    EXPECT_EQ(border_edges(result), 24) << slope.first << " " << slope.second;      // 2 · (7 + 5)
    for (const auto& [edge, triangles] : edges_of(result)) EXPECT_LE(triangles, 2);
  }
}

TEST(MeshTest, IsCutAtAStep) {
  const Plane<float> disparity = disparities([](int x, int) { return x < 4 ? 20 : 21.25; });
  const Mesh cut = mesh_of(disparity);
  EXPECT_EQ(cut.triangles.size(), 60u);  // without the column of squares between the halves
  EXPECT_EQ(border_edges(cut), 2 * 16);
  std::set<std::pair<float, float>> depths;
  for (const auto& [a, b, c] : cut.triangles) {
    const auto [least, most] = std::minmax({cut.vertices[a].z, cut.vertices[b].z, cut.vertices[c].z});
    depths.insert({least, most});
  }
  EXPECT_EQ(depths.size(), 2u);
  EXPECT_EQ(mesh_of(disparity, {.greatest_step = 1.25}).triangles.size(), 70u);
  EXPECT_EQ(mesh_of(disparity, {.greatest_step = 1.24}).triangles.size(), 60u);
  const Plane<float> shifted = disparities([](int x, int y) { return x + y < 6 ? 20 : 21.25; });
  for (const auto& [a, b, c] : mesh_of(shifted).triangles) {
    const Mesh result = mesh_of(shifted);
    EXPECT_EQ(result.vertices[a].z, result.vertices[b].z);
    EXPECT_EQ(result.vertices[b].z, result.vertices[c].z);
  }
}

TEST(MeshTest, ACornerThatSticksOutCostsOneTriangle) {
  for (int corner = 0; corner < 4; ++corner) {
    for (const float value : {15.0f, infinity, 0.0f}) {
      Plane<float> disparity({2, 2}, 10.0f);
      disparity.at(corner % 2, corner / 2) = value;
      const Mesh result = mesh_of(disparity);
      ASSERT_EQ(result.triangles.size(), 1u) << corner << " " << value;
      ASSERT_EQ(result.vertices.size(), 3u) << corner << " " << value;
      for (const Point& vertex : result.vertices) EXPECT_EQ(vertex.z, 500.0f);
    }
  }
}

TEST(MeshTest, EveryEdgeOfATriangleCounts) {
  // The corner at 10 is 0.75 from one neighbour, and 1.5 from the other.
  const std::array<std::array<float, 4>, 8> squares{{{10, 11.5f, 10.75f, 11.5f},
                                                     {10, 10.75f, 11.5f, 11.5f},
                                                     {11.5f, 10, 11.5f, 10.75f},
                                                     {10.75f, 10, 11.5f, 11.5f},
                                                     {11.5f, 11.5f, 10, 10.75f},
                                                     {10.75f, 11.5f, 10, 11.5f},
                                                     {11.5f, 11.5f, 10.75f, 10},
                                                     {11.5f, 10.75f, 11.5f, 10}}};
  for (const auto& square : squares) {
    const Mesh result =
        mesh(rig, View<const float>(square.data(), {2, 2}), Plane<std::uint8_t>({2, 2}).view());
    ASSERT_EQ(result.triangles.size(), 1u);
    for (const Point& vertex : result.vertices) EXPECT_LT(vertex.z, 500.0f);
  }
}

TEST(MeshTest, APixelWithoutADepthDoesNotSplitASquare) {
  // One corner is too far away, though its disparity is near that of the corner opposite.
  for (const std::array<float, 4>& square :
       {std::array{10.0f, 10.5f, 10.0f, 9.9f}, {10.5f, 10.0f, 9.9f, 10.0f}}) {
    const Mesh result = mesh(rig, View<const float>(square.data(), {2, 2}),
                             Plane<std::uint8_t>({2, 2}).view(), {.limits = {.greatest = 500}});
    EXPECT_EQ(result.triangles.size(), 1u);
  }
}

TEST(MeshTest, SquaresAreSplitAlongTheSmallerStep) {
  // The diagonal from top left is level, the other one has a step of 0.5.
  const std::array<float, 4> disparity{10, 10.5f, 10, 10};
  const Mesh result =
      mesh(rig, View<const float>(disparity.data(), {2, 2}), Plane<std::uint8_t>({2, 2}).view());
  using Triangle = std::array<std::uint32_t, 3>;
  EXPECT_EQ(result.triangles, (std::vector<Triangle>{{0, 2, 3}, {0, 3, 1}}));
}

TEST(MeshTest, AllTrianglesFaceTheCamera) {
  Plane<float> disparity = disparities([](int x, int y) { return 10 + 0.3 * ((x * 7 + y * 5) % 4); });
  disparity.at(3, 3) = infinity;
  disparity.at(6, 1) = 50;
  const Mesh result = mesh_of(disparity);
  EXPECT_GT(result.triangles.size(), 50u);
  // Counter-clockwise with Y down, so the normal points to −Z.
  for (const auto& triangle : result.triangles) EXPECT_LT(normal_z(result, triangle), 0);
}

TEST(MeshTest, VerticesAreThosePointsThatHaveTriangles) {
  Plane<float> disparity({4, 2}, 10.0f);
  disparity.at(2, 0) = infinity;
  disparity.at(2, 1) = infinity;  // the last column is alone
  const Plane<std::uint8_t> left({4, 2});
  EXPECT_EQ(point_cloud(rig, disparity.view(), left.view()).size(), 6u);
  const Mesh result = mesh_of(disparity);
  EXPECT_EQ(result.vertices.size(), 4u);
  EXPECT_EQ(result.triangles.size(), 2u);
  for (const auto& triangle : result.triangles)
    for (const std::uint32_t corner : triangle) EXPECT_LT(corner, 4u);
}

TEST(MeshTest, PixelsOutsideTheLimitsAreNoVertices) {
  const Plane<float> disparity = disparities([](int x, int) { return 5 + 0.5 * x; });
  const Mesh result = mesh_of(disparity, {.limits = {.greatest = 1000 - 1}});
  EXPECT_EQ(result.vertices.size(), 42u);  // the first column has disparity 5, depth 1000
  EXPECT_EQ(result.triangles.size(), 60u);
}

TEST(MeshTest, NoSurfaceIsAnEmptyMesh) {
  for (const Size& small : {Size{1, 5}, Size{5, 1}, Size{1, 1}})
    EXPECT_TRUE(mesh_of(Plane<float>(small, 10.0f)).vertices.empty());
  EXPECT_TRUE(mesh_of(Plane<float>(size, infinity)).vertices.empty());
  EXPECT_TRUE(mesh_of(Plane<float>(size, -1.0f)).triangles.empty());
}

TEST(MeshTest, BadArgumentsAreRefused) {
  const Plane<float> disparity(size, 10.0f);
  const Plane<std::uint8_t> other({3, 3});
  test::expect_refused([&] { mesh(rig, disparity.view(), other.view()); }, "3×3");
  test::expect_refused([&] { mesh_of(disparity, {.greatest_step = -1}); }, "greatest_step is -1");
  test::expect_refused([&] { mesh_of(disparity, {.limits = {.greatest = -1}}); }, "greatest depth is -1");
  const View<const float> vast(disparity.row(0), {65536, 32768});
  test::expect_refused([&] { mesh(rig, vast, other.view()); }, "65536×32768");
}

}  // namespace
}  // namespace parallax
