// SPDX-License-Identifier: Apache-2.0
#include "core/gray.h"

#include <array>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "parallax/device.h"
#include "parallax/process.h"

namespace parallax {
namespace {

std::vector<std::uint16_t> gray_values(const ImageView& image, int y) {
  std::vector<std::uint16_t> row(static_cast<std::size_t>(image.format.size.width));
  gray_row(image, y, row.data());
  return row;
}

using Row = std::vector<std::uint16_t>;

// The gray value of one pixel.
template <class Sample>
int gray(Sample red, Sample green, Sample blue) {
  const std::array<Sample, 3> pixel{red, green, blue};
  constexpr BitDepth depth = sizeof(Sample) == 1 ? BitDepth::bits8 : BitDepth::bits16;
  return gray_values({pixel.data(), {{1, 1}, depth}, 3, sizeof pixel}, 0)[0];
}
int gray8(std::uint8_t red, std::uint8_t green, std::uint8_t blue) {
  return gray(red, green, blue);
}
int gray16(std::uint16_t red, std::uint16_t green, std::uint16_t blue) {
  return gray(red, green, blue);
}

TEST(GrayTest, WeightsAreThoseOfTheSpecificationTruncated) {
  EXPECT_EQ(gray8(0, 0, 0), 0);
  EXPECT_EQ(gray8(1, 1, 1), 1);
  EXPECT_EQ(gray8(1, 1, 0), 0);
  EXPECT_EQ(gray8(255, 0, 0), 76);
  EXPECT_EQ(gray8(0, 255, 0), 149);  // 149.68
  EXPECT_EQ(gray8(0, 0, 255), 29);
  EXPECT_EQ(gray8(255, 255, 255), 255);
}

TEST(GrayTest, SixteenBitChannelsDoNotOverflow) {
  EXPECT_EQ(gray16(65535, 0, 0), 19593);  // 19593.70
  EXPECT_EQ(gray16(0, 65535, 0), 38467);
  EXPECT_EQ(gray16(0, 0, 65535), 7473);           // 7473.89
  EXPECT_EQ(gray16(65535, 65535, 65534), 65534);  // 65534.89
  EXPECT_EQ(gray16(65535, 65535, 65535), 65535);
}

// Rows of any width, in 8 and in 16 bits.
TEST(GrayTest, EveryInstructionSetGivesTheSame) {
  std::mt19937 random(1);
  for (const std::string& target : cpu_targets()) {
    force_cpu_target(target);
    for (int width = 1; width < 80; ++width) {
      std::vector<std::uint16_t> samples(static_cast<std::size_t>(3 * width));
      for (std::uint16_t& sample : samples) sample = static_cast<std::uint16_t>(random());
      const ImageView image(samples.data(), {{width, 1}, BitDepth::bits16}, 3, 6 * width);
      const Row row = gray_values(image, 0);
      std::vector<std::uint8_t> upper(row.size());
      gray_byte_row(image, 0, upper.data());
      for (std::size_t x = 0; x < row.size(); ++x) {
        const std::uint16_t* pixel = samples.data() + 3 * x;
        EXPECT_EQ(row[x], (9797u * pixel[0] + 19234u * pixel[1] + 3737u * pixel[2]) >> 15) << target;
        EXPECT_EQ(upper[x], row[x] >> 8) << target;
      }
    }
    force_cpu_target("");
  }
}

TEST(GrayTest, OneChannelIsCopied) {
  const std::array<std::uint8_t, 6> bytes{0, 128, 255, 1, 2, 3};
  const ImageView image(View<const std::uint8_t>(bytes.data(), {3, 2}));
  EXPECT_EQ(gray_values(image, 0), (Row{0, 128, 255}));
  EXPECT_EQ(gray_values(image, 1), (Row{1, 2, 3}));
}

TEST(GrayTest, OneChannelOfSixteenBitsIsCopied) {
  const std::array<std::uint16_t, 4> values{0, 256, 65535, 40000};
  const ImageView image(View<const std::uint16_t>(values.data(), {2, 2}));
  EXPECT_EQ(gray_values(image, 0), (Row{0, 256}));
  EXPECT_EQ(gray_values(image, 1), (Row{65535, 40000}));
}

TEST(GrayTest, ThreeChannelsAreRedGreenBlue) {
  const std::array<std::uint8_t, 9> bytes{255, 0, 0, 0, 255, 0, 0, 0, 255};
  const ImageView image(bytes.data(), {{3, 1}, BitDepth::bits8}, 3, 9);
  EXPECT_EQ(gray_values(image, 0), (Row{76, 149, 29}));
}

TEST(GrayTest, ThreeChannelsOfSixteenBits) {
  const std::array<std::uint16_t, 6> values{1000, 2000, 3000, 40000, 50000, 60000};
  const ImageView image(values.data(), {{2, 1}, BitDepth::bits16}, 3, 12);
  EXPECT_EQ(gray_values(image, 0), (Row{1815, 48150}));
}

TEST(GrayTest, PaddingBetweenRowsIsSkipped) {
  const std::array<std::uint8_t, 9> bytes{200, 100, 50, 99, 99, 99, 10, 20, 30};
  const ImageView colour(bytes.data(), {{1, 2}, BitDepth::bits8}, 3, 6);
  EXPECT_EQ(gray_values(colour, 0), Row{124});
  EXPECT_EQ(gray_values(colour, 1), Row{18});
  const std::array<std::uint16_t, 5> values{300, 301, 9, 302, 303};
  const ImageView sixteen(View<const std::uint16_t>(values.data(), {2, 2}, 6));
  EXPECT_EQ(gray_values(sixteen, 1), (Row{302, 303}));
}

TEST(GrayTest, NegativeStrideReadsUpwards) {
  const std::array<std::uint8_t, 6> colour{200, 100, 50, 10, 20, 30};
  const ImageView flipped(colour.data() + 3, {{1, 2}, BitDepth::bits8}, 3, -3);
  EXPECT_EQ(gray_values(flipped, 0), Row{18});
  EXPECT_EQ(gray_values(flipped, 1), Row{124});
  const std::array<std::uint16_t, 4> values{300, 301, 302, 303};
  const ImageView sixteen(View<const std::uint16_t>(values.data() + 2, {2, 2}, -4));
  EXPECT_EQ(gray_values(sixteen, 0), (Row{302, 303}));
  EXPECT_EQ(gray_values(sixteen, 1), (Row{300, 301}));
}

}  // namespace
}  // namespace parallax
