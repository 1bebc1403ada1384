// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <limits>

#include <gtest/gtest.h>

#include "parallax/formats.h"

#include "support.h"

namespace parallax {
namespace {

std::string header(int points) {
  return "ply\nformat binary_little_endian 1.0\nelement vertex " + std::to_string(points) +
         "\nproperty float x\nproperty float y\nproperty float z\n"
         "property uchar red\nproperty uchar green\nproperty uchar blue\nend_header\n";
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

}  // namespace
}  // namespace parallax
