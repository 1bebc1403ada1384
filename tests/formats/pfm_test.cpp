// SPDX-License-Identifier: Apache-2.0
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

Bytes pfm(std::string_view header, std::initializer_list<int> pixels) {
  Bytes bytes = bytes_of(header);
  for (const int pixel : pixels) bytes.push_back(static_cast<std::byte>(pixel));
  return bytes;
}

void expect_file_error(const Bytes& bytes, const std::string& reason) {
  expect_error(error_of([&] { parse_pfm(bytes, "some.pfm"); }), ErrorCategory::file, {"some.pfm: ", reason});
}

TEST(PfmTest, NegativeScaleMeansLittleEndian) {
  const Plane<float> image = parse_pfm(pfm("Pf\n2 1\n-1.0\n", {0, 0, 0x80, 0x3f, 0, 0, 0x20, 0xc0}), "");
  EXPECT_EQ(image.size(), (Size{2, 1}));
  EXPECT_EQ(image.at(0, 0), 1.0f);
  EXPECT_EQ(image.at(1, 0), -2.5f);
}

TEST(PfmTest, PositiveScaleMeansBigEndian) {
  const Plane<float> image = parse_pfm(pfm("Pf\n2 1\n1.0\n", {0x3f, 0x80, 0, 0, 0xc0, 0x20, 0, 0}), "");
  EXPECT_EQ(image.at(0, 0), 1.0f);
  EXPECT_EQ(image.at(1, 0), -2.5f);
}

TEST(PfmTest, RowsAreStoredBottomUp) {
  const Bytes bytes = pfm("Pf\n1 2\n-1.0\n", {0, 0, 0x80, 0x3f, 0, 0, 0, 0x40});
  const Plane<float> image = parse_pfm(bytes, "");
  EXPECT_EQ(image.at(0, 0), 2.0f);
  EXPECT_EQ(image.at(0, 1), 1.0f);
  EXPECT_EQ(encode_pfm(image.view()), bytes);
}

TEST(PfmTest, MagnitudeOfTheScaleIsIgnored) {
  for (const char* scale : {"-0.003922", "-1000", "-1e-30", "-1"})
    EXPECT_EQ(parse_pfm(pfm("Pf\n1 1\n" + std::string(scale) + "\n", {0, 0, 0x80, 0x3f}), "").at(0, 0), 1.0f)
        << scale;
  for (const char* scale : {"0.003922", "1000", "+2"})
    EXPECT_EQ(parse_pfm(pfm("Pf\n1 1\n" + std::string(scale) + "\n", {0x3f, 0x80, 0, 0}), "").at(0, 0), 1.0f)
        << scale;
}

TEST(PfmTest, AnyWhiteSpaceSeparatesTheHeader) {
  for (const char* header : {"Pf 1 1 -1 ", "Pf\n1\n1\n-1\n", "Pf\r\n1 1\r\n-1\n", "Pf\n \t1  1\n-1\n"})
    EXPECT_EQ(parse_pfm(pfm(header, {0, 0, 0x80, 0x3f}), "").at(0, 0), 1.0f) << header;
}

TEST(PfmTest, PixelsThatLookLikeWhiteSpaceAreNotPartOfTheHeader) {
  const Plane<float> image = parse_pfm(pfm("Pf\n1 1\n-1\n", {' ', '\n', '\t', '\r'}), "");
  const unsigned char expected[] = {' ', '\n', '\t', '\r'};
  EXPECT_EQ(std::memcmp(image.row(0), expected, 4), 0);
}

TEST(PfmTest, TrailingBytesAreIgnored) {
  EXPECT_EQ(parse_pfm(pfm("Pf\n1 1\n-1\n", {0, 0, 0x80, 0x3f, 1, 2, 3, 4, 5}), "").at(0, 0), 1.0f);
}

TEST(PfmTest, EncodingIsReadBackBitForBit) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), most = std::numeric_limits<float>::max();
  const float values[] = {infinity, -infinity, nan, -0.0f, 0.1f, 1e-42f, most, -63.75f, 0, 1, 2, 3};
  const View<const float> image(values, {3, 4});
  const Plane<float> read = parse_pfm(encode_pfm(image), "");
  ASSERT_EQ(read.size(), image.size);
  for (int y = 0; y < 4; ++y) EXPECT_EQ(std::memcmp(read.row(y), image.row(y), 3 * sizeof(float)), 0) << y;
}

TEST(PfmTest, EncodingReadsRowsByTheirStride) {
  const float values[] = {1, 2, 99, 3, 4};
  EXPECT_EQ(encode_pfm(View<const float>(values, {2, 2}, 3 * sizeof(float))),
            pfm("Pf\n2 2\n-1.0\n", {0, 0, 0x40, 0x40, 0, 0, 0x80, 0x40, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x40}));
}

TEST(PfmTest, ShorterThanItsHeaderSaysIsRefused) {
  expect_file_error(pfm("Pf\n1 1\n-1\n", {}), "cut short");
  expect_file_error(pfm("Pf\n1 1\n-1\n", {0, 0, 0}), "cut short");
  expect_file_error(pfm("Pf\n2 2\n-1\n", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), "cut short");
}

TEST(PfmTest, HeaderThatEndsEarlyIsRefused) {
  for (const char* header : {"", "P", "Pf", "Pf\n", "Pf\n1", "Pf\n1 1", "Pf\n1 1\n", "Pf\n1 1\n-1"})
    expect_file_error(bytes_of(header), "");
}

TEST(PfmTest, OtherFormatsAreRefused) {
  expect_file_error(pfm("PF\n1 1\n-1\n", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), "three channels");
  for (const char* header : {"P5\n1 1\n255\n", "pf\n1 1\n-1\n", "Pfx\n1 1\n-1\n", "\x89PNG\r\n\x1a\n"})
    expect_file_error(pfm(header, {0, 0, 0, 0}), "not a PFM");
}

TEST(PfmTest, SizesThatMakeNoSenseAreRefused) {
  for (const char* extent : {"0 1", "1 0", "-1 1", "1 -1", "-1 -1", "1000001 1", "1 1000001", "x 1", "1 x",
                             "1.5 1", "1e1 1", "4294967297 1", "99999999999999999999 1", "0x1 1"})
    expect_file_error(pfm("Pf\n" + std::string(extent) + "\n-1\n", {0, 0, 0, 0, 0, 0, 0, 0}),
                      "width or height");
}

TEST(PfmTest, SizesAreNotBelievedBeforeTheBytesAreThere) {
  expect_file_error(pfm("Pf\n1000000 1000000\n-1\n", {0, 0, 0, 0}), "cut short");
  expect_file_error(pfm("Pf\n32768 32768\n-1\n", {0, 0, 0, 0}), "cut short");
}

TEST(PfmTest, ScalesThatAreNoNumberAreRefused) {
  for (const char* scale : {"nan", "-nan", "inf", "-inf", "0", "-0.0", "one", "-1x", "-", "1e999"})
    expect_file_error(pfm("Pf\n1 1\n" + std::string(scale) + "\n", {0, 0, 0, 0}), "scale");
}

TEST(PfmTest, HeaderLinesMayEndInCarriageReturns) {
  EXPECT_EQ(parse_pfm(pfm("Pf\r\n1 1\r\n-1\r\n", {0, 0, 0x80, 0x3f}), "name").at(0, 0), 1.0f);
}

TEST(PfmTest, IsReadFromAFile) {
  const std::string path = ::testing::TempDir() + "parallax_pfm_test.pfm";
  write_file(path, pfm("Pf\n1 1\n-1\n", {0, 0, 0x80, 0x3f}));
  EXPECT_EQ(read_pfm(path).at(0, 0), 1.0f);
  write_file(path, bytes_of("text"));
  expect_error(error_of([&] { read_pfm(path); }), ErrorCategory::file, {path});
  std::filesystem::remove(path);
}

TEST(PfmTest, ImageWithoutMemoryIsRefused) {
  for (const Size size : {Size{}, Size{3, 0}, Size{3, 2}})
    expect_refused([&] { encode_pfm(View<const float>(nullptr, size)); }, "");
}

}  // namespace
}  // namespace parallax::test
