// SPDX-License-Identifier: Apache-2.0
#include "refine/confidence.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "refine/refine.h"
#include "support.h"

namespace parallax {
namespace {

using decision::code;
using decision::no_value;
using test::same_bytes;

Size judged_scratch(Size size) {
  return refine::bordered_size(size, refine::confidence_window);
}

// A map whose confidences are found.
struct Judged {
  Plane<float> disparity, confidence, row_offset, scratch;
  Plane<std::uint8_t> status;

  explicit Judged(Size size)
      : disparity(size, 5.0f),
        confidence(size, -1.0f),
        row_offset(size, 0.25f),
        scratch(judged_scratch(size)),
        status(size, code(Status::matched)) {}

  DisparityMap map() { return {disparity.view(), status.view(), confidence.view(), row_offset.view()}; }
  void lose(int x, int y, Status why) {
    disparity.at(x, y) = no_value;
    status.at(x, y) = code(why);
  }
  Judged& judge(float least = 0) {
    refine::find_confidence_reference(map(), least, scratch.view());
    return *this;
  }
  float at(int x, int y) const { return confidence.at(x, y); }
};

// Both windows of (20, 20) are inside the map.
constexpr Size judged_size{41, 41};

float share_without(int doubt) {
  return 1 - static_cast<float>(doubt * doubt) / (1 << 22);
}

TEST(ConfidenceOfMapsTest, FollowsTheEquation) {
  EXPECT_EQ(Judged(judged_size).judge().at(20, 20), share_without(1448 - 200 - 24 * 24 - 24 * 24));
  Judged near(judged_size), far(judged_size), alone(judged_size), lost(judged_size);
  near.disparity.at(21, 20) = 6.5f;  // a pixel more than one away
  EXPECT_EQ(near.judge().at(20, 20), share_without(1448 - 200 - 23 * 23 - 24 * 24));
  far.disparity.at(10, 30) = 3.5f;
  EXPECT_EQ(far.judge().at(20, 20), share_without(1448 - 200 - 24 * 24 - 23 * 23));
  alone.disparity.at(20, 20) = 9;
  EXPECT_EQ(alone.judge().at(20, 20), share_without(1448 - 200));
  lost.lose(20, 20, Status::inconsistent);
  lost.lose(25, 20, Status::inconsistent);
  EXPECT_EQ(lost.judge().at(20, 20), share_without(1448 - 24 * 24 - 23 * 23));
}

TEST(ConfidenceOfMapsTest, AgreementReachesAsFarAsTheTolerance) {
  Judged map(judged_size);
  map.disparity.at(21, 20) = 6;
  EXPECT_EQ(map.judge().at(20, 20), Judged(judged_size).judge().at(20, 20));
}

TEST(ConfidenceOfMapsTest, SlopesAgree) {
  Judged map(judged_size), bent(judged_size);
  for (Judged* each : {&map, &bent})
    for (int y = 0; y < judged_size.height; ++y)
      for (int x = 0; x < judged_size.width; ++x) each->disparity.at(x, y) = 0.5f * static_cast<float>(x - y);
  EXPECT_EQ(map.judge().at(20, 20), Judged(judged_size).judge().at(20, 20));
  bent.disparity.at(30, 20) = 7;  // 5 on the slope
  EXPECT_EQ(bent.judge().at(20, 20), share_without(1448 - 200 - 24 * 24 - 22 * 22));
}

TEST(ConfidenceOfMapsTest, PixelsOutsideTheMapDoNotAgree) {
  EXPECT_EQ(Judged(judged_size).judge().at(0, 0), share_without(1448 - 200 - 8 * 8 - 8 * 8));
  EXPECT_EQ(Judged({1, 1}).judge().at(0, 0), share_without(1448 - 200));
}

TEST(ConfidenceOfMapsTest, NoneWhereNothingWasDecided) {
  Judged map(judged_size);
  map.lose(20, 20, Status::input_masked);
  map.lose(3, 4, Status::out_of_range);
  map.judge();
  EXPECT_EQ(map.at(20, 20), 0);
  EXPECT_EQ(map.at(3, 4), 0);
}

// What is rejected still counts for its neighbours.
TEST(ConfidenceOfMapsTest, UnsurePixelsAreRejected) {
  Judged kept(judged_size), map(judged_size);
  for (Judged* each : {&kept, &map}) each->disparity.at(20, 20) = 9;
  kept.judge();
  map.judge(0.5f);
  for (int y = 0; y < judged_size.height; ++y)
    for (int x = 0; x < judged_size.width; ++x) {
      const bool unsure = kept.at(x, y) < 0.5f;
      EXPECT_EQ(map.at(x, y), kept.at(x, y));
      EXPECT_EQ(map.status.at(x, y), code(unsure ? Status::ambiguous : Status::matched));
      EXPECT_EQ(map.disparity.at(x, y) == no_value, unsure);
      EXPECT_EQ(map.row_offset.at(x, y) == no_value, unsure);
    }
  EXPECT_GE(kept.at(20, 20), 0.5f);
  Judged surer(judged_size);
  surer.disparity.at(20, 20) = 9;
  surer.judge(0.8f);
  EXPECT_EQ(surer.status.at(20, 20), code(Status::ambiguous));
  EXPECT_EQ(surer.status.at(10, 20), code(Status::matched));
}

Judged noisy_map(Size size, unsigned seed) {
  std::mt19937 random(seed);
  Judged map(size);
  constexpr Status others[] = {Status::out_of_range, Status::inconsistent, Status::ambiguous,
                               Status::input_masked};
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      map.disparity.at(x, y) = static_cast<float>(random() % 16) / 4 - 1;
      if (random() % 4 == 0) map.lose(x, y, others[random() % 4]);
    }
  return map;
}

TEST(ConfidenceOfMapsTest, EqualsTheReference) {
  for (const Size size : {Size{1, 1}, Size{3, 40}, Size{63, 2}, Size{64, 30}, Size{257, 21}, Size{530, 12}})
    for (const int threads : {1, 3})
      for (const float least : {0.0f, 0.8f}) {
        Judged expected = noisy_map(size, 7), actual = noisy_map(size, 7);
        expected.judge(least);
        refine::find_confidence(actual.map(), least, actual.scratch.view(), Workers(threads));
        EXPECT_TRUE(same_bytes(expected.disparity, actual.disparity)) << size.width << "×" << size.height;
        EXPECT_TRUE(same_bytes(expected.status, actual.status)) << size.width << "×" << size.height;
        EXPECT_TRUE(same_bytes(expected.confidence, actual.confidence)) << size.width << "×" << size.height;
        EXPECT_TRUE(same_bytes(expected.row_offset, actual.row_offset)) << size.width << "×" << size.height;
      }
}

TEST(ConfidenceOfMapsTest, NobodyHasToWantTheMap) {
  Judged with = noisy_map({90, 40}, 3), without = noisy_map({90, 40}, 3);
  DisparityMap map = without.map();
  map.confidence = {};
  with.judge(0.8f);
  refine::find_confidence(map, 0.8f, without.scratch.view(), Workers(2));
  EXPECT_TRUE(same_bytes(with.status, without.status));
  EXPECT_TRUE(same_bytes(with.disparity, without.disparity));
}

}  // namespace
}  // namespace parallax
