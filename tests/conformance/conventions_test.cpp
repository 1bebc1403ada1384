// SPDX-License-Identifier: Apache-2.0
// The conventions on which files and callers rely, each tested on a pair small enough to follow by hand.

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "support.h"

namespace parallax::test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

class Conventions : public testing::TestWithParam<DeviceKind> {
 protected:
  void SetUp() override {
    if (!is_here(GetParam())) GTEST_SKIP() << "no " << name(GetParam()) << " here";
  }
  Device device() const { return {GetParam()}; }
};

// One bright pixel in each image; window 1.
Result match_dots(const Device& device, int left_x, int left_y, int right_x, int right_y,
                  BlockParameters parameters) {
  Plane<std::uint8_t> left({9, 5}, 10), right({9, 5}, 10);
  left.at(left_x, left_y) = 200;
  right.at(right_x, right_y) = 200;
  parameters.window = 1;
  return match(parameters, device, {left.view(), right.view()});
}

TEST_P(Conventions, DisparityIsLeftColumnMinusRightColumn) {
  BlockParameters parameters = plain_block();
  parameters.disparities = 5;
  EXPECT_EQ(match_dots(device(), 6, 2, 3, 2, parameters).disparity.at(6, 2), 3.0f);
}

TEST_P(Conventions, DisparityMayBeNegative) {
  BlockParameters parameters = plain_block();
  parameters.min_disparity = -4;
  parameters.disparities = 5;
  EXPECT_EQ(match_dots(device(), 3, 2, 6, 2, parameters).disparity.at(3, 2), -3.0f);
}

TEST_P(Conventions, RowZeroIsTheTopRowOfTheImage) {
  BlockParameters parameters = plain_block();
  parameters.disparities = 5;
  const Result result = match_dots(device(), 6, 0, 3, 0, parameters);
  EXPECT_EQ(result.disparity.at(6, 0), 3.0f);
  EXPECT_EQ(result.disparity.at(6, 4), 0.0f);
}

TEST_P(Conventions, NoValueIsPositiveInfinityWithAReason) {
  BlockParameters parameters = plain_block();
  parameters.min_disparity = 4;
  parameters.disparities = 2;
  const Result result = match_dots(device(), 6, 2, 2, 2, parameters);
  EXPECT_EQ(result.disparity.at(3, 2), infinity);
  EXPECT_EQ(static_cast<Status>(result.status.at(3, 2)), Status::out_of_range);
  EXPECT_EQ(result.disparity.at(6, 2), 4.0f);
  EXPECT_EQ(static_cast<Status>(result.status.at(6, 2)), Status::matched);
}

TEST_P(Conventions, DisparityIsInPixelsWithoutAnyScale) {
  BlockParameters parameters = plain_block();
  parameters.disparities = 8;
  EXPECT_EQ(match_dots(device(), 7, 1, 0, 1, parameters).disparity.at(7, 1), 7.0f);
}

TEST_P(Conventions, TiesGoToTheLowestDisparity) {
  const Plane<std::uint8_t> flat({9, 5}, 77);
  BlockParameters parameters = plain_block();
  parameters.min_disparity = -2;
  parameters.disparities = 5;
  const Result result = match(parameters, device(), {flat.view(), flat.view()});
  EXPECT_EQ(result.disparity.at(4, 2), -2.0f);
  EXPECT_EQ(result.disparity.at(7, 2), -1.0f);  // right column 9 does not exist
}

TEST_P(Conventions, MaskedLeftPixelsHaveNoValue) {
  const Plane<std::uint8_t> flat({9, 5}, 77);
  Plane<std::uint8_t> mask({9, 5}, 255);
  mask.at(4, 2) = 0;
  BlockParameters parameters = plain_block();
  parameters.disparities = 3;
  const Result result = match(parameters, device(), {flat.view(), flat.view(), mask.view(), {}});
  EXPECT_EQ(result.disparity.at(4, 2), infinity);
  EXPECT_EQ(static_cast<Status>(result.status.at(4, 2)), Status::input_masked);
  EXPECT_EQ(static_cast<Status>(result.status.at(5, 2)), Status::matched);
}

TEST_P(Conventions, MaskedRightPixelsAreNoMatch) {
  const Plane<std::uint8_t> flat({9, 5}, 77);
  Plane<std::uint8_t> mask({9, 5}, 255);
  mask.at(4, 2) = 0;
  BlockParameters parameters = plain_block();
  parameters.disparities = 3;
  const Result result = match(parameters, device(), {flat.view(), flat.view(), {}, mask.view()});
  EXPECT_EQ(result.disparity.at(4, 2), 1.0f);
  EXPECT_EQ(result.disparity.at(5, 2), 0.0f);
}

INSTANTIATE_TEST_SUITE_P(Device, Conventions, testing::ValuesIn(device_kinds()),
                         [](const auto& kind) { return std::string(name(kind.param)); });

}  // namespace
}  // namespace parallax::test
