// SPDX-License-Identifier: Apache-2.0
// For every method, the cpu device gives the bytes of the reference, on every vector target and thread count.
// This includes floats, because vector lanes do the reference's operations in the same order.

#include <functional>
#include <map>
#include <tuple>

#include <gtest/gtest.h>

#include "conformance/random_case.h"
#include "support.h"

namespace parallax::test {
namespace {

// The parameters of a test are a method and a vector target.
class CpuConformance : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  void SetUp() override { force_cpu_target(target()); }
  void TearDown() override { force_cpu_target(""); }
  static const std::string& method() { return std::get<0>(GetParam()); }
  static const std::string& target() { return std::get<1>(GetParam()); }

  // The result of the reference, computed once for all vector targets.
  static const Result& expected(const std::string& problem, const std::function<Result()>& find) {
    static std::map<std::string, Result> found;
    const auto known = found.find(method() + problem);
    return known != found.end() ? known->second : found.emplace(method() + problem, find()).first->second;
  }
};

TEST_P(CpuConformance, EqualsTheReferenceOnRandomCases) {
  for (unsigned seed = 0; seed < (sanitized ? 12 : 120); ++seed) {
    if (!takes_case(target(), seed)) continue;
    const RandomCase random_case(method(), seed);
    const bool with_confidence = random_case.with_confidence();
    const Result& wanted = expected(random_case.description(), [&] {
      return match(random_case.parameters(), reference, random_case.pair(), 0x11, with_confidence);
    });
    for (const int threads : thread_counts(target(), seed))
      expect_same(wanted,
                  match(random_case.parameters(), cpu(threads), random_case.pair(), 0xEE, with_confidence),
                  std::to_string(threads) + " threads: " + random_case.description());
    if (HasFailure()) return;
  }
}

TEST_P(CpuConformance, CandidatesEqualTheReferenceOnRandomCases) {
  if (method() != "bp") GTEST_SKIP() << "only bp has candidates";
  for (unsigned seed = 0; seed < (sanitized ? 12 : 80); ++seed) {
    if (!takes_case(target(), seed)) continue;
    const RandomCase random_case("bp", 10'000 + seed);
    if (random_case.pair().costs.labels > 0) continue;  // its labels may be far outside the image
    const BeliefPropagationParameters parameters = with_candidates(random_case, seed);
    const Result& wanted = expected("candidates, " + random_case.description(), [&] {
      return match(parameters, reference, random_case.pair(), 0x11, random_case.with_confidence());
    });
    for (const int threads : thread_counts(target(), seed))
      expect_same(wanted,
                  match(parameters, cpu(threads), random_case.pair(), 0xEE, random_case.with_confidence()),
                  std::to_string(threads) + " threads: " + random_case.description());
    if (HasFailure()) return;
  }
}

TEST_P(CpuConformance, AlignedRowsEqualTheReferenceOnRandomCases) {
  if (method() != "bp") GTEST_SKIP() << "only bp aligns rows";
  for (unsigned seed = 0; seed < (sanitized ? 4 : 12); ++seed) {
    const MisalignedCase misaligned(seed);
    const StereoPair pair = misaligned.images.pair();
    const Result& wanted = expected(
        misaligned.description, [&] { return match(misaligned.parameters, reference, pair, 0x11, true); });
    for (const int threads : thread_counts(target(), seed))
      expect_same(wanted, match(misaligned.parameters, cpu(threads), pair, 0xEE, true),
                  std::to_string(threads) + " threads: " + misaligned.description);
    if (HasFailure()) return;
  }
}

TEST_P(CpuConformance, KeepsNothingFromTheRunBefore) {
  for (unsigned seed = 1000; seed < (sanitized ? 1005 : 1030); ++seed) {
    if (!takes_case(target(), seed)) continue;
    const RandomCase random_case(method(), seed);
    const StereoPair pair = random_case.pair();
    const Size size = pair.left.format.size;
    const std::vector<float> no_costs(size.pixels() * static_cast<std::size_t>(pair.costs.labels));
    StereoPair other{pair.right, pair.left, pair.right_mask, {}};
    if (pair.costs.labels > 0) other.costs = CostVolume(no_costs.data(), size, pair.costs.labels);
    for (const Device& device : processors(method()))
      EXPECT_EQ(estimate_memory_bytes(random_case.parameters(), device, pair.left.format),
                Matcher(random_case.parameters(), device, pair.left.format).memory_bytes());
    Matcher matcher(random_case.parameters(), cpu(2), pair.left.format);
    const bool with_confidence = random_case.with_confidence();
    const bool with_row_offsets = with_confidence && matcher.has_row_offsets();
    Result first(size, 0x11, with_confidence, with_row_offsets),
        second(size, 0xEE, with_confidence, with_row_offsets), last(size, 0x77);
    matcher.run(pair, first.map());
    matcher.run(other, second.map());
    matcher.run(pair, second.map());
    ASSERT_TRUE(same_bytes(first, second)) << random_case.description();
    matcher.run(pair, last.map());
    ASSERT_TRUE(same_bytes(first.disparity, last.disparity) && same_bytes(first.status, last.status))
        << "without confidence, " << random_case.description();
  }
}

// Parameters for a number of labels; costs and other choices change with that number.
std::vector<MatcherParameters> parameters_for_labels(const std::string& method, int labels) {
  std::vector<MatcherParameters> list;
  if (method == "block") {
    for (const int window : {1, 3, 9}) {
      BlockParameters parameters = plain_block();
      parameters.window = window;
      parameters.cost = static_cast<BlockCost>(labels % 3);
      list.emplace_back(parameters);
    }
  } else if (method == "bp") {
    BeliefPropagationParameters parameters = plain_belief_propagation();
    parameters.arithmetic = static_cast<Arithmetic>(labels % 5);
    parameters.cost = static_cast<DataCost>(labels % 4);
    parameters.iterations = 3;
    parameters.levels = 2;
    list.emplace_back(parameters);
  } else if (method == "tiled-bp") {
    TiledBeliefPropagationParameters parameters = plain_tiled_contest();
    parameters.cost = static_cast<DataCost>(labels % 4);
    if (labels % 3 == 0) parameters.cost = DataCost::mean_absolute_difference;
    parameters.message_width = labels % 5 == 0 ? MessageWidth::bits16 : MessageWidth::automatic;
    parameters.tile = labels % 3 == 1 ? 0 : labels % 37 + 1;
    list.emplace_back(parameters);
  } else {
    list.push_back(preset(method, "default"));
  }
  for (MatcherParameters& parameters : list) {
    parameters.disparities() = labels;
    parameters.min_disparity() = labels % 2 == 1 ? 0 : labels % 7 - 3;
  }
  return list;
}

// Ranges that end anywhere in a vector, and more labels than a byte can count, on images wide enough that
// most pixels have every label of the smaller ranges.
TEST_P(CpuConformance, EqualsTheReferenceForEveryLabelCount) {
  if (method() == "planes") GTEST_SKIP() << "vectors of planes hold pixels, not labels";
  const bool is_slow = capabilities(method()).energy;
  const SynthPair pair = synthesize({.size = is_slow ? Size{71, 5} : Size{173, 5}, .disparities = 30});
  std::vector<int> counts{127, 128, 129, 255, 256, 257, 300, 1023, 1024};
  const int fewest = static_cast<int>(describe_parameter(method(), "disparities").least);
  const int step = sanitized ? 17 : method() == "motion" ? 6 : 1;
  for (int labels = fewest; labels <= 70; labels += step) counts.push_back(labels);
  for (const int labels : counts) {
    if (!takes_case(target(), static_cast<unsigned>(labels))) continue;
    int number = 0;
    for (const MatcherParameters& parameters : parameters_for_labels(method(), labels)) {
      const std::string which = std::to_string(labels) + " labels, parameters " + std::to_string(number++);
      // This matcher has run before, so its memory holds values of another row.
      Matcher matcher(parameters, cpu(1), pair.left_view().format);
      Result actual(pair.size());
      for (int i = 0; i < 2; ++i) matcher.run(views(pair), actual.map());
      const Result& wanted = expected(which, [&] { return match(parameters, reference, views(pair)); });
      ASSERT_TRUE(same_bytes(wanted, actual)) << which;
    }
  }
}

std::vector<MatcherParameters> parameters_for_larger_pair(const std::string& method) {
  const auto with_each = [&](const char* name, std::initializer_list<const char*> values) {
    std::vector<MatcherParameters> list;
    for (const char* value : values) {
      list.push_back(preset(method, "default"));
      list.back().disparities() = 40;
      set_parameter(list.back(), name, value);
    }
    return list;
  };
  if (method == "block") return with_each("cost", {"sad", "ssd", "zncc"});
  if (method == "census") return with_each("pyramid_levels", {"1", "3"});
  if (method == "bp") return with_each("arithmetic", {"fixed8", "float16"});
  return with_each("disparities", {"40"});
}

// Several bands, blocks and tiles in both directions, and a band of rows for each thread.
TEST_P(CpuConformance, EqualsTheReferenceOnALargerPair) {
  const SynthPair pair = synthesize({.size = {331, sanitized ? 29 : 49}, .disparities = 37});
  unsigned number = 0;
  for (const MatcherParameters& parameters : parameters_for_larger_pair(method())) {
    if (!takes_case(target(), ++number)) continue;
    const std::string which = "larger pair, parameters " + std::to_string(number);
    const Result& wanted =
        expected(which, [&] { return match(parameters, reference, views(pair), 0x11, true); });
    for (const int threads : thread_counts(target(), number))
      expect_same(wanted, match(parameters, cpu(threads), views(pair), 0xEE, true),
                  which + ", " + std::to_string(threads) + " threads");
  }
}

// With one iteration, only one colour of each level is updated before its messages are passed on.
TEST_P(CpuConformance, EqualsTheReferenceAfterOneIterationOnManyLevels) {
  if (method() != "bp") GTEST_SKIP() << "only bp has levels";
  const SynthPair pair = synthesize({.size = {97, 45}, .disparities = 40});
  for (const Arithmetic arithmetic : {Arithmetic::fixed8, Arithmetic::fixed16})
    for (const int candidate_levels : {0, 2}) {
      BeliefPropagationParameters parameters = plain_belief_propagation();
      parameters.arithmetic = arithmetic;
      parameters.candidate_levels = arithmetic == Arithmetic::fixed8 ? candidate_levels : 0;
      parameters.disparities = 68;
      parameters.levels = 8;
      parameters.iterations = 1;
      const std::string which = "one iteration, " + name_in_tests(get_parameter(parameters, "arithmetic")) +
                                ", " + std::to_string(parameters.candidate_levels) +
                                " levels with candidates";
      const Result& wanted =
          expected(which, [&] { return match(parameters, reference, views(pair), 0x11, true); });
      // The second run finds the messages of the first one.
      Matcher matcher(parameters, cpu(2), pair.left_view().format);
      Result actual(pair.size(), 0xEE, true);
      for (int run = 0; run < 2; ++run) {
        matcher.run(views(pair), actual.map());
        expect_same(wanted, actual, which + ", run " + std::to_string(run));
      }
    }
}

// There are so many columns and labels that the candidates of a row of tiles do not fit in the cache at once.
TEST_P(CpuConformance, CandidatesInSeveralStripsOfColumnsEqualTheReference) {
  if (method() != "bp") GTEST_SKIP() << "only bp has candidates";
  const SynthPair pair = synthesize({.size = {300, 20}, .disparities = 60});
  BeliefPropagationParameters parameters;
  parameters.disparities = 256;
  parameters.levels = 3;
  parameters.iterations = 5;
  parameters.candidate_levels = 2;
  const Result& wanted =
      expected("strips", [&] { return match(parameters, reference, views(pair), 0x11, true); });
  for (const int threads : {1, 3})
    expect_same(wanted, match(parameters, cpu(threads), views(pair), 0xEE, true),
                std::to_string(threads) + " threads");
}

INSTANTIATE_TEST_SUITE_P(Target, CpuConformance,
                         testing::Combine(testing::ValuesIn(list_methods()),
                                          testing::ValuesIn(cpu_targets())),
                         [](const auto& test) {
                           return name_in_tests(std::get<0>(test.param)) + "_" + std::get<1>(test.param);
                         });

}  // namespace
}  // namespace parallax::test
