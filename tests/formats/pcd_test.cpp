// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "parallax/formats.h"

#include "support.h"

namespace parallax {
namespace {

struct Pcd {
  std::map<std::string, std::string> header;
  std::string data;
};

// Reads the lines up to DATA, and the data.
Pcd read(const std::vector<std::byte>& bytes) {
  std::istringstream file(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  Pcd pcd;
  for (std::string line; !pcd.header.contains("DATA") && std::getline(file, line);)
    if (!line.starts_with('#')) pcd.header[line.substr(0, line.find(' '))] = line.substr(line.find(' ') + 1);
  pcd.data.assign(std::istreambuf_iterator<char>(file), {});
  return pcd;
}

TEST(PcdTest, HasTheHeaderOfThePointCloudLibrary) {
  const std::vector<std::byte> bytes = encode_pcd(std::vector<Point>(3, Point{0, 0, 1, {}}));
  const std::map<std::string, std::string> expected{
      {"VERSION", "0.7"},   {"FIELDS", "x y z rgb"}, {"SIZE", "4 4 4 4"}, {"TYPE", "F F F F"},
      {"COUNT", "1 1 1 1"}, {"WIDTH", "3"},          {"HEIGHT", "1"},     {"VIEWPOINT", "0 0 0 1 0 0 0"},
      {"POINTS", "3"},      {"DATA", "binary"}};
  EXPECT_EQ(read(bytes).header, expected);
  EXPECT_EQ(read(bytes).data.size(), 48u);
}

TEST(PcdTest, NormalsFollowTheColours) {
  const Pcd pcd = read(encode_pcd(std::vector<Point>(2, Point{1, 2, 3, {4, 5, 6}, {0.6f, 0, -0.8f}})));
  EXPECT_EQ(pcd.header.at("FIELDS"), "x y z rgb normal_x normal_y normal_z");
  EXPECT_EQ(pcd.header.at("SIZE"), "4 4 4 4 4 4 4");
  ASSERT_EQ(pcd.data.size(), 2u * 28);
  float normal[3];
  std::memcpy(normal, pcd.data.data() + 28 + 16, sizeof normal);
  EXPECT_EQ(std::to_array(normal), (std::array{0.6f, 0.0f, -0.8f}));
}

TEST(PcdTest, PointsSurviveARoundTrip) {
  const Point points[] = {{1.0f, -2.5f, 1000.0f, {255, 128, 1}}, {0.25f, -0.0f, 2.0f, {0, 10, 13}}};
  const std::string data = read(encode_pcd(points)).data;
  ASSERT_EQ(data.size(), 32u);
  for (std::size_t i = 0; i < 2; ++i) {
    float position[3];
    std::uint32_t rgb = 0;
    std::memcpy(position, data.data() + 16 * i, sizeof position);
    std::memcpy(&rgb, data.data() + 16 * i + 12, sizeof rgb);
    EXPECT_EQ(position[0], points[i].x);
    EXPECT_EQ(position[1], points[i].y);
    EXPECT_EQ(position[2], points[i].z);
    EXPECT_EQ(rgb, i == 0 ? 0xff8001u : 0x000a0du);
  }
}

TEST(PcdTest, NoPointIsAHeaderAlone) {
  const Pcd pcd = read(encode_pcd({}));
  EXPECT_EQ(pcd.header.at("POINTS"), "0");
  EXPECT_EQ(pcd.header.at("WIDTH"), "0");
  EXPECT_EQ(pcd.data, "");
}

TEST(PcdTest, PointThatIsNotFiniteIsRefused) {
  const Point points[] = {{0, 0, 1, {}}, {0, std::numeric_limits<float>::infinity(), 1, {}}};
  test::expect_refused([&] { encode_pcd(points); }, "point 1 has a coordinate that is not finite");
}

}  // namespace
}  // namespace parallax
