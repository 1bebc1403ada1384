// SPDX-License-Identifier: Apache-2.0
// The strategies of the block study give the map of block matching. Needs a GPU, or the emulated one.
#include "benchmarks/papers/block_study.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "devices/gpu_test.h"
#include "support.h"

namespace parallax::test {
namespace {

class BlockStudyTest : public GpuTest {
 protected:
  BlockStudyTest() { add_block_study(); }

  // Runs twice, because the second run must not depend on the first.
  static void expect_same_map(const BlockStudyParameters& parameters, const StereoPair& pair,
                              const std::string& strategy) {
    const Result expected = match(parameters.block(), reference, pair, 0x11);
    MatcherParameters study = parameters;
    set_parameter(study, "strategy", strategy);
    Matcher matcher(study, gpu(), pair.left.format);
    for (const int before : {0xEE, 0x77}) {
      Result actual(pair.left.format.size, static_cast<std::uint8_t>(before));
      matcher.run(pair, actual.map());
      expect_same(expected, actual, strategy);
    }
  }
};

// Launches by kernels are linked with CUDA's device runtime.
bool has_device_runtime() {
  return std::filesystem::exists("/usr/local/cuda/lib64/libcudadevrt.a");
}

TEST_F(BlockStudyTest, StrategiesNeverChangeAResult) {
  const SynthPair pair = synthesize({.size = {171, 23}, .disparities = 30});
  for (const std::string& strategy : describe_parameter("block-study", "strategy").choices) {
    if (strategy.starts_with("device-launch") && !has_device_runtime()) continue;
    for (const bool full_row : {false, true}) {
      BlockStudyParameters parameters;
      parameters.full_row = full_row;
      parameters.disparities = 30;
      parameters.refine.left_right_check = !full_row;
      expect_same_map(parameters, views(pair), strategy);
    }
  }
  BlockStudyParameters parameters;
  parameters.streams = 16;
  expect_same_map(parameters, views(pair), "streams");
}

// Constant memory holds this image in several bands.
TEST_F(BlockStudyTest, BandsOfConstantMemoryNeverChangeAResult) {
  const SynthPair pair = synthesize({.size = {900, 130}, .disparities = 5});
  BlockStudyParameters parameters;
  parameters.full_row = false;
  parameters.disparities = 5;
  for (const char* strategy : {"constant-memory", "constant-and-shared-memory"})
    expect_same_map(parameters, views(pair), strategy);
}

TEST_F(BlockStudyTest, StrategiesRefuseWhatTheyLack) {
  const SynthPair pair = synthesize({.size = {31, 5}, .disparities = 9});
  const BlockStudyParameters parameters;
  const ImageFormat format = pair.left_view().format;
  expect_error(error_of([&] {
                 Matcher(parameters, gpu(), {format.size, BitDepth::bits16});
               }),
               ErrorCategory::device, {"values of more than 8 bits"});
  Matcher matcher(parameters, gpu(), format);
  Result result(format.size);
  EXPECT_THROW(matcher.run({pair.left_view(), pair.right_view(), pair.left_mask.view(), {}}, result.map()),
               Error);
  matcher.run({pair.left_view(), pair.right_view()}, result.map());
}

TEST_F(BlockStudyTest, BlockMatchingSaysWhereItsStrategiesAre) {
  expect_refused(
      [] {
        Matcher(preset<BlockParameters>("sad-full-row"), gpu(), {{31, 5}},
                {0, {{"strategy", "global-memory"}}});
      },
      "--paper block");
}

}  // namespace
}  // namespace parallax::test
