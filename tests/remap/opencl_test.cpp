// SPDX-License-Identifier: Apache-2.0
#include "devices/small_opencl_device.h"
#include "opencl_device.h"
#include "remap/random_remap.h"
#include "remap/rectified_case.h"

namespace parallax::test {
namespace {

void expect_bytes_of_the_reference(unsigned first_seed) {
  for (unsigned seed = first_seed; seed < first_seed + 10; ++seed) {
    const RemapCase problem = random_remap(seed);
    EXPECT_TRUE(remap_on(opencl_device, problem, seed, 2) == remap_on(reference, problem, seed))
        << "seed " << seed << ": " << describe(problem);
  }
}

TEST(OpenclRemapTest, GivesTheBytesOfTheReference) {
  PARALLAX_NEEDS_OPENCL();
  expect_bytes_of_the_reference(3000);
}

TEST(OpenclRemapTest, GivesTheBytesOfTheReferenceOnGpus) {
  PARALLAX_NEEDS_OPENCL();
  PARALLAX_NEEDS_GPU_KERNELS();
  const Disguised disguised(as_gpu);
  expect_bytes_of_the_reference(3100);
}

// Pictures are written and read where the host has mapped the memory that it shares.
TEST(OpenclRemapTest, NothingIsCopiedWhereTheHostSharesTheMemory) {
  PARALLAX_NEEDS_OPENCL();
  PARALLAX_NEEDS_GPU_KERNELS();
  const DisguisedAs disguised(intel_gpu());
  expect_bytes_of_the_reference(3100);
  const RectifiedCase problem = rectified_case(0);
  RectifiedMatcher matcher(problem.parameters, opencl_device, problem.rig, problem.rectify, problem.depth);
  Result result(matcher.rectification().size, 0x5A);
  matcher.run(problem.left.view(), problem.right.view(), result.map());
  expect_same(rectify_and_match(problem), result, problem.name);
  const OpenclCalls& calls = DisguisedAs::calls();
  EXPECT_GT(calls.launches, 0);
  EXPECT_EQ(calls.writes, 0);
  EXPECT_EQ(calls.reads, 0);
  EXPECT_EQ(calls.maps, calls.unmaps);
}

// A processor is tested with the other devices.
TEST(OpenclRectifiedMatcherTest, RectifiesOnGpus) {
  PARALLAX_NEEDS_OPENCL();
  PARALLAX_NEEDS_GPU_KERNELS();
  const Disguised disguised(as_gpu);
  for (int number = 0; number < rectified_cases; ++number) {
    const RectifiedCase first = rectified_case(number, 10), second = rectified_case(number, 20);
    RectifiedMatcher matcher(first.parameters, opencl_device, first.rig, first.rectify, first.depth);
    const Rectification& to = matcher.rectification();
    const Matcher alone(first.parameters, opencl_device, {to.size, first.depth});
    EXPECT_GT(matcher.memory_bytes(), alone.memory_bytes() + 9 * to.size.pixels());
    for (const RectifiedCase* problem : {&first, &second, &first}) {
      Result result(to.size, 0x5A);
      matcher.run(problem->left.view(), problem->right.view(), result.map());
      expect_same(rectify_and_match(*problem), result, problem->name);
      ASSERT_FALSE(matcher.stage_times().empty());
      // The host's stage would be "rectify".
      EXPECT_STREQ(matcher.stage_times().front().stage, "upload");
    }
  }
}

TEST(OpenclRectifiedMatcherTest, RefusesMoreMemoryThanTheDeviceAllocates) {
  PARALLAX_NEEDS_OPENCL();
  PARALLAX_NEEDS_GPU_KERNELS();
  const Disguised disguised([](opencl::DeviceInfo& info) {
    as_gpu(info);
    info.largest_buffer_bytes = 1000;
  });
  const RectifiedCase problem = rectified_case(0);
  expect_error(error_of([&] { RectifiedMatcher(problem.parameters, opencl_device, problem.rig); }),
               ErrorCategory::memory, {"allocates at once"});
}

}  // namespace
}  // namespace parallax::test
