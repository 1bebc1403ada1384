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

void expect_same(const Result& expected, const Result& actual, const std::string& which) {
  EXPECT_TRUE(same_bytes(expected.status, actual.status)) << "status, " << which;
  EXPECT_TRUE(same_bytes(expected.disparity, actual.disparity)) << "disparity, " << which;
  EXPECT_TRUE(same_bytes(expected.confidence, actual.confidence)) << "confidence, " << which;
}

// Runs twice, so that nothing is left of the run before.
void expect_conformance(const BlockParameters& parameters, const StereoPair& pair, bool with_confidence,
                        const std::string& which) {
  const Result expected = match(parameters, reference, pair, 0x11, with_confidence);
  Matcher matcher(parameters, opencl_device, pair.left.format);
  for (const int poison : {0xEE, 0x77}) {
    Result actual(pair.left.format.size, poison, with_confidence);
    matcher.run(pair, actual.map());
    expect_same(expected, actual, which);
  }
}

TEST_P(OpenclConformance, BlockMatchingEqualsTheReference) {
  const BlockCase random_case(GetParam());
  // What a GPU would run, every other time.
  const Disguised disguised(GetParam() % 2 == 1 ? as_gpu : nullptr);
  expect_conformance(random_case.parameters(), random_case.pair(), random_case.with_confidence(),
                     "seed " + std::to_string(GetParam()) + ": " + random_case.description());
}

// Each builds kernels of its own, which takes most of the time.
INSTANTIATE_TEST_SUITE_P(Seeds, OpenclConformance, testing::Range(0u, sanitized ? 4u : 12u));

}  // namespace
}  // namespace parallax::test
