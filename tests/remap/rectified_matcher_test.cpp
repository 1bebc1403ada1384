// SPDX-License-Identifier: Apache-2.0
#include "parallax/rectified_matcher.h"

#include "remap/rectified_case.h"

namespace parallax::test {
namespace {

std::vector<Device> devices() {
  std::vector<Device> devices{reference, cpu(1), cpu(2)};
  for (const DeviceKind kind : {DeviceKind::cuda, DeviceKind::opencl})
    if (is_here(kind)) devices.push_back({kind});
  return devices;
}

TEST(RectifiedMatcherTest, GivesTheMapOfARectifierAndAMatcher) {
  for (const Device& device : devices())
    for (int number = 0; number < rectified_cases; ++number) {
      const RectifiedCase problem = rectified_case(number);
      const Result expected = rectify_and_match(problem);
      RectifiedMatcher matcher(problem.parameters, device, problem.rig, problem.rectify, problem.depth);
      for (int run = 0; run < 2; ++run) {
        Result result(expected.disparity.size(), 0x5A + run);
        matcher.run(problem.left.view(), problem.right.view(), result.map());
        expect_same(expected, result, device.text() + ", " + problem.name);
      }
      if (matcher.has_confidence()) {
        Result result(expected.disparity.size(), 0x5A, true);
        matcher.run(problem.left.view(), problem.right.view(), result.map());
        expect_same(rectify_and_match(problem, true), result,
                    device.text() + ", with confidence, " + problem.name);
      }
      Result started(expected.disparity.size());
      matcher.start(problem.left.view(), problem.right.view(), started.map());
      matcher.wait();
      expect_same(expected, started, device.text() + ", started, " + problem.name);
    }
}

// The rows of the rectified pair are moved in the memory of the host, on every device.
TEST(RectifiedMatcherTest, RowsAreAligned) {
  RectifiedCase problem = rectified_case(0);
  BeliefPropagationParameters parameters;
  parameters.disparities = problem.parameters.disparities();
  parameters.rows = ComparedRows::automatic;
  problem.parameters = parameters;
  const Result expected = rectify_and_match(problem);
  for (const Device& device : devices()) {
    RectifiedMatcher matcher(problem.parameters, device, problem.rig, problem.rectify, problem.depth);
    Result result(expected.disparity.size());
    matcher.run(problem.left.view(), problem.right.view(), result.map());
    expect_same(expected, result, device.text());
  }
}

// Some pixels are masked, because a camera did not see them.
TEST(RectifiedMatcherTest, BothMapsAreThoseOfTheRectifiedPair) {
  const RectifiedCase problem = rectified_case(1);
  const Rectification to = rectify(problem.rig, problem.rectify);
  Picture left(to.size, problem.depth, 3), right(to.size, problem.depth, 3);
  Plane<std::uint8_t> left_mask(to.size), right_mask(to.size);
  Rectifier(problem.rig, to, problem.rectify.interpolation, reference, problem.depth)
      .run(problem.left.view(), problem.right.view(),
           {left.output(), right.output(), left_mask.view(), right_mask.view()});
  const parallax::Result expected =
      parallax::match({left.view(), right.view(), left_mask.view(), right_mask.view()}, problem.parameters,
                      reference, {.both_maps = true});
  for (const Device& device : devices()) {
    RectifiedMatcher matcher(problem.parameters, device, problem.rig, problem.rectify, problem.depth,
                             {.both_maps = true});
    EXPECT_TRUE(matcher.has_both_maps());
    Result result(to.size);
    result.right = std::make_unique<Result>(to.size);
    matcher.run(problem.left.view(), problem.right.view(), result.map());
    expect_same(expected, result, device.text() + ", left");
    expect_same(*expected.right, *result.right, device.text() + ", right");
  }
}

TEST(RectifiedMatcherTest, RowOffsetsArePassedOn) {
  RectifiedCase problem = rectified_case(0);
  EXPECT_FALSE(
      RectifiedMatcher(problem.parameters, reference, problem.rig, problem.rectify).has_row_offsets());
  MotionParameters motion;
  motion.min_disparity = -4;
  motion.disparities = 8;
  motion.min_row_offset = -1;
  motion.row_offsets = 3;
  problem.parameters = motion;
  RectifiedMatcher matcher(problem.parameters, reference, problem.rig, problem.rectify);
  ASSERT_TRUE(matcher.has_row_offsets());
  const Result expected = rectify_and_match(problem, true);
  Result result(expected.disparity.size(), 0x5A, true, true);
  matcher.run(problem.left.view(), problem.right.view(), result.map());
  expect_same(expected, result, "motion");
}

TEST(RectifiedMatcherTest, PixelsThatTheLeftCameraDidNotSeeAreMasked) {
  RectifiedCase problem = rectified_case(0);
  problem.rectify.alpha = 1;
  const Result result = rectify_and_match(problem);
  int masked = 0;
  for (int y = 0; y < result.status.height(); ++y)
    for (int x = 0; x < result.status.width(); ++x)
      if (status_at(result, x, y) == Status::input_masked) ++masked;
  EXPECT_GT(masked, 0);
  EXPECT_EQ(status_at(result, 0, 0), Status::input_masked);
}

TEST(RectifiedMatcherTest, TellsItsStagesAndItsMemory) {
  const RectifiedCase problem = rectified_case(0);
  RectifiedMatcher matcher(problem.parameters, cpu(2), problem.rig);
  const Rectification& to = matcher.rectification();
  EXPECT_EQ(to, rectify(problem.rig));
  const Matcher alone(problem.parameters, cpu(2), {to.size});
  EXPECT_GT(matcher.memory_bytes(), alone.memory_bytes() + 2 * to.size.pixels());
  EXPECT_TRUE(matcher.stage_times().empty());
  Result result(to.size);
  matcher.run(problem.left.view(), problem.right.view(), result.map());
  ASSERT_GT(matcher.stage_times().size(), 1u);
  EXPECT_STREQ(matcher.stage_times().front().stage, "rectify");
}

TEST(RectifiedMatcherTest, RefusesWhatDoesNotFit) {
  const RectifiedCase problem = rectified_case(0);
  RectifiedMatcher matcher(problem.parameters, cpu(1), problem.rig);
  const Size size = matcher.rectification().size;
  Result result(size), small({size.width - 1, size.height});
  const Picture other({8, 8}, BitDepth::bits8, 1), deep(problem.rig.right.size, BitDepth::bits16, 1);
  expect_refused([&] { matcher.run(other.view(), problem.right.view(), result.map()); }, "left image is 8×8");
  expect_refused([&] { matcher.run(problem.left.view(), deep.view(), result.map()); },
                 "right image has 16 bits");
  expect_refused([&] { matcher.run(problem.left.view(), problem.right.view(), small.map()); },
                 "disparity map is");
  expect_error(
      error_of([&] { matcher.enqueue(problem.left.view(), problem.right.view(), result.map(), nullptr); }),
      ErrorCategory::device, {"planned for a GPU"});
  BeliefPropagationParameters volume;
  volume.cost = DataCost::volume;
  expect_refused([&] { RectifiedMatcher(volume, cpu(1), problem.rig); }, "data costs of a caller");
  Rig exchanged_cameras = exchanged(problem.rig);
  expect_refused([&] { RectifiedMatcher(problem.parameters, cpu(1), exchanged_cameras); }, "translation");
  PlanOptions little;
  little.max_memory_bytes = 1000;
  expect_error(error_of([&] {
                 RectifiedMatcher(problem.parameters, cpu(1), problem.rig, RectifyParameters{},
                                  BitDepth::bits8, little);
               }),
               ErrorCategory::memory, {"raise the limit"});
  RectifiedMatcher moved = std::move(matcher);
  moved.run(problem.left.view(), problem.right.view(), result.map());
  expect_refused([&] { matcher.wait(); }, "moved from");
}

}  // namespace
}  // namespace parallax::test
