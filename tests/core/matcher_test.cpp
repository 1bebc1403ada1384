// SPDX-License-Identifier: Apache-2.0
#include "parallax/matcher.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <utility>

#include <gtest/gtest.h>

#include "core/gray.h"

namespace parallax {
namespace {

constexpr float no_value = std::numeric_limits<float>::infinity();
constexpr Size size{40, 24};
constexpr ImageFormat format{size, Depth::bits8};

template <class Call>
Error error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return {ErrorCategory::internal, "nothing was thrown"};
}

bool contains(const Error& error, std::string_view part) {
  return std::string_view(error.what()).find(part) != std::string_view::npos;
}

std::string mebibytes(std::size_t bytes) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return text.data();
}

// Noise; with a shift, the same noise moved to the left by as many columns.
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

struct Result {
  Plane<float> disparity{size, -1000.0f};
  Plane<std::uint8_t> status{size, 255};

  DisparityMap map() { return {disparity.view(), status.view()}; }
  bool operator==(const Result& other) const {
    for (int y = 0; y < size.height; ++y)
      if (std::memcmp(disparity.row(y), other.disparity.row(y), size.width * sizeof(float)) != 0 ||
          std::memcmp(status.row(y), other.status.row(y), size.width) != 0)
        return false;
    return true;
  }
};

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
  Error run_error(const StereoPair& pair, const DisparityMap& map) const {
    return error_of([&] { matcher(small_search()).run(pair, map); });
  }

  const Device device_ = Device::parse(GetParam());
  Plane<std::uint8_t> left_ = noise<std::uint8_t>(0), right_ = noise<std::uint8_t>(3);
  Plane<std::uint8_t> other_size_{Size{size.width, size.height + 1}};
  Result result_;
};

INSTANTIATE_TEST_SUITE_P(Devices, MatcherTest, ::testing::Values("reference", "cpu"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(MatcherTest, PrefilterCapDependsOnTheDepth) {
  BlockParameters parameters = small_search();
  parameters.prefilter_cap = 128;
  const Error error = error_of([&] { matcher(parameters); });
  EXPECT_EQ(error.category(), ErrorCategory::argument);
  EXPECT_TRUE(contains(error, "prefilter_cap")) << error.what();
  EXPECT_TRUE(contains(error, "128")) << error.what();
  EXPECT_TRUE(contains(error, "1 to 127")) << error.what();
  EXPECT_NO_THROW(Matcher(parameters, device_, {size, Depth::bits16}));
}

TEST_P(MatcherTest, ImpossibleSizesAreRefused) {
  for (const Size bad : {Size{0, 5}, Size{5, 0}, Size{-1, 5}, Size{1'000'001, 1}, Size{1, 1'000'001}}) {
    const Error error = error_of([&] { Matcher(small_search(), device_, {bad, Depth::bits8}); });
    EXPECT_EQ(error.category(), ErrorCategory::argument) << error.what();
    EXPECT_TRUE(contains(error, std::to_string(bad.width) + "×" + std::to_string(bad.height)))
        << error.what();
  }
}

TEST_P(MatcherTest, ImpossibleThreadsAreRefused) {
  for (const int threads : {-1, 4097}) {
    Device device = device_;
    device.threads = threads;
    const Error error = error_of([&] { Matcher(small_search(), device, format); });
    EXPECT_EQ(error.category(), ErrorCategory::argument);
    EXPECT_TRUE(contains(error, "threads is " + std::to_string(threads))) << error.what();
  }
}

TEST_P(MatcherTest, DisparitiesMustReachTheImage) {
  BlockParameters parameters = small_search();
  for (const int out : {size.width, -size.width - 7}) {
    parameters.min_disparity = out;
    const Error error = error_of([&] { matcher(parameters); });
    EXPECT_EQ(error.category(), ErrorCategory::argument) << error.what();
    EXPECT_TRUE(contains(error, std::to_string(out))) << error.what();
  }
  for (const int in : {size.width - 1, -size.width - 6}) {
    parameters.min_disparity = in;
    EXPECT_NO_THROW(matcher(parameters).run(pair(), result_.map())) << in;
  }
}

TEST_P(MatcherTest, MemoryIsWhatTheEstimateSays) {
  for (const int median : {0, 5}) {
    BlockParameters parameters = small_search();
    parameters.refine.median = median;
    parameters.refine.speckle_size = 10 * median;
    EXPECT_EQ(matcher(parameters).memory_bytes(), estimate_memory_bytes(parameters, device_, format));
    EXPECT_GT(matcher(parameters).memory_bytes(), 2 * size.pixels());
  }
}

TEST_P(MatcherTest, MemoryBeyondTheLimitIsRefusedWithBothNumbers) {
  const ImageFormat large{{1000, 1000}, Depth::bits8};
  const std::size_t needed = estimate_memory_bytes(small_search(), device_, large);
  const std::size_t allowed = 1 << 19;
  const Error error = error_of([&] { Matcher(small_search(), device_, large, {allowed}); });
  EXPECT_EQ(error.category(), ErrorCategory::memory);
  EXPECT_TRUE(contains(error, "needs " + mebibytes(needed))) << error.what();
  EXPECT_TRUE(contains(error, "512.0 KiB are allowed")) << error.what();
}

TEST_P(MatcherTest, MemoryLimitIsInclusive) {
  const std::size_t needed = estimate_memory_bytes(small_search(), device_, format);
  EXPECT_NO_THROW(Matcher(small_search(), device_, format, {needed}));
  EXPECT_EQ(error_of([&] { Matcher(small_search(), device_, format, {needed - 1}); }).category(),
            ErrorCategory::memory);
}

TEST_P(MatcherTest, MoreThanTheMachineHasIsAnErrorOfMemory) {
  const ImageFormat huge{{1'000'000, 1'000'000}, Depth::bits16};
  BlockParameters parameters = small_search();
  parameters.refine.speckle_size = 0;
  EXPECT_GT(estimate_memory_bytes(parameters, device_, huge), std::size_t{1} << 41);
  EXPECT_EQ(error_of([&] { Matcher(parameters, device_, huge); }).category(), ErrorCategory::memory);
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
    const Error left_error = run_error(left, result_.map()), right_error = run_error(right, result_.map());
    for (const Error& error : {left_error, right_error}) {
      EXPECT_EQ(error.category(), ErrorCategory::argument) << error.what();
      EXPECT_TRUE(contains(error, c.reason)) << error.what();
    }
    EXPECT_TRUE(contains(left_error, "left image")) << left_error.what();
    EXPECT_TRUE(contains(right_error, "right image")) << right_error.what();
  }
}

TEST_P(MatcherTest, MasksOfAnotherSizeAreRefused) {
  StereoPair left = pair(), right = pair();
  left.left_mask = other_size_.view();
  right.right_mask = other_size_.view();
  const Error left_error = run_error(left, result_.map()), right_error = run_error(right, result_.map());
  EXPECT_EQ(left_error.category(), ErrorCategory::argument);
  EXPECT_TRUE(contains(left_error, "left mask is 40×25")) << left_error.what();
  EXPECT_EQ(right_error.category(), ErrorCategory::argument);
  EXPECT_TRUE(contains(right_error, "right mask is 40×25")) << right_error.what();
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
                        {{result_.disparity.view(), other_size_.view()}, "status map"}}) {
    const Error error = run_error(pair(), c.map);
    EXPECT_EQ(error.category(), ErrorCategory::argument) << error.what();
    EXPECT_TRUE(contains(error, c.what)) << error.what();
  }
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

TEST_P(MatcherTest, FindsTheShiftOfNoise) {
  matcher(small_search()).run(pair(), result_.map());
  for (int y = 0; y < size.height; ++y)
    for (int x = 8; x < size.width - 3; ++x)
      EXPECT_NEAR(result_.disparity.at(x, y), 3.0f, 0.5f) << x << ", " << y;
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
  Result expected;
  matcher(preset<BlockParameters>("sad-full-row")).run(pair(), expected.map());
  matcher(parameters).run(pair(), result_.map());
  EXPECT_EQ(result_, expected);
}

TEST_P(MatcherTest, RunsGiveTheSameAgain) {
  Matcher first = matcher(small_search());
  first.run(pair(), result_.map());
  Result scratch, second;
  first.run({right_.view(), left_.view()}, scratch.map());
  first.run(pair(), second.map());
  EXPECT_EQ(result_, second);
  EXPECT_FALSE(result_ == scratch);
}

TEST_P(MatcherTest, ColourIsMatchedByItsGray) {
  const Plane<std::uint8_t> left = noise<std::uint8_t>(0, 3), right = noise<std::uint8_t>(3, 3);
  Plane<std::uint8_t> grays[2] = {Plane<std::uint8_t>(size), Plane<std::uint8_t>(size)};
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      grays[0].at(x, y) =
          static_cast<std::uint8_t>(gray(left.at(3 * x, y), left.at(3 * x + 1, y), left.at(3 * x + 2, y)));
      grays[1].at(x, y) =
          static_cast<std::uint8_t>(gray(right.at(3 * x, y), right.at(3 * x + 1, y), right.at(3 * x + 2, y)));
    }
  Result expected;
  matcher(small_search()).run({grays[0].view(), grays[1].view()}, expected.map());
  // A pair may even mix colour and gray.
  matcher(small_search())
      .run({ImageView(left.row(0), format, 3, left.view().stride_bytes), grays[1].view()}, result_.map());
  EXPECT_EQ(result_, expected);
  matcher(small_search())
      .run({ImageView(left.row(0), format, 3, left.view().stride_bytes),
            ImageView(right.row(0), format, 3, right.view().stride_bytes),
            {},
            {}},
           result_.map());
  EXPECT_EQ(result_, expected);
}

TEST_P(MatcherTest, SixteenBitImagesAreMatched) {
  const Plane<std::uint16_t> left = noise<std::uint16_t>(0), right = noise<std::uint16_t>(3);
  BlockParameters parameters = small_search();
  parameters.prefilter_cap = 32767;
  Matcher(parameters, device_, {size, Depth::bits16}).run({left.view(), right.view()}, result_.map());
  for (int y = 0; y < size.height; ++y)
    for (int x = 8; x < size.width - 3; ++x)
      EXPECT_NEAR(result_.disparity.at(x, y), 3.0f, 0.5f) << x << ", " << y;
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
  Result expected;
  matcher(small_search()).run(pair(), expected.map());
  EXPECT_EQ(result_, expected);
}

TEST(MatcherDeviceTest, DeviceWithoutTheMethodIsRefusedWithThoseThatHaveIt) {
  for (const char* absent : {"cuda", "opencl:1.2"}) {
    const Device device = Device::parse(absent);
    bool runs = false;
    for (const MatcherOnDevice& cell : list_matchers())
      runs |= cell.method == "block" && cell.device == device.kind;
    if (runs) continue;
    for (const Error& error : {error_of([&] { Matcher(small_search(), device, format); }),
                               error_of([&] { estimate_memory_bytes(small_search(), device, format); })}) {
      EXPECT_EQ(error.category(), ErrorCategory::device);
      for (const char* part : {"block", absent, "reference", "cpu"})
        EXPECT_TRUE(contains(error, part)) << error.what() << " should contain " << part;
    }
  }
}

TEST(MatcherDeviceTest, BlockRunsOnTheReferenceAndTheCpu) {
  bool on_reference = false, on_cpu = false;
  for (const MatcherOnDevice& cell : list_matchers()) {
    on_reference |= cell.method == "block" && cell.device == DeviceKind::reference;
    on_cpu |= cell.method == "block" && cell.device == DeviceKind::cpu;
  }
  EXPECT_TRUE(on_reference);
  EXPECT_TRUE(on_cpu);
}

TEST(BlockPresetTest, FullRowPresetIsFiveByFiveSadAndNothingElse) {
  const auto parameters = preset<BlockParameters>("sad-full-row");
  EXPECT_TRUE(parameters.full_row);
  EXPECT_EQ(parameters.window, 5);
  EXPECT_EQ(parameters.cost, BlockCost::sad);
  EXPECT_EQ(parameters.prefilter, Prefilter::none);
  EXPECT_EQ(parameters.sub_pixel, SubPixel::none);
  EXPECT_EQ(parameters.uniqueness, 0);
  EXPECT_EQ(parameters.texture_threshold, 0);
  EXPECT_FALSE(parameters.refine.left_right_check);
  EXPECT_EQ(parameters.refine.speckle_size, 0);
  EXPECT_EQ(parameters.refine.fill, Fill::none);
  EXPECT_EQ(parameters.refine.median, 0);
}

TEST(BlockPresetTest, UnknownPresetIsRefusedWithTheKnownOnes) {
  const Error error = error_of([] { preset<BlockParameters>("best"); });
  EXPECT_EQ(error.category(), ErrorCategory::argument);
  EXPECT_TRUE(contains(error, "best")) << error.what();
  for (const std::string_view name : list_presets("block"))
    EXPECT_TRUE(contains(error, name)) << error.what();
}

// 60,000 × 60,000 pixels are more than 2³¹.
TEST(SpeckleSizeTest, MapsTooLargeForTheFilterAreRefused) {
  const ImageFormat format{{60000, 60000}};
  BlockParameters parameters;
  try {
    estimate_memory_bytes(parameters, {}, format);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("60000×60000"), std::string::npos) << error.what();
  }
  parameters.refine.speckle_size = 0;
  EXPECT_GT(estimate_memory_bytes(parameters, {}, format), std::size_t{1} << 32);
}

TEST_P(MatcherTest, DepthThatIsNoneIsRefused) {
  const auto twelve = static_cast<Depth>(12);
  for (const Error& error :
       {error_of([&] {
          Matcher(small_search(), device_, {size, twelve});
        }),
        error_of([&] {
          estimate_memory_bytes(small_search(), device_, {size, twelve});
        }),
        run_error({left_.view(), ImageView(right_.row(0), {size, twelve}, 1, 64), {}, {}}, result_.map())}) {
    EXPECT_EQ(error.category(), ErrorCategory::argument);
    EXPECT_TRUE(contains(error, "depth is 12: choose 8 or 16 bits")) << error.what();
  }
}

TEST_P(MatcherTest, MaskWithoutMemoryButWithASizeIsRefused) {
  const View<const std::uint8_t> mask(nullptr, size);
  EXPECT_TRUE(contains(run_error({left_.view(), right_.view(), mask, {}}, result_.map()),
                       "left mask points to no memory"));
  EXPECT_TRUE(contains(run_error({left_.view(), right_.view(), {}, mask}, result_.map()),
                       "right mask points to no memory"));
}

TEST_P(MatcherTest, MatcherThatWasMovedFromIsRefused) {
  Matcher first = matcher(small_search());
  Matcher second = std::move(first);
  for (const Error& error :
       {error_of([&] { first.run(pair(), result_.map()); }),
        error_of([&] { first.enqueue(pair(), result_.map(), nullptr); }),
        error_of([&] { first.memory_bytes(); }), error_of([&] { first.stage_times(); })}) {
    EXPECT_EQ(error.category(), ErrorCategory::argument);
    EXPECT_TRUE(contains(error, "moved from")) << error.what();
  }
  first = std::move(second);
  EXPECT_NO_THROW(first.run(pair(), result_.map()));
}

}  // namespace
}  // namespace parallax
