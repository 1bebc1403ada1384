// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <limits>

#include <gtest/gtest.h>

#include "parallax/formats.h"

#include "support.h"

namespace parallax {
namespace {

std::string header(int points, const std::string& faces = "") {
  return "ply\nformat binary_little_endian 1.0\nelement vertex " + std::to_string(points) +
         "\nproperty float x\nproperty float y\nproperty float z\n"
         "property uchar red\nproperty uchar green\nproperty uchar blue\n" +
         faces + "end_header\n";
}

std::string text(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(PlyTest, TwoPointsAreThirtyBytesBehindTheHeader) {
  const Point points[] = {{1.0f, -2.5f, 1000.0f, {255, 128, 1}}, {0.0f, -0.0f, 2.0f, {0, 10, 13}}};
  const unsigned char expected[] = {0, 0, 0x80, 0x3f, 0, 0, 0x20, 0xc0, 0, 0, 0x7a, 0x44, 255, 128, 1,
                                    0, 0, 0,    0,    0, 0, 0,    0x80, 0, 0, 0,    0x40, 0,   10,  13};
  EXPECT_EQ(text(encode_ply(points)), header(2) + std::string(std::begin(expected), std::end(expected)));
}

TEST(PlyTest, NormalsFollowThePositionsWhereAPointHasOne) {
  const Point points[] = {{1, 2, 3, {4, 5, 6}, {0, 0, -1}}, {1, 2, 3, {4, 5, 6}}};
  const unsigned char position[] = {0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0, 0, 0x40, 0x40};
  const unsigned char normal[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0xbf};
  std::string expected = header(2);
  expected.insert(expected.find("property uchar red"),
                  "property float nx\nproperty float ny\nproperty float nz\n");
  for (int i = 0; i < 2; ++i) {
    expected.append(std::begin(position), std::end(position));
    expected += i == 0 ? std::string(std::begin(normal), std::end(normal)) : std::string(12, '\0');
    expected += "\4\5\6";
  }
  EXPECT_EQ(text(encode_ply(points)), expected);
}

TEST(PlyTest, NoPointIsAHeaderAlone) {
  EXPECT_EQ(text(encode_ply({})), header(0));
}

TEST(PlyTest, PointThatIsNotFiniteIsRefused) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Point& bad : {Point{nan, 0, 1, {}}, Point{0, -infinity, 1, {}}, Point{0, 0, infinity, {}}}) {
    const Point points[] = {{0, 0, 1, {}}, bad};
    test::expect_refused([&] { encode_ply(points); }, "point 1 has a coordinate that is not finite");
  }
}

TEST(PlyTest, FacesAreListsOfIntsAfterTheVertices) {
  const Mesh mesh{{{1, 2, 3, {4, 5, 6}}, {1, 2, 3, {4, 5, 6}}, {1, 2, 3, {4, 5, 6}}}, {{0, 2, 1}, {2, 0, 1}}};
  const unsigned char vertex[] = {0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0, 0, 0x40, 0x40, 4, 5, 6};
  const unsigned char faces[] = {3, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0,
                                 3, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0};
  std::string expected = header(3, "element face 2\nproperty list uchar int vertex_indices\n");
  for (int i = 0; i < 3; ++i) expected.append(std::begin(vertex), std::end(vertex));
  expected.append(std::begin(faces), std::end(faces));
  EXPECT_EQ(text(encode_mesh(mesh)), expected);
}

TEST(PlyTest, AnEmptyMeshIsAHeaderAlone) {
  EXPECT_EQ(text(encode_mesh({})), header(0, "element face 0\nproperty list uchar int vertex_indices\n"));
}

TEST(PlyTest, MeshWithAVertexThatItLacksOrThatIsNotFiniteIsRefused) {
  const Point point{0, 0, 1, {}};
  test::expect_refused(
      [&] {
        encode_mesh({{point, point}, {{0, 1, 1}, {0, 1, 2}}});
      },
      "triangle 1 has vertex 2 of 2");
  test::expect_refused(
      [&] {
        encode_mesh({{point, {0, 0, std::numeric_limits<float>::infinity(), {}}}, {}});
      },
      "point 1 has a coordinate that is not finite");
}

}  // namespace
}  // namespace parallax
