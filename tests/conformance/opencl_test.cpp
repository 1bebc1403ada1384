// The opencl device gives the bytes of the reference, for random images and parameters. Needs an OpenCL
// device; PoCL is one on any machine.

#include <string>

#include <gtest/gtest.h>

#include "conformance/block_case.h"
#include "opencl_device.h"
#include "support.h"

namespace parallax::test {
namespace {

class OpenclConformance : public testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override { PARALLAX_NEEDS_OPENCL(); }
};

class OpenclTest : public testing::Test {
 protected:
  void SetUp() override { PARALLAX_NEEDS_OPENCL(); }
};

void expect_same(const Result& expected, const Result& actual, const std::string& which) {
  EXPECT_TRUE(same_bytes(expected.status, actual.status)) << "status, " << which;
  EXPECT_TRUE(same_bytes(expected.disparity, actual.disparity)) << "disparity, " << which;
}

// Runs twice, so that nothing is left of the run before.
void expect_conformance(const BlockParameters& parameters, const StereoPair& pair, const std::string& which) {
  const Result expected = match(parameters, reference, pair);
  Matcher matcher(parameters, opencl_device, pair.left.format);
  for (const int poison : {0xEE, 0x77}) {
    Result actual(pair.left.format.size, poison);
    matcher.run(pair, actual.map());
    expect_same(expected, actual, which);
  }
}

TEST_P(OpenclConformance, BlockMatchingEqualsTheReference) {
  const BlockCase random_case(GetParam());
  // What a GPU would run, every other time.
  const Disguised disguised(GetParam() % 2 == 1 ? as_gpu : nullptr);
  expect_conformance(random_case.parameters(), random_case.pair(),
                     "seed " + std::to_string(GetParam()) + ": " + random_case.description());
}

TEST_F(OpenclTest, VShapedSubPixelEqualsTheReference) {
  const SynthPair pair = synthesize({.size = {131, 45}, .disparities = 16});
  BlockParameters parameters;
  parameters.disparities = 16;
  parameters.sub_pixel = SubPixel::v_shape;
  expect_conformance(parameters, {pair.left_view(), pair.right_view(), {}, {}}, "v-shape");
}

// Each builds kernels of its own, which takes most of the time.
INSTANTIATE_TEST_SUITE_P(Seeds, OpenclConformance, testing::Range(0u, sanitized ? 4u : 12u));

}  // namespace
}  // namespace parallax::test
