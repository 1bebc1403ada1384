// SPDX-License-Identifier: Apache-2.0
#include "parallax/matcher.h"

#include <cstdio>
#include <limits>
#include <utility>

#include <gtest/gtest.h>

#include "support.h"

namespace parallax::test {
namespace {

constexpr float no_value = std::numeric_limits<float>::infinity();
constexpr Size size{40, 24};
constexpr ImageFormat format{size, BitDepth::bits8};

std::string mebibytes(std::size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

// Noise, moved to the left by `shift` columns.
template <class T>
Plane<T> noise(int shift, int channels = 1) {
  Plane<T> image({size.width * channels, size.height});
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width * channels; ++x) {
      auto hash = static_cast<std::uint32_t>(y * 1000 + x + shift * channels) * 0x9e3779b1u;
      hash = (hash ^ (hash >> 15)) * 0x2c1b3c6du;
      hash = (hash ^ (hash >> 12)) * 0x297a2d39u;
      image.at(x, y) = static_cast<T>(hash >> 15);
    }
  }
  return image;
}

BlockParameters small_search() {
  BlockParameters parameters;
  parameters.disparities = 8;
  parameters.window = 5;
  return parameters;
}

class MatcherTest : public ::testing::TestWithParam<const char*> {
 protected:
  Matcher matcher(const BlockParameters& parameters) const { return {parameters, device_, format}; }
  StereoPair pair() { return {left_.view(), right_.view()}; }
  std::optional<Error> run_error(const StereoPair& pair, const DisparityMap& map) const {
    return error_of([&] { matcher(small_search()).run(pair, map); });
  }

  const Device device_ = Device::parse(GetParam());
  Plane<std::uint8_t> left_ = noise<std::uint8_t>(0), right_ = noise<std::uint8_t>(3);
  Plane<std::uint8_t> other_size_{Size{size.width, size.height + 1}};
  Result result_{size};
};

INSTANTIATE_TEST_SUITE_P(Devices, MatcherTest, ::testing::Values("reference", "cpu"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(MatcherTest, ImpossibleSizesAreRefused) {
  for (const Size bad : {Size{0, 5}, Size{5, 0}, Size{-1, 5}, Size{1'000'001, 1}, Size{1, 1'000'001}})
    expect_refused([&] { Matcher(small_search(), device_, {bad}); },
                   std::to_string(bad.width) + "×" + std::to_string(bad.height));
}

TEST_P(MatcherTest, ImpossibleThreadsAreRefused) {
  for (const int threads : {-1, 4097}) {
    Device device = device_;
    device.threads = threads;
    expect_refused([&] { Matcher(small_search(), device, format); }, "threads is " + std::to_string(threads));
  }
}

TEST_P(MatcherTest, MemoryBeyondTheLimitIsRefusedWithBothNumbers) {
  const ImageFormat large{{1000, 1000}, BitDepth::bits8};
  const std::size_t needed = estimate_memory_bytes(small_search(), device_, large);
  const std::size_t allowed = 1 << 19;
  expect_error(error_of([&] { Matcher(small_search(), device_, large, {allowed}); }), ErrorCategory::memory,
               {"needs " + mebibytes(needed), "512.0 KiB are allowed"});
}

TEST_P(MatcherTest, MemoryLimitIsInclusive) {
  const std::size_t needed = estimate_memory_bytes(small_search(), device_, format);
  EXPECT_NO_THROW(Matcher(small_search(), device_, format, {needed}));
  expect_error(error_of([&] { Matcher(small_search(), device_, format, {needed - 1}); }),
               ErrorCategory::memory, {});
}

TEST_P(MatcherTest, MoreThanTheMachineHasIsAnErrorOfMemory) {
  const ImageFormat huge{{1'000'000, 1'000'000}, BitDepth::bits16};
  BlockParameters parameters = small_search();
  parameters.refine.speckle_size = 0;
  EXPECT_GT(estimate_memory_bytes(parameters, device_, huge), std::size_t{1} << 41);
  expect_error(error_of([&] { Matcher(parameters, device_, huge); }), ErrorCategory::memory, {});
}

TEST_P(MatcherTest, MatchPlansAndRunsAtOnce) {
  matcher(small_search()).run(pair(), result_.map());
  expect_same(result_, parallax::match(pair(), small_search(), device_), "a pair");
  expect_same(result_, parallax::match(left_.view(), right_.view(), small_search(), device_), "two images");
}

TEST_P(MatcherTest, AResultHasTheMapsThatItsMatcherWrites) {
  BlockParameters across_rows = small_search();
  across_rows.row_tolerance = 1;
  EXPECT_EQ(matcher(small_search()).make_result().row_offset.size(), Size{});
  EXPECT_EQ(matcher(across_rows).make_result().row_offset.size(), size);
  EXPECT_EQ(matcher(small_search()).make_result().confidence.size(), Size{});
  EXPECT_EQ(matcher(small_search()).make_result(true).confidence.size(), size);
}

TEST_P(MatcherTest, ImagesOfAnotherFormatAreRefused) {
  const Plane<std::uint16_t> deep(size);
  struct Case {
    ImageView image;
    const char* reason;
  };
  const Case cases[] = {
      {ImageView(other_size_.view()), "40×25"},
      {ImageView(deep.view()), "16 bits"},
      {ImageView(nullptr, format, 1, size.width), "no memory"},
      {ImageView(), "no memory"},
      {ImageView(left_.row(0), format, 2, left_.view().stride_bytes), "channels is 2"},
      {ImageView(left_.row(0), format, 4, left_.view().stride_bytes), "channels is 4"},
  };
  for (const Case& c : cases) {
    StereoPair left = pair(), right = pair();
    left.left = c.image;
    right.right = c.image;
    expect_error(run_error(left, result_.map()), ErrorCategory::argument, {"left image", c.reason});
    expect_error(run_error(right, result_.map()), ErrorCategory::argument, {"right image", c.reason});
  }
}

TEST_P(MatcherTest, MasksOfAnotherSizeOrWithoutMemoryAreRefused) {
  for (const auto& [mask, reason] :
       {std::pair<View<const std::uint8_t>, std::string>(other_size_.view(), "is 40×25"),
        {{nullptr, size}, "points to no memory"}}) {
    expect_error(run_error({left_.view(), right_.view(), mask, {}}, result_.map()), ErrorCategory::argument,
                 {"left mask " + reason});
    expect_error(run_error({left_.view(), right_.view(), {}, mask}, result_.map()), ErrorCategory::argument,
                 {"right mask " + reason});
  }
}

TEST_P(MatcherTest, MapsMissingOrOfAnotherSizeAreRefused) {
  Plane<float> other({size.width + 1, size.height});
  struct Case {
    DisparityMap map;
    const char* what;
  };
  for (const Case& c : {Case{{{}, result_.status.view()}, "disparity map"},
                        {{View<float>(nullptr, size), result_.status.view()}, "disparity map"},
                        {{other.view(), result_.status.view()}, "disparity map"},
                        {{result_.disparity.view(), {}}, "status map"},
                        {{result_.disparity.view(), View<std::uint8_t>(nullptr, size)}, "status map"},
                        {{result_.disparity.view(), other_size_.view()}, "status map"}})
    expect_error(run_error(pair(), c.map), ErrorCategory::argument, {c.what});
}

TEST_P(MatcherTest, EveryPixelIsWritten) {
  BlockParameters parameters = small_search();
  parameters.refine.fill = Fill::none;
  parameters.uniqueness = 50;
  matcher(parameters).run(pair(), result_.map());
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const float disparity = result_.disparity.at(x, y);
      ASSERT_LT(result_.status.at(x, y), status_count);
      if (result_.status.at(x, y) == static_cast<int>(Status::matched))
        ASSERT_TRUE(disparity >= 0 && disparity <= 7) << disparity;
      else
        ASSERT_EQ(disparity, no_value);
    }
  }
}

TEST_P(MatcherTest, FullRowPresetSearchesEveryColumnBothWays) {
  const auto parameters = preset<BlockParameters>("sad-full-row");
  for (const bool swapped : {false, true}) {
    StereoPair images = pair();
    if (swapped) std::swap(images.left, images.right);
    matcher(parameters).run(images, result_.map());
    const float expected = swapped ? -3.0f : 3.0f;
    for (int y = 0; y < size.height; ++y)
      for (int x = 6; x < size.width - 6; ++x)
        EXPECT_EQ(result_.disparity.at(x, y), expected) << x << ", " << y;
  }
}

TEST_P(MatcherTest, FullRowIgnoresTheSearchRange) {
  BlockParameters parameters = preset<BlockParameters>("sad-full-row");
  parameters.min_disparity = 500'000;
  parameters.disparities = 1;
  Result expected(size);
  matcher(preset<BlockParameters>("sad-full-row")).run(pair(), expected.map());
  matcher(parameters).run(pair(), result_.map());
  EXPECT_TRUE(same_bytes(result_, expected));
}

TEST_P(MatcherTest, RunsGiveTheSameAgain) {
  Matcher first = matcher(small_search());
  first.run(pair(), result_.map());
  Result scratch(size), second(size);
  first.run({right_.view(), left_.view()}, scratch.map());
  first.run(pair(), second.map());
  EXPECT_TRUE(same_bytes(result_, second));
  EXPECT_FALSE(same_bytes(result_, scratch));
}

TEST_P(MatcherTest, ColourIsMatchedByItsGray) {
  const Plane<std::uint8_t> colours[] = {noise<std::uint8_t>(0, 3), noise<std::uint8_t>(3, 3)};
  Plane<std::uint8_t> grays[] = {Plane<std::uint8_t>(size), Plane<std::uint8_t>(size)};
  for (int side = 0; side < 2; ++side)
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) {
        const std::uint8_t* pixel = colours[side].row(y) + 3 * x;
        grays[side].at(x, y) =
            static_cast<std::uint8_t>((9797 * pixel[0] + 19234 * pixel[1] + 3737 * pixel[2]) >> 15);
      }
  const auto colour = [&](int side) {
    return ImageView(colours[side].row(0), format, 3, colours[side].view().stride_bytes);
  };
  const auto result = [&](const ImageView& left, const ImageView& right) {
    BlockParameters parameters = small_search();
    parameters.refine.fill = Fill::row;  // planes are those of colours
    return match(parameters, device_, {left, right});
  };
  const Result expected = result(grays[0].view(), grays[1].view());
  EXPECT_TRUE(same_bytes(result(colour(0), colour(1)), expected));
  EXPECT_TRUE(same_bytes(result(colour(0), grays[1].view()), expected)) << "colour and gray in one pair";
}

TEST_P(MatcherTest, FindsTheShiftOfNoise) {
  const Plane<std::uint16_t> deep_left = noise<std::uint16_t>(0), deep_right = noise<std::uint16_t>(3);
  const Result results[] = {match(small_search(), device_, pair()),
                            match(small_search(), device_, {deep_left.view(), deep_right.view()})};
  for (const Result& result : results)
    for (int y = 0; y < size.height; ++y)
      for (int x = 8; x < size.width - 3; ++x)
        EXPECT_NEAR(result.disparity.at(x, y), 3.0f, 0.5f) << x << ", " << y;
}

TEST_P(MatcherTest, StagesOfTheLastRunAreTimed) {
  Matcher timed = matcher(small_search());
  EXPECT_TRUE(timed.stage_times().empty());
  timed.run(pair(), result_.map());
  const std::size_t stages = timed.stage_times().size();
  EXPECT_GE(stages, 2u);
  timed.run(pair(), result_.map());
  EXPECT_EQ(timed.stage_times().size(), stages);
  for (const StageTime& time : timed.stage_times()) {
    EXPECT_STRNE(time.stage, "");
    EXPECT_GE(time.milliseconds, 0);
  }
}

TEST_P(MatcherTest, MovedMatcherRuns) {
  Matcher first = matcher(small_search());
  Matcher second = std::move(first);
  first = matcher(preset<BlockParameters>("sad-full-row"));
  second.run(pair(), result_.map());
  Result expected(size);
  matcher(small_search()).run(pair(), expected.map());
  EXPECT_TRUE(same_bytes(result_, expected));
}

TEST(MatcherDeviceTest, DeviceWithoutTheMethodIsRefusedWithThoseThatHaveIt) {
  for (const char* absent : {"cuda", "opencl:1.2"}) {
    const Device device = Device::parse(absent);
    bool runs = false;
    for (const MatcherOnDevice& cell : list_matchers())
      runs |= cell.method == "block" && cell.device == device.kind;
    if (runs) continue;
    for (const auto& error : {error_of([&] { Matcher(small_search(), device, format); }),
                              error_of([&] { estimate_memory_bytes(small_search(), device, format); })})
      expect_error(error, ErrorCategory::device, {"block", absent, "reference", "cpu"});
  }
}

// 60,000 × 60,000 pixels are more than 2³¹.
TEST(SpeckleSizeTest, MapsTooLargeForTheFilterAreRefused) {
  const ImageFormat format{{60000, 60000}};
  BlockParameters parameters;
  expect_refused([&] { estimate_memory_bytes(parameters, {}, format); }, "60000×60000");
  parameters.refine.speckle_size = 0;
  EXPECT_GT(estimate_memory_bytes(parameters, {}, format), std::size_t{1} << 32);
}

TEST_P(MatcherTest, DepthThatIsNoneIsRefused) {
  const auto twelve = static_cast<BitDepth>(12);
  const std::string reason = "depth is 12: choose 8 or 16 bits";
  const ImageFormat odd{size, twelve};
  expect_refused([&] { Matcher(small_search(), device_, odd); }, reason);
  expect_refused([&] { estimate_memory_bytes(small_search(), device_, odd); }, reason);
  expect_error(run_error({left_.view(), ImageView(right_.row(0), odd, 1, 64), {}, {}}, result_.map()),
               ErrorCategory::argument, {reason});
}

TEST_P(MatcherTest, MatcherThatWasMovedFromIsRefused) {
  Matcher first = matcher(small_search());
  Matcher second = std::move(first);
  expect_refused([&] { first.run(pair(), result_.map()); }, "moved from");
  expect_refused([&] { first.enqueue(pair(), result_.map(), nullptr); }, "moved from");
  expect_refused([&] { first.memory_bytes(); }, "moved from");
  expect_refused([&] { first.stage_times(); }, "moved from");
  first = std::move(second);
  EXPECT_NO_THROW(first.run(pair(), result_.map()));
}

TEST_P(MatcherTest, PairsAreDoneWhenTheyAreStarted) {
  Matcher several(small_search(), device_, format, {.pairs_in_flight = 4});
  EXPECT_EQ(several.memory_bytes(), matcher(small_search()).memory_bytes());
  several.start(pair(), result_.map());
  Result expected(size);
  matcher(small_search()).run(pair(), expected.map());
  EXPECT_TRUE(same_bytes(result_, expected));
  several.wait();
  expect_refused([&] { several.wait(-1); }, "most_running is -1: choose a finite number, 0 or more");
  expect_refused([&] { Matcher(small_search(), device_, format, {.pairs_in_flight = 0}); },
                 "pairs_in_flight is 0: choose a number from 1 to 64");
}

}  // namespace
}  // namespace parallax::test
