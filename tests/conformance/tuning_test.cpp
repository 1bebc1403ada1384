// SPDX-License-Identifier: Apache-2.0
// A plan gives the bytes of the reference with any tuned configuration.

#include <random>

#include <gtest/gtest.h>

#include "conformance/random_case.h"
#include "matchers/planning.h"
#include "support.h"

namespace parallax::test {
namespace {

using detail::Configuration, detail::Backend, detail::TuningSpace;

// Every value of every tunable, with the other tunables left to the plan, and some random combinations; at
// most `most` of them.
std::vector<Configuration> configurations(const TuningSpace& space, std::mt19937& random, int together,
                                          std::size_t most) {
  std::vector<Configuration> all;
  for (const detail::Tunable& tunable : space.tunables)
    for (const int value : tunable.values) {
      Configuration one;
      one.set(tunable.name, value);
      all.push_back(one);
    }
  for (int i = 0; i < together; ++i) {
    Configuration several;
    for (const detail::Tunable& tunable : space.tunables)
      if (const int chosen = random_number(random, -1, static_cast<int>(tunable.values.size()) - 1);
          chosen >= 0)
        several.set(tunable.name, tunable.values[static_cast<std::size_t>(chosen)]);
    all.push_back(several);
  }
  std::erase_if(all, [&](const Configuration& c) { return !space.allowed(c); });
  std::shuffle(all.begin(), all.end(), random);
  all.resize(std::min(all.size(), most));
  return all;
}

std::string text_of(const Configuration& configuration) {
  std::string text;
  for (const auto& [name, value] : configuration.values()) text += " " + name + " " + std::to_string(value);
  return text;
}

struct Problem {
  MatcherParameters parameters;
  StereoPair pair;
  std::string description;
};

// Each configuration compiles its own kernels, which is slow on an emulated GPU and with OpenCL on a
// processor. Sanitizers are slow, too.
std::size_t max_configurations(const Device& device) {
  const bool takes_long = device.kind == DeviceKind::opencl || tuned_device_name(device) == "Emulated GPU";
  return takes_long ? 3 : sanitized ? 4 : 1000;
}

// Adds the number of configurations to `tried`.
void check_problem(const Problem& problem, const Device& device, std::mt19937& random, int together,
                   int& tried) {
  const Backend& backend = detail::find_backend(problem.parameters, device);
  if (backend.tuning_space == nullptr) return;
  const TuningSpace space = backend.tuning_space(problem.parameters, device, problem.pair.left.format);
  if (!space.is_searched()) return;
  const ImageFormat& format = problem.pair.left.format;
  const bool with_confidence = random_number(random, 0, 1) == 0;
  const Result expected = match(problem.parameters, reference, problem.pair, 0x11, with_confidence);
  for (const Configuration& configuration :
       configurations(space, random, together, max_configurations(device))) {
    const std::string which = problem.description + ":" + text_of(configuration);
    std::unique_ptr<detail::Plan> plan;
    try {
      plan = detail::make_plan(problem.parameters, device, format, configuration);
    } catch (const Error&) {
      continue;  // a plan may refuse what it cannot do
    }
    plan->allocate();
    Result result(format.size, 0xEE, with_confidence, with_confidence && plan->tells_row_offsets());
    plan->run(problem.pair, result.map());
    EXPECT_TRUE(same_bytes(expected, result)) << which;
    EXPECT_GT(space.footprint(configuration).occupancy, 0) << which;
    ++tried;
  }
}

// A device refuses what it lacks.
bool is_available(const MatcherParameters& parameters, const Device& device) {
  try {
    detail::find_backend(parameters, device);
    return true;
  } catch (const Error&) {
    return false;
  }
}

class TuningConformance : public testing::TestWithParam<DeviceKind> {};

void check_cases(const std::string& method, DeviceKind kind, unsigned cases) {
  const bool compiles = kind != DeviceKind::cpu;
  std::mt19937 random(7);
  int tried = 0;
  Device device{kind};
  for (unsigned seed = 0; seed < cases && (!compiles || tried == 0); ++seed) {
    const RandomCase one(method, seed + 1000);
    device.threads = static_cast<int>(seed % 3);
    if (!is_available(one.parameters(), device)) continue;
    check_problem({one.parameters(), one.pair(), one.description()}, device, random, compiles ? 3 : 6, tried);
  }
  const Backend& backend = detail::find_backend(preset(method, "default"), device);
  EXPECT_EQ(tried > 0, backend.tuning_space != nullptr) << method;
}

TEST_P(TuningConformance, EveryConfigurationGivesTheBytesOfTheReference) {
  if (!is_here(GetParam())) GTEST_SKIP() << "no device " << name(GetParam());
  constexpr unsigned cases = sanitized ? 4 : 16;
  for (const MatcherOnDevice& entry : list_matchers())
    if (entry.device == GetParam()) check_cases(entry.method, GetParam(), cases);
}

std::string variant_of(const MatcherParameters& parameters, const Device& device) {
  return detail::find_backend(parameters, device).tuning_space(parameters, device, {{64, 48}}).variant;
}

// The best configuration for one problem says nothing about the other.
TEST_P(TuningConformance, PlansOfOtherNumbersHaveOtherVariants) {
  if (!is_here(GetParam())) GTEST_SKIP() << "no device " << name(GetParam());
  if (GetParam() == DeviceKind::opencl) GTEST_SKIP() << "its plans have one variant";
  const Device device{GetParam()};
  BlockParameters high_sums, low_sums;
  high_sums.window = low_sums.window = 31;
  high_sums.prefilter = Prefilter::none;
  low_sums.prefilter = Prefilter::x_sobel;
  EXPECT_NE(variant_of(high_sums, device), variant_of(low_sums, device));
  TiledBeliefPropagationParameters bytes, words;
  words.discontinuity_truncation = bytes.discontinuity_truncation + 1;
  EXPECT_NE(variant_of(bytes, device), variant_of(words, device));
  if (GetParam() != DeviceKind::cuda) return;
  CensusParameters alone, compares;
  alone.uniqueness = 0;
  alone.sub_pixel = SubPixel::none;
  compares.uniqueness = 10;
  EXPECT_NE(variant_of(alone, device), variant_of(compares, device));
}

// The pictures have several bands, strips, tiles and batches, so that the choices matter.
TEST_P(TuningConformance, AndSoItDoesOnAPicture) {
  if (!is_here(GetParam())) GTEST_SKIP() << "no device " << name(GetParam());
  if (GetParam() != DeviceKind::cpu) GTEST_SKIP() << "random cases cover it";
  const SynthPair synthetic = synth(Scene::layers, sanitized ? Size{120, 50} : Size{160, 110}, 24);
  const StereoPair pair{synthetic.left_view(), synthetic.right_view()};
  BeliefPropagationParameters floats;
  floats.arithmetic = Arithmetic::float32;
  TiledBeliefPropagationParameters small_tiles;
  small_tiles.tile = 13;
  std::mt19937 random(8);
  int tried = 0;
  for (MatcherParameters parameters :
       {MatcherParameters(BlockParameters()), MatcherParameters(CensusParameters()),
        MatcherParameters(BeliefPropagationParameters()), MatcherParameters(floats),
        MatcherParameters(TiledBeliefPropagationParameters()), MatcherParameters(small_tiles)}) {
    parameters.disparities() = 24;
    check_problem({parameters, pair, "picture"}, cpu(2), random, sanitized ? 2 : 5, tried);
  }
  EXPECT_GT(tried, sanitized ? 12 : 60);
}

INSTANTIATE_TEST_SUITE_P(Device, TuningConformance,
                         testing::Values(DeviceKind::cpu, DeviceKind::cuda, DeviceKind::opencl),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace
}  // namespace parallax::test
