// SPDX-License-Identifier: Apache-2.0
#include "parallax/image.h"

#include <array>
#include <utility>

#include <gtest/gtest.h>

namespace parallax {
namespace {

TEST(SizeTest, PixelsGoBeyondThirtyTwoBits) {
  EXPECT_EQ((Size{640, 480}.pixels()), 307'200u);
  EXPECT_EQ((Size{1'000'000, 1'000'000}.pixels()), 1'000'000'000'000u);
  EXPECT_EQ((Size{2147483647, 2147483647}.pixels()), 4611686014132420609u);
}

TEST(ViewTest, StrideLeadsFromRowToRow) {
  std::array<int, 6> values{0, 1, 2, 3, 4, 5};
  const View<int> packed(values.data(), {3, 2});
  EXPECT_EQ(packed.at(2, 1), 5);
  const View<int> padded(values.data(), {2, 2}, 3 * sizeof(int));
  EXPECT_EQ(padded.at(1, 1), 4);
  const View<int> upwards(values.data() + 3, {3, 2}, -3 * static_cast<int>(sizeof(int)));
  EXPECT_EQ(upwards.at(0, 0), 3);
  EXPECT_EQ(upwards.at(0, 1), 0);
}

TEST(ViewTest, WritesThrough) {
  std::array<int, 2> values{0, 0};
  View<int>(values.data(), {1, 2}).at(0, 1) = 7;
  EXPECT_EQ(values[1], 7);
}

TEST(ViewTest, BecomesAViewOnConstants) {
  std::array<int, 4> values{0, 1, 2, 3};
  const View<const int> view = View<int>(values.data() + 2, {2, 2}, -2 * static_cast<int>(sizeof(int)));
  EXPECT_EQ(view.size, (Size{2, 2}));
  EXPECT_EQ(view.at(1, 1), 1);
}

TEST(ViewTest, IsEmptyWithoutMemory) {
  const int value = 0;
  EXPECT_TRUE(View<const int>().empty());
  EXPECT_FALSE(View<const int>(&value, {1, 1}).empty());
}

TEST(PlaneTest, StartsAsZeroOrAsTheValueGiven) {
  const Plane<float> zero({17, 3});
  const Plane<std::uint8_t> filled({65, 2}, 9);
  for (int y = 0; y < 3; ++y)
    for (int x = 0; x < 17; ++x) EXPECT_EQ(zero.at(x, y), 0.0f);
  for (int y = 0; y < 2; ++y)
    for (int x = 0; x < 65; ++x) EXPECT_EQ(filled.at(x, y), 9);
}

TEST(PlaneTest, RowsAreAligned) {
  const Plane<std::uint16_t> plane({33, 3});
  EXPECT_EQ(plane.view().stride(), 64);
  for (int y = 0; y < 3; ++y) EXPECT_EQ(reinterpret_cast<std::uintptr_t>(plane.row(y)) % 64, 0u);
}

TEST(PlaneTest, WithoutPixelsHoldsNothing) {
  EXPECT_TRUE(Plane<float>().view().empty());
  EXPECT_TRUE(Plane<float>({0, 5}).view().empty());
  EXPECT_TRUE(Plane<float>({5, 0}).view().empty());
}

TEST(PlaneTest, MovesItsMemory) {
  Plane<float> plane({3, 2}, 4.0f);
  const float* memory = plane.row(0);
  const Plane<float> moved = std::move(plane);
  EXPECT_EQ(moved.row(0), memory);
  EXPECT_EQ(moved.size(), (Size{3, 2}));
}

TEST(ImageViewTest, IsMadeOfAGrayView) {
  Plane<std::uint8_t> eight({3, 2});
  const ImageView image = eight.view();
  EXPECT_EQ(image.data, eight.row(0));
  EXPECT_EQ(image.format, (ImageFormat{{3, 2}, BitDepth::bits8}));
  EXPECT_EQ(image.channels, 1);
  EXPECT_EQ(image.row(1), eight.row(1));
}

TEST(ViewTest, StridesThatSplitAnElementAreRefused) {
  Plane<float> disparity({4, 3});
  Plane<std::uint8_t> status({4, 3});
  View<float> split = disparity.view();
  split.stride_bytes += 2;
  test::expect_refused(
      [&] {
        fill_row({split, status.view()});
      },
      "disparity map stride_bytes is 66: choose a multiple of 4");
}

TEST(ImageViewTest, CountsItsStrideInBytes) {
  const std::array<std::uint16_t, 6> values{};
  const ImageView image(View<const std::uint16_t>(values.data() + 3, {2, 2}, -6));
  EXPECT_EQ(image.format, (ImageFormat{{2, 2}, BitDepth::bits16}));
  EXPECT_EQ(image.stride_bytes, -6);
  EXPECT_EQ(image.row(1), values.data());
}

TEST(StatusTest, NamesAreSpelledAsTheValues) {
  EXPECT_STREQ(name(Status::matched), "matched");
  EXPECT_STREQ(name(Status::filled), "filled");
  EXPECT_STREQ(name(Status::out_of_range), "out_of_range");
  EXPECT_STREQ(name(Status::inconsistent), "inconsistent");
  EXPECT_STREQ(name(Status::ambiguous), "ambiguous");
  EXPECT_STREQ(name(Status::textureless), "textureless");
  EXPECT_STREQ(name(Status::speckle), "speckle");
  EXPECT_STREQ(name(Status::input_masked), "input_masked");
}

TEST(StatusTest, ValuesAreThoseThatFilesHold) {
  EXPECT_EQ(static_cast<int>(Status::matched), 0);
  EXPECT_EQ(static_cast<int>(Status::filled), 1);
  EXPECT_EQ(static_cast<int>(Status::out_of_range), 2);
  EXPECT_EQ(static_cast<int>(Status::inconsistent), 3);
  EXPECT_EQ(static_cast<int>(Status::ambiguous), 4);
  EXPECT_EQ(static_cast<int>(Status::textureless), 5);
  EXPECT_EQ(static_cast<int>(Status::speckle), 6);
  EXPECT_EQ(static_cast<int>(Status::input_masked), 7);
}

}  // namespace
}  // namespace parallax
