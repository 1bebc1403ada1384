// SPDX-License-Identifier: Apache-2.0
// A run allocates nothing. This is a separate executable because it replaces the allocator.

#include <gtest/gtest.h>

#include "counting_allocator.h"
#include "geometry/random_rig.h"
#include "support.h"

namespace parallax::test {

bool is_counted() {
  return true;
}

namespace {

void expect_no_allocation(const MatcherParameters& parameters) {
  const SynthPair pair = synthesize({.size = {160, 90}, .disparities = 20});
  for (const DeviceKind kind : {DeviceKind::reference, DeviceKind::cpu}) {
    Device device{kind};
    device.threads = 1;  // the allocations of oneTBB do not count
    Matcher matcher(parameters, device, pair.left_view().format, {.both_maps = true});
    parallax::Result result = matcher.make_result();
    const int before = allocations;
    matcher.run({pair.left_view(), pair.right_view()}, result.map());
    EXPECT_EQ(allocations - before, 0) << kind;
    EXPECT_GT(matcher.stage_times().size(), 4u);
  }
}

TEST(AllocationTest, BlockMatchingAllocatesNothing) {
  for (const BlockCost cost : {BlockCost::sad, BlockCost::zncc}) {
    BlockParameters parameters;
    parameters.disparities = 20;
    parameters.cost = cost;
    parameters.uniqueness = 5;
    parameters.texture_threshold = 10;
    parameters.refine.refit = 5;
    parameters.refine.weighted_median = 5;
    parameters.refine.bilateral = 3;
    expect_no_allocation(parameters);
  }
}

TEST(AllocationTest, BeliefPropagationAllocatesNothing) {
  for (const Arithmetic arithmetic : {Arithmetic::fixed8, Arithmetic::float16}) {
    for (const DataCost cost : {DataCost::census, DataCost::absolute_difference_colour}) {
      BeliefPropagationParameters parameters;
      parameters.disparities = 20;
      parameters.arithmetic = arithmetic;
      parameters.cost = cost;
      parameters.smoothing = 1;
      expect_no_allocation(parameters);
    }
  }
}

TEST(AllocationTest, TiledBeliefPropagationAllocatesNothing) {
  for (const int tile : {0, 13, 32}) {
    for (const DataCost cost : {DataCost::census, DataCost::mean_absolute_difference}) {
      TiledBeliefPropagationParameters parameters;
      parameters.disparities = 20;
      parameters.tile = tile;
      parameters.cost = cost;
      parameters.smoothing = 1;
      expect_no_allocation(parameters);
    }
  }
}

TEST(AllocationTest, RectificationAllocatesNothing) {
  const Rig rig = chessboard_rig();
  const RectifyParameters parameters{.size = {64, 48}};
  Plane<std::uint8_t> left(rig.left.size), right(rig.right.size), to({64, 48}), other({64, 48}),
      mask({64, 48});
  for (const DeviceKind kind : {DeviceKind::reference, DeviceKind::cpu}) {
    Device device{kind};
    device.threads = 1;
    Rectifier rectifier(rig, parameters, device);
    const int before = allocations;
    rectifier.run(left.view(), right.view(), {to.view(), other.view(), mask.view(), mask.view()});
    EXPECT_EQ(allocations - before, 0) << kind;
  }
}

}  // namespace
}  // namespace parallax::test
