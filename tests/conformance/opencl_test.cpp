// SPDX-License-Identifier: Apache-2.0
// The opencl device gives the bytes of the reference, for random images and parameters. Needs an OpenCL
// device; PoCL is one on any machine.

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "conformance/census_stages.h"
#include "conformance/random_case.h"
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
void expect_conformance(const MatcherParameters& parameters, const StereoPair& pair, bool with_confidence,
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
  const RandomCase random_case("block", GetParam());
  // What a GPU would run, every other time.
  if (GetParam() % 2 == 1) {
    PARALLAX_NEEDS_GPU_KERNELS();
  }
  const Disguised disguised(GetParam() % 2 == 1 ? as_gpu : nullptr);
  expect_conformance(random_case.parameters(), random_case.pair(), random_case.with_confidence(),
                     random_case.description());
}

// At every stage.
void expect_census_conformance(const CensusParameters& parameters, const StereoPair& pair,
                               bool with_confidence, const std::string& which) {
  const ImageFormat format = pair.left.format;
  const auto expected_plan = make_census_plan(parameters, reference, format),
             actual_plan = make_census_plan(parameters, opencl_device, format);
  Result expected(format.size, 0x11, with_confidence);
  expected_plan->run(pair, expected.map());
  for (const int poison : {0xEE, 0x77}) {
    Result actual(format.size, poison, with_confidence);
    actual_plan->run(pair, actual.map());
    expect_same_stages(dynamic_cast<const census::CensusPlan&>(*expected_plan),
                       dynamic_cast<const census::CensusPlan&>(*actual_plan), which);
    expect_same(expected, actual, which);
  }
}

// The parameters of one case, with those of another that kernels are built for: building takes most of the
// time.
CensusParameters with_kernels_of(const CensusParameters& built, CensusParameters parameters) {
  parameters.transform = built.transform;
  parameters.cost = built.cost;
  parameters.ad_truncation = built.ad_truncation;
  parameters.window = built.window;
  if (built.sub_pixel == SubPixel::none || parameters.sub_pixel == SubPixel::none)
    parameters.sub_pixel = built.sub_pixel;
  // The steps after it build theirs.
  parameters.refine.median = built.refine.median;
  parameters.refine.weighted_median = parameters.refine.bilateral = 0;
  return parameters;
}

CensusParameters census_case(unsigned seed) {
  return *RandomCase("census", seed).parameters().get_if<CensusParameters>();
}

class OpenclCensusConformance : public OpenclConformance {};

TEST_P(OpenclCensusConformance, EqualsTheReference) {
  if (GetParam() % 2 == 1) {
    PARALLAX_NEEDS_GPU_KERNELS();
  }
  const Disguised disguised(GetParam() % 2 == 1 ? as_gpu : nullptr);
  const CensusParameters built = census_case(GetParam());
  for (unsigned seed = 100 * GetParam(); seed < 100 * GetParam() + 12; ++seed) {
    const RandomCase random_case("census", seed);
    expect_census_conformance(
        with_kernels_of(built, *random_case.parameters().get_if<CensusParameters>()), random_case.pair(),
        random_case.with_confidence(),
        "kernels of seed " + std::to_string(GetParam()) + ", " + random_case.description());
  }
}

// All pixels have the same best label, so that only those beside it are compared with it. Of the kernels of
// seed 1.
TEST(OpenclCensusTest, ComparesBothLabelsBesideTheBest) {
  PARALLAX_NEEDS_OPENCL();
  PARALLAX_NEEDS_GPU_KERNELS();
  const Disguised disguised(as_gpu);
  constexpr Size size{71, 23};
  std::mt19937 random(1);
  Plane<std::uint8_t> scene({size.width + 8, size.height}), left(size), right(size);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < scene.width(); ++x)
      scene.at(x, y) = static_cast<std::uint8_t>(random_number(random, 0, 255));
  CensusParameters parameters = with_kernels_of(census_case(1), plain_census());
  parameters.disparities = 16;
  parameters.sub_pixel = SubPixel::parabola;
  for (const int shift : {6, 7}) {
    for (int y = 0; y < size.height; ++y) {
      std::copy_n(scene.row(y), size.width, left.row(y));
      std::copy_n(scene.row(y) + shift, size.width, right.row(y));
    }
    for (const int levels : {1, 2}) {
      parameters.pyramid_levels = levels;
      expect_census_conformance(parameters, {left.view(), right.view()}, false,
                                std::to_string(shift) + " pixels, " + std::to_string(levels) + " levels");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, OpenclCensusConformance, testing::Range(0u, sanitized ? 2u : 4u));

// Each builds kernels of its own, which takes most of the time.
INSTANTIATE_TEST_SUITE_P(Seeds, OpenclConformance, testing::Range(0u, sanitized ? 4u : 12u));

}  // namespace
}  // namespace parallax::test
