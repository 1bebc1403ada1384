// SPDX-License-Identifier: Apache-2.0
// Tiles fit into the memory of a GPU.

#include <string>

#include <gtest/gtest.h>

#include "devices/gpu_test.h"
#include "matchers/planning.h"
#include "support.h"

namespace parallax::test {
namespace {

constexpr ImageFormat format{{300, 200}, BitDepth::bits8};

std::size_t needed_on_gpu(const MatcherParameters& parameters, Size size) {
  return detail::make_plan(parameters, gpu(), {size, format.depth}, {})->gpu_memory()->needed;
}

BeliefPropagationParameters few_labels() {
  BeliefPropagationParameters parameters;
  parameters.disparities = 16;
  parameters.levels = 2;
  return parameters;
}

class TilePlanCuda : public GpuTest {};

TEST_F(TilePlanCuda, CutsWhatTheGpuHasNoRoomFor) {
  PARALLAX_NEEDS_EMULATED_GPU();
  const BeliefPropagationParameters parameters = few_labels();
  EXPECT_EQ(plan_tiles(parameters, gpu(), format, {}, {.padding = 5}).tiles.size(), 1u);
  const std::size_t room = needed_on_gpu(parameters, format.size) / 2;
  emulated()->set_memory(room);
  // Also if the limit of the caller is large enough.
  for (const std::size_t limit : {0, 1 << 30}) {
    const TilePlan plan = plan_tiles(parameters, gpu(), format, {limit}, {.padding = 5});
    EXPECT_GT(plan.tiles.size(), 1u);
    EXPECT_LE(needed_on_gpu(parameters, plan.tiles.front().around.size), room);
    EXPECT_NO_THROW(TileMatcher{plan});
  }
}

TEST_F(TilePlanCuda, TilesOfAGpuThatDiesGoToTheOthers) {
  PARALLAX_NEEDS_EMULATED_GPU();
  emulated()->set_device_count(2);
  const MatcherParameters parameters = small_block();
  const SynthPair pair = synthesize({.size = {90, 60}, .disparities = 5});
  const Margins m = margins(parameters, pair.left_view().format);
  const TilePlan plan =
      plan_tiles(parameters, gpu(), pair.left_view().format, {},
                 {.largest = {m.left + m.right + 16 + m.alignment, m.top + m.bottom + 16 + m.alignment}});
  ASSERT_GT(plan.tiles.size(), 5u);
  Result whole = match(parameters, reference, views(pair)), tiled(pair.size());
  match_in_tiles(plan, {gpu(0), gpu(1)}, views(pair), tiled.map(), [](std::size_t done, std::size_t) {
    if (done == 2) emulated()->lose_device(1);
  });
  EXPECT_TRUE(same_bytes(whole, tiled));
}

TEST_F(TilePlanCuda, SaysWhenTheGpuHasNoRoomForASmallTile) {
  PARALLAX_NEEDS_EMULATED_GPU();
  emulated()->set_memory(5000);
  try {
    plan_tiles(few_labels(), gpu(), format, {}, {.padding = 5});
    ADD_FAILURE() << "5000 bytes were enough";
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::memory);
    EXPECT_TRUE(contains(error.what(), "are free on the GPU")) << error.what();
  }
}

}  // namespace
}  // namespace parallax::test
