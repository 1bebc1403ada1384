// SPDX-License-Identifier: Apache-2.0
// The opencl device gives the bytes of the reference for random images and parameters. Needs an OpenCL
// device, which PoCL provides on any machine.

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "conformance/both_maps.h"
#include "conformance/census_stages.h"
#include "conformance/random_case.h"
#include "opencl_device.h"
#include "support.h"

namespace parallax::test {
namespace {

// Every other seed runs the kernels for GPUs.
class OpenclConformance : public testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override {
    PARALLAX_NEEDS_OPENCL();
    if (GetParam() % 2 == 0) return;
    PARALLAX_NEEDS_GPU_KERNELS();
    disguised_.emplace(as_gpu);
  }

 private:
  std::optional<Disguised> disguised_;
};

// Runs twice, because the second run must not depend on the first.
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
  BlockParameters parameters = *random_case.parameters().get_if<BlockParameters>();
  parameters.row_tolerance = 0;  // refused
  expect_conformance(parameters, random_case.pair(), random_case.with_confidence(),
                     random_case.description());
}

TEST(OpenclBothMapsTest, EqualTheReference) {
  PARALLAX_NEEDS_OPENCL();
  const SynthPair pair = synth(Scene::layers, {70, 33}, 12);
  for (const MatcherParameters& parameters : both_maps_cases(DeviceKind::opencl))
    expect_both_maps(parameters, opencl_device, views_with_masks(pair), true, method_name(parameters));
}

// Several strips and groups in both directions, and sums of 16 bits and of more.
TEST(OpenclBlockTest, StripsEqualTheReference) {
  PARALLAX_NEEDS_OPENCL();
  PARALLAX_NEEDS_GPU_KERNELS();
  const Disguised disguised(as_gpu);
  const SynthPair pair = synthesize({.size = {270, 41}, .disparities = 40});
  for (const BlockCost cost : {BlockCost::sad, BlockCost::ssd}) {
    BlockParameters parameters;
    parameters.cost = cost;
    parameters.window = 3;
    parameters.prefilter = Prefilter::none;
    parameters.min_disparity = -5;
    parameters.disparities = 45;
    parameters.uniqueness = 10;
    parameters.refine = RefineParameters::none();
    parameters.refine.left_right_check = true;
    expect_conformance(parameters, views(pair), true, cost == BlockCost::sad ? "sad" : "ssd");
  }
}

// Compares every stage.
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
    expect_same_stages(*expected_plan, *actual_plan, which);
    expect_same(expected, actual, which);
  }
}

// The parameters of one case, except those for which kernels are built, which come from another case:
// building takes most of the time.
CensusParameters with_kernels_of(const CensusParameters& built, CensusParameters parameters) {
  parameters.transform = built.transform;
  parameters.cost = built.cost;
  parameters.ad_truncation = built.ad_truncation;
  parameters.window = built.window;
  if (built.sub_pixel == SubPixel::none || parameters.sub_pixel == SubPixel::none)
    parameters.sub_pixel = built.sub_pixel;
  // The steps after matching build their own kernels.
  parameters.refine.median = built.refine.median;
  parameters.refine.weighted_median = parameters.refine.bilateral = 0;
  parameters.refine.refit = built.refine.refit;
  parameters.row_tolerance = 0;  // refused
  return parameters;
}

CensusParameters census_case(unsigned seed) {
  return *RandomCase("census", seed).parameters().get_if<CensusParameters>();
}

class OpenclCensusConformance : public OpenclConformance {};

TEST_P(OpenclCensusConformance, EqualsTheReference) {
  const CensusParameters built = census_case(GetParam());
  for (unsigned seed = 100 * GetParam(); seed < 100 * GetParam() + 12; ++seed) {
    const RandomCase random_case("census", seed);
    expect_census_conformance(
        with_kernels_of(built, *random_case.parameters().get_if<CensusParameters>()), random_case.pair(),
        random_case.with_confidence(),
        "kernels of seed " + std::to_string(GetParam()) + ", " + random_case.description());
  }
}

TEST(OpenclCensusTest, RowToleranceIsRefusedByName) {
  PARALLAX_NEEDS_OPENCL();
  CensusParameters parameters;
  parameters.row_tolerance = 1;
  expect_error(error_of([&] {
                 Matcher(parameters, opencl_device, {{64, 48}});
               }),
               ErrorCategory::device, {"row_tolerance", "choose"});
}

// All pixels have the same best label, so only its neighbours are compared with it. Uses the kernels of seed
// 1.
TEST(OpenclCensusTest, ComparesBothLabelsBesideTheBest) {
  PARALLAX_NEEDS_OPENCL();
  PARALLAX_NEEDS_GPU_KERNELS();
  const Disguised disguised(as_gpu);
  CensusParameters parameters = with_kernels_of(census_case(1), plain_census());
  parameters.disparities = 16;
  parameters.sub_pixel = SubPixel::parabola;
  for (const int shift : {6, 7}) {
    const ShiftedPair pair({71, 23}, shift);
    for (const int levels : {1, 2}) {
      parameters.pyramid_levels = levels;
      expect_census_conformance(parameters, pair.views(), false,
                                std::to_string(shift) + " pixels, " + std::to_string(levels) + " levels");
    }
  }
}

// Most steps after matching build their own kernels, and other tests cover them. Refit has a single window.
RefineParameters for_opencl(const RefineParameters& parameters) {
  RefineParameters few = RefineParameters::none();
  few.left_right_check = parameters.left_right_check;
  few.refit = parameters.refit > 0 ? 7 : 0;
  return few;
}

// A case of belief propagation that OpenCL can match.
BeliefPropagationParameters for_opencl(BeliefPropagationParameters parameters) {
  parameters.rows = ComparedRows::given;  // has a test of its own
  parameters.row_tolerance = 0;           // refused
  parameters.refine = for_opencl(parameters.refine);
  return parameters;
}

// Every data cost in bytes, and some in 16 bits; by turns with the kernels for processors and those for GPUs.
class OpenclBeliefPropagationConformance : public OpenclConformance {
 protected:
  static constexpr unsigned costs = 5;
  static DataCost cost() { return static_cast<DataCost>(GetParam() % costs); }
  static Arithmetic arithmetic() { return GetParam() < costs ? Arithmetic::fixed8 : Arithmetic::fixed16; }

  // The case with this cost and arithmetic, if possible. All cases share kernels, because building takes most
  // of the time; labels of a volume, which cannot be chosen, may need others.
  static std::optional<BeliefPropagationParameters> changed(const RandomCase& random_case) {
    constexpr std::size_t max_pixels = 1400;
    auto parameters = *random_case.parameters().get_if<BeliefPropagationParameters>();
    const ImageFormat& format = random_case.pair().left.format;
    const bool takes_volume = cost() == DataCost::volume;
    const BitDepth depth = arithmetic() == Arithmetic::fixed8 ? BitDepth::bits8 : BitDepth::bits16;
    if ((parameters.cost == DataCost::volume) != takes_volume || format.depth != depth) return {};
    if (!takes_volume && format.size.pixels() > max_pixels) return {};
    parameters.cost = cost();
    parameters.arithmetic = arithmetic();
    parameters.candidate_levels = 0;
    if (!takes_volume) parameters.disparities = 57 + static_cast<int>(format.size.pixels() % 8);
    try {
      Matcher(parameters, reference, format);
    } catch (const Error&) {
      return {};
    }
    return for_opencl(parameters);
  }
};

TEST_P(OpenclBeliefPropagationConformance, EqualsTheReference) {
  const int cases = cost() == DataCost::volume ? 2 : 8;
  int tried = 0;
  for (unsigned seed = 100 * GetParam(); tried < cases; ++seed) {
    const RandomCase random_case("bp", seed);
    const auto parameters = changed(random_case);
    if (!parameters) continue;
    expect_conformance(*parameters, random_case.pair(), random_case.with_confidence(),
                       random_case.description());
    ++tried;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, OpenclBeliefPropagationConformance, testing::Range(0u, sanitized ? 2u : 7u));

// The rows are moved on the host.
TEST(OpenclAlignmentTest, AlignedRowsEqualTheReference) {
  PARALLAX_NEEDS_OPENCL();
  for (unsigned seed = 0; seed < 4; ++seed) {
    const MisalignedCase misaligned(seed);
    BeliefPropagationParameters parameters = for_opencl(misaligned.parameters);
    parameters.rows = ComparedRows::automatic;
    parameters.arithmetic = Arithmetic::fixed8;
    expect_conformance(parameters, misaligned.images.pair(), true, misaligned.description);
  }
  const MisalignedCase misaligned(0);
  for (const char* method : {"block", "census", "sgm"})
    expect_conformance(misaligned.parameters_of(method), misaligned.images.pair(), true, method);
}

class OpenclCandidateConformance : public OpenclConformance {};

// On a GPU, with a single number of labels, because other numbers have other kernels.
TEST_P(OpenclCandidateConformance, EqualsTheReference) {
  for (unsigned seed = 100 * GetParam(); seed < 100 * GetParam() + 12; ++seed) {
    const RandomCase random_case("bp", 10'000 + seed);
    const StereoPair pair = random_case.pair();
    if (pair.costs.labels > 0) continue;  // its labels may be far outside the image
    BeliefPropagationParameters parameters = for_opencl(with_candidates(random_case, seed));
    parameters.disparities = std::clamp(parameters.disparities, 57, 64);
    if (parameters.min_disparity < 0) parameters.min_disparity = std::max(parameters.min_disparity, -50);
    expect_conformance(parameters, pair, random_case.with_confidence(),
                       std::to_string(parameters.candidate_levels) + " levels with candidates, " +
                           std::to_string(parameters.levels) + " in all, " + random_case.description());
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, OpenclCandidateConformance, testing::Range(0u, 2u));

// One share of the labels on a GPU, and shares of which the last is smaller; any number on a processor.
TEST(OpenclBeliefPropagationTest, EqualsTheReferenceForAnyNumberOfLabels) {
  PARALLAX_NEEDS_OPENCL();
  struct Case {
    Size size;
    int labels, min_disparity, candidate_levels;
  };
  const std::vector<Case> on_processors{{{20, 9}, 100, -60, 0}, {{9, 5}, 1024, -500, 2}},
      on_gpus{{{41, 33}, 2, 0, 2}, {{131, 9}, 21, -7, 2}};
  for (const bool is_gpu : {false, true}) {
    if (is_gpu && !why_no_gpu_kernels().empty()) continue;
    std::optional<Disguised> disguised;
    if (is_gpu) disguised.emplace(as_gpu);
    for (const Case& one : is_gpu ? on_gpus : on_processors) {
      BeliefPropagationParameters parameters;
      parameters.refine = RefineParameters::none();
      parameters.refine.left_right_check = true;
      parameters.disparities = one.labels;
      parameters.min_disparity = one.min_disparity;
      parameters.candidate_levels = one.candidate_levels;
      const SynthPair pair = synthesize({.size = one.size, .disparities = std::min(one.labels, 30)});
      expect_conformance(parameters, views(pair), true,
                         std::to_string(one.labels) + " labels" + (is_gpu ? ", as a GPU" : ""));
    }
  }
}

TEST(OpenclBeliefPropagationTest, WhatItLacksIsRefusedByName) {
  PARALLAX_NEEDS_OPENCL();
  const auto refuses = [](const BeliefPropagationParameters& parameters, const std::string& what) {
    expect_error(error_of([&] {
                   Matcher(parameters, opencl_device, {{64, 48}});
                 }),
                 ErrorCategory::device, {what, "choose"});
  };
  BeliefPropagationParameters parameters;
  for (const Arithmetic arithmetic : {Arithmetic::float32, Arithmetic::float16, Arithmetic::bfloat16}) {
    parameters.arithmetic = arithmetic;
    refuses(parameters, "arithmetic " + get_parameter(parameters, "arithmetic"));
  }
  parameters = {};
  parameters.row_tolerance = 1;
  refuses(parameters, "row_tolerance");
}

// A case of semi-global matching that OpenCL can match.
SemiGlobalParameters for_opencl(SemiGlobalParameters parameters) {
  parameters.row_tolerance = 0;  // refused
  parameters.refine = for_opencl(parameters.refine);
  return parameters;
}

// Every data cost, by turns with the kernels for processors and those for GPUs.
class OpenclSemiGlobalConformance : public OpenclConformance {
 protected:
  static DataCost cost() {
    constexpr DataCost costs[] = {DataCost::absolute_difference,
                                  DataCost::absolute_difference_colour,
                                  DataCost::census,
                                  DataCost::birchfield_tomasi,
                                  DataCost::volume,
                                  DataCost::census_centre_symmetric,
                                  DataCost::gradient_birchfield_tomasi};
    return costs[GetParam() % std::size(costs)];
  }

  // The case with this cost, if possible. All cases share kernels except for the bits of costs, because
  // building takes most of the time; labels of a volume, which cannot be chosen, may need others.
  static std::optional<SemiGlobalParameters> changed(const RandomCase& random_case) {
    constexpr std::size_t max_pixels = 1400;
    auto parameters = *random_case.parameters().get_if<SemiGlobalParameters>();
    const ImageFormat& format = random_case.pair().left.format;
    const bool takes_volume = cost() == DataCost::volume;
    if ((parameters.cost == DataCost::volume) != takes_volume || format.size.pixels() > max_pixels) return {};
    parameters.cost = cost();
    if (!takes_volume) parameters.disparities = 57 + static_cast<int>(format.size.pixels() % 8);
    if (takes_volume && parameters.disparities > 64) return {};
    try {
      Matcher(parameters, reference, format);
    } catch (const Error&) {
      return {};
    }
    return for_opencl(parameters);
  }
};

TEST_P(OpenclSemiGlobalConformance, EqualsTheReference) {
  const int cases = cost() == DataCost::volume ? 3 : 8;
  int tried = 0;
  for (unsigned seed = 100 * GetParam(); tried < cases; ++seed) {
    const RandomCase random_case("sgm", seed);
    const auto parameters = changed(random_case);
    if (!parameters) continue;
    expect_conformance(*parameters, random_case.pair(), random_case.with_confidence(),
                       random_case.description());
    ++tried;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, OpenclSemiGlobalConformance, testing::Range(0u, sanitized ? 4u : 7u));

// One lane on a GPU, and lanes of which the last have fewer labels; any number on a processor.
TEST(OpenclSemiGlobalTest, EqualsTheReferenceForAnyNumberOfLabels) {
  PARALLAX_NEEDS_OPENCL();
  struct Case {
    Size size;
    int labels, min_disparity;
  };
  const std::vector<Case> on_processors{{{20, 9}, 100, -60}, {{9, 5}, 1024, -500}},
      on_gpus{{{41, 33}, 2, 0}, {{130, 9}, 21, -7}, {{33, 5}, 300, -200}};
  for (const bool is_gpu : {false, true}) {
    if (is_gpu && !why_no_gpu_kernels().empty()) continue;
    std::optional<Disguised> disguised;
    if (is_gpu) disguised.emplace(as_gpu);
    for (const Case& one : is_gpu ? on_gpus : on_processors) {
      SemiGlobalParameters parameters;
      parameters.refine = RefineParameters::none();
      parameters.refine.left_right_check = true;
      parameters.disparities = one.labels;
      parameters.min_disparity = one.min_disparity;
      const SynthPair pair = synthesize({.size = one.size, .disparities = std::min(one.labels, 30)});
      for (const Aggregation aggregation : {Aggregation::sgm, Aggregation::mgm}) {
        parameters.aggregation = aggregation;
        expect_conformance(parameters, views(pair), true,
                           std::to_string(one.labels) + " labels" + (is_gpu ? ", as a GPU" : "") +
                               (aggregation == Aggregation::mgm ? ", mgm" : ""));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, OpenclCensusConformance, testing::Range(0u, sanitized ? 2u : 4u));

// Each case builds its own kernels, which takes most of the time.
INSTANTIATE_TEST_SUITE_P(Seeds, OpenclConformance, testing::Range(0u, sanitized ? 4u : 12u));

}  // namespace
}  // namespace parallax::test
