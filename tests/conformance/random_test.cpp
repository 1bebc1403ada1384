// SPDX-License-Identifier: Apache-2.0
// Every method, on random images and parameters: the cpu device gives the bytes of the reference, on every
// vector target and thread count; in floats too, as lanes do the reference's operations in its order.

#include <map>
#include <tuple>

#include <gtest/gtest.h>

#include "conformance/random_case.h"
#include "support.h"

namespace parallax::test {
namespace {

class RandomConformance : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  void SetUp() override { force_cpu_target(std::get<1>(GetParam())); }
  void TearDown() override { force_cpu_target(""); }
  static const std::string& method() { return std::get<0>(GetParam()); }
};

// What the reference finds is found once, for all vector targets.
const Result& expected_of(const RandomCase& random_case) {
  static std::map<std::string, Result> found;
  const auto known = found.find(random_case.description());
  if (known != found.end()) return known->second;
  return found
      .emplace(random_case.description(), match(random_case.parameters(), reference, random_case.pair(), 0x11,
                                                random_case.with_confidence()))
      .first->second;
}

TEST_P(RandomConformance, EqualsTheReference) {
  for (unsigned seed = 0; seed < (sanitized ? 20 : 160); ++seed) {
    const RandomCase random_case(method(), seed);
    const Result& expected = expected_of(random_case);
    for (const int threads : {1, 2, 7}) {
      const Result actual = match(random_case.parameters(), cpu(threads), random_case.pair(), 0xEE,
                                  random_case.with_confidence());
      const auto which = [&] {
        return ", " + std::to_string(threads) + " threads: " + random_case.description();
      };
      ASSERT_TRUE(same_bytes(expected.status, actual.status)) << "status" << which();
      ASSERT_TRUE(same_bytes(expected.disparity, actual.disparity)) << "disparity" << which();
      ASSERT_TRUE(same_bytes(expected.confidence, actual.confidence)) << "confidence" << which();
    }
  }
}

TEST_P(RandomConformance, KeepsNothingFromTheRunBefore) {
  for (unsigned seed = 1000; seed < (sanitized ? 1005 : 1030); ++seed) {
    const RandomCase random_case(method(), seed);
    const StereoPair pair = random_case.pair();
    const Size size = pair.left.format.size;
    const std::vector<float> no_costs(size.pixels() * static_cast<std::size_t>(pair.costs.labels));
    StereoPair other{pair.right, pair.left, pair.right_mask, {}};
    if (pair.costs.labels > 0) other.costs = CostVolume(no_costs.data(), size, pair.costs.labels);
    Matcher matcher(random_case.parameters(), cpu(2), pair.left.format);
    const bool with_confidence = random_case.with_confidence();
    Result first(size, 0x11, with_confidence), second(size, 0xEE, with_confidence), last(size, 0x77);
    matcher.run(pair, first.map());
    matcher.run(other, second.map());
    matcher.run(pair, second.map());
    ASSERT_TRUE(same_bytes(first, second)) << random_case.description();
    matcher.run(pair, last.map());
    ASSERT_TRUE(same_bytes(first.disparity, last.disparity) && same_bytes(first.status, last.status))
        << "without confidence, " << random_case.description();
  }
}

INSTANTIATE_TEST_SUITE_P(Target, RandomConformance,
                         testing::Combine(testing::ValuesIn(list_methods()),
                                          testing::ValuesIn(cpu_targets())),
                         [](const auto& test) {
                           return name_in_tests(std::get<0>(test.param)) + "_" + std::get<1>(test.param);
                         });

}  // namespace
}  // namespace parallax::test
