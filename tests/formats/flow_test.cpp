// SPDX-License-Identifier: Apache-2.0
#include "parallax/flow.h"

#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include <gtest/gtest.h>

#include "parallax/error.h"
#include "parallax/formats.h"

#include "support.h"

namespace parallax::test {
namespace {

using Bytes = std::vector<std::byte>;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

template <class T>
void append(Bytes& bytes, T value) {
  std::byte of_value[sizeof value];
  std::memcpy(of_value, &value, sizeof value);
  bytes.insert(bytes.end(), of_value, of_value + sizeof value);
}

Bytes flo(std::int32_t width, std::int32_t height, std::initializer_list<float> components) {
  Bytes bytes = bytes_of("PIEH");
  append(bytes, width);
  append(bytes, height);
  for (const float component : components) append(bytes, component);
  return bytes;
}

Flow make_flow(std::vector<std::vector<float>> u, std::vector<std::vector<float>> v) {
  Flow flow;
  flow.u = plane(std::move(u));
  flow.v = plane(std::move(v));
  return flow;
}

void expect_no_flo(const Bytes& bytes, const std::string& reason) {
  expect_error(error_of([&] { parse_flo(bytes, "some.flo"); }), ErrorCategory::file, {"some.flo: ", reason});
}

TEST(FlowOfTest, DisparitiesAreMotionsToTheLeft) {
  const Flow flow = flow_of(plane<float>({{2.5f, -3, 0}}).view(), plane<float>({{1, -4, 0}}).view());
  EXPECT_EQ(flow.u.at(0, 0), -2.5f);
  EXPECT_EQ(flow.v.at(0, 0), 1);
  EXPECT_EQ(flow.u.at(1, 0), 3);
  EXPECT_EQ(flow.v.at(1, 0), -4);
  EXPECT_FALSE(std::signbit(flow.u.at(2, 0)));
}

TEST(FlowOfTest, BothComponentsAreMissingWhereOneIs) {
  const Flow flow =
      flow_of(plane<float>({{infinity, 1, nan}}).view(), plane<float>({{1, infinity, 1}}).view());
  for (int x = 0; x < 3; ++x) EXPECT_TRUE(flow.u.at(x, 0) == infinity && flow.v.at(x, 0) == infinity) << x;
}

TEST(FlowOfTest, MapsOfDifferentSizesAreRefused) {
  expect_refused([] { flow_of(Plane<float>({3, 2}).view(), Plane<float>({2, 3}).view()); }, "row offsets");
}

TEST(FloTest, VectorsAreInterleavedFromTheTop) {
  const Bytes bytes = flo(2, 2, {1, -2, 3.5f, 4, -5, 6, 7, 8});
  const Flow flow = parse_flo(bytes, "");
  ASSERT_EQ(flow.size(), (Size{2, 2}));
  EXPECT_EQ(flow.u.at(0, 0), 1);
  EXPECT_EQ(flow.v.at(0, 0), -2);
  EXPECT_EQ(flow.u.at(1, 0), 3.5f);
  EXPECT_EQ(flow.v.at(0, 1), 6);
  EXPECT_EQ(encode_flo(flow.view()), bytes);
}

TEST(FloTest, TheTagIsMiddleburysNumber) {
  float tag;
  std::memcpy(&tag, encode_flo(make_flow({{0}}, {{0}}).view()).data(), sizeof tag);
  EXPECT_EQ(tag, 202021.25f);
}

TEST(FloTest, ComponentsBeyondABillionAreUnknown) {
  const Flow flow = parse_flo(flo(5, 1, {1e10f, 0, 0, -1e10f, nan, 1, 1, infinity, 1e9f, -1e9f}), "");
  for (int x = 0; x < 4; ++x) EXPECT_TRUE(flow.u.at(x, 0) == infinity && flow.v.at(x, 0) == infinity) << x;
  EXPECT_EQ(flow.u.at(4, 0), 1e9f);
  EXPECT_EQ(flow.v.at(4, 0), -1e9f);
}

TEST(FloTest, UnknownVectorsAreWrittenAsMiddleburyDoes) {
  EXPECT_EQ(encode_flo(make_flow({{infinity, 1, nan}}, {{2, -infinity, 3}}).view()),
            flo(3, 1, {1e10f, 1e10f, 1e10f, 1e10f, 1e10f, 1e10f}));
}

TEST(FloTest, RowsAreReadByTheirStride) {
  const float u[] = {1, 99, 2}, v[] = {3, 99, 4};
  constexpr std::ptrdiff_t stride = 2 * sizeof(float);
  EXPECT_EQ(encode_flo({View<const float>(u, {1, 2}, stride), View<const float>(v, {1, 2}, stride)}),
            flo(1, 2, {1, 3, 2, 4}));
}

TEST(FloTest, OtherFilesAreRefused) {
  for (const char* text :
       {"", "PIE", "PIEH", "PIEH\1\0\0", "HEIP12345678", "Pf\n1 1\n-1\n\0\0\0\0", "\x89PNG\r\n\x1a\n123456"})
    expect_no_flo(bytes_of(text), "not a .flo file");
}

TEST(FloTest, SizesThatMakeNoSenseAreRefused) {
  constexpr std::int32_t least = std::numeric_limits<std::int32_t>::min();
  for (const auto& [width, height] :
       {std::array{0, 1}, {1, 0}, {-1, 1}, {1, -1}, {-1, -1}, {1'000'001, 1}, {1, 1'000'001}, {least, least}})
    expect_no_flo(flo(width, height, {0, 0}), "width or height");
}

TEST(FloTest, SizesAreNotBelievedBeforeTheBytesAreThere) {
  expect_no_flo(flo(1'000'000, 1'000'000, {0, 0}), "promises 8000000000012 bytes, there are 20");
  expect_no_flo(flo(1, 1, {0}), "cut short");
  expect_no_flo(flo(2, 2, {1, 2, 3, 4, 5, 6, 7}), "cut short");
}

TEST(FloTest, IsReadFromAFile) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "some.flo").string();
  write_file(path, flo(1, 1, {1, 2}));
  EXPECT_EQ(read_flo(path).v.at(0, 0), 2);
  write_file(path, bytes_of("text"));
  expect_error(error_of([&] { read_flo(path); }), ErrorCategory::file, {path, "not a .flo file"});
}

TEST(FloTest, VectorsWithoutMemoryOrOfTwoSizesAreRefused) {
  expect_refused([] { encode_flo({}); }, "motion (u)");
  const Plane<float> wide({3, 2}), high({2, 3});
  expect_refused([&] { encode_flo({wide.view(), high.view()}); }, "motion (v)");
}

TEST(KittiFlowTest, SixtyFourStepsAPixelFromTheMiddle) {
  const Plane<std::uint16_t> rgb =
      encode_kitti_flow(make_flow({{0, 1, -512, infinity}}, {{0, -0.5f, 511.98f, 1}}).view());
  ASSERT_EQ(rgb.size(), (Size{12, 1}));
  const std::uint16_t expected[] = {32768, 32768, 1, 32832, 32736, 1, 0, 65535, 1, 0, 0, 0};
  EXPECT_EQ(std::memcmp(rgb.row(0), expected, sizeof expected), 0);
}

TEST(KittiFlowTest, EveryValueIsReadBack) {
  Plane<std::uint16_t> rgb({3 * 256, 256});
  for (int y = 0; y < 256; ++y)
    for (int x = 0; x < 256; ++x) {
      rgb.at(3 * x, y) = static_cast<std::uint16_t>(256 * y + x);
      rgb.at(3 * x + 1, y) = static_cast<std::uint16_t>(65535 - 256 * y - x);
      rgb.at(3 * x + 2, y) = 1;
    }
  const Flow flow = decode_kitti_flow(rgb.view());
  EXPECT_EQ(flow.u.at(1, 128), 1 / 64.0f);
  EXPECT_TRUE(same_bytes(encode_kitti_flow(flow.view()), rgb));
}

TEST(KittiFlowTest, TheThirdChannelTellsWhatIsKnown) {
  const Flow flow = decode_kitti_flow(plane<std::uint16_t>({{32768, 32768, 0, 32768, 32832, 65535}}).view());
  EXPECT_TRUE(flow.u.at(0, 0) == infinity && flow.v.at(0, 0) == infinity);
  EXPECT_EQ(flow.v.at(1, 0), 1);
}

TEST(KittiFlowTest, ComponentsThatDoNotFitAreRefused) {
  for (const float component : {-512.01f, 512.0f, 1e9f})
    for (const Flow& flow : {make_flow({{0, component}}, {{0, 0}}), make_flow({{0, 0}}, {{0, component}})})
      expect_refused([&] { encode_kitti_flow(flow.view()); }, "the motion at column 1 and row 0 is ");
  expect_refused([] { encode_kitti_flow(make_flow({{512}}, {{0}}).view()); }, ".flo");
}

TEST(KittiFlowTest, AWidthThatHoldsNoThreeChannelsIsRefused) {
  expect_refused([] { decode_kitti_flow(Plane<std::uint16_t>({4, 1}).view()); }, "width");
}

using Rgb = std::array<int, 3>;

Rgb colour(float u, float v, double longest) {
  Plane<std::uint8_t> rgb({3, 1});
  colour_flow(make_flow({{u}}, {{v}}).view(), longest, rgb.view());
  return {rgb.at(0, 0), rgb.at(1, 0), rgb.at(2, 0)};
}

TEST(FlowColourTest, DirectionsHaveTheHuesOfTheWheel) {
  // The arcs end at hues 15, 21, 25, 36, 49 and 55 of 55; motions to the right have the first hue.
  const struct {
    int hue;
    Rgb rgb;
  } ends[] = {{0, {255, 0, 0}},    {15, {255, 255, 0}}, {21, {0, 255, 0}},
              {25, {0, 255, 255}}, {36, {0, 0, 255}},   {49, {255, 0, 255}}};
  for (const auto& end : ends) {
    const double angle = 2 * std::acos(-1.0) * end.hue / 55;
    const Rgb rgb = colour(static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle)), 1.0001);
    for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(rgb[c], end.rgb[c], 1) << end.hue;
  }
}

TEST(FlowColourTest, LengthIsSaturation) {
  EXPECT_EQ(colour(0, 0, 4), (Rgb{255, 255, 255}));
  EXPECT_EQ(colour(1, 0, 4), (Rgb{255, 191, 191}));
  EXPECT_EQ(colour(4, 0, 4), (Rgb{255, 0, 0}));
  EXPECT_EQ(colour(5, 0, 4), (Rgb{191, 0, 0}));
}

TEST(FlowColourTest, NoVectorIsBlack) {
  EXPECT_EQ(colour(infinity, 0, 1), (Rgb{0, 0, 0}));
  EXPECT_EQ(colour(0, nan, 1), (Rgb{0, 0, 0}));
}

TEST(FlowColourTest, NoMotionAnywhereIsWhite) {
  const Flow flow = make_flow({{0, infinity}}, {{0, 0}});
  EXPECT_EQ(longest_vector(flow.view()), 0);
  EXPECT_EQ(colour(0, 0, 0), (Rgb{255, 255, 255}));
}

TEST(FlowColourTest, TheLongestVectorIsFound) {
  EXPECT_EQ(longest_vector(make_flow({{3, infinity, -1}}, {{-4, 100, 1}}).view()), 5);
}

TEST(FlowColourTest, WrongSizesAndScalesAreRefused) {
  Plane<std::uint8_t> rgb({6, 1});
  expect_refused([&] { colour_flow(make_flow({{1}}, {{1}}).view(), 1, rgb.view()); }, "coloured map");
  for (const double longest : {-1.0, static_cast<double>(infinity), static_cast<double>(nan)})
    expect_refused(
        [&] {
          colour_flow(make_flow({{1, 1}}, {{1, 1}}).view(), longest, rgb.view());
        },
        "longest is");
}

}  // namespace
}  // namespace parallax::test
