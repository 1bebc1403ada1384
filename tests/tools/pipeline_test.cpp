// SPDX-License-Identifier: Apache-2.0
#include "tools/command/pipeline.h"

#include <atomic>
#include <stdexcept>

#include <gtest/gtest.h>

namespace parallax::tool {
namespace {

TEST(PipelineTest, EveryItemGoesThroughEveryStageInOrder) {
  constexpr std::size_t slots = 3;
  for (const int count : {0, 1, 2, 3, 4, 1000}) {
    std::vector<int> items(slots, -1), squared(slots, -1), result;
    std::atomic<int> under_way = 0, most = 0;
    int taken = 0;
    run_pipeline(slots,
                 [&](std::size_t slot) {
                   if (taken == count) return false;
                   most = std::max<int>(most, ++under_way);
                   items[slot] = taken++;
                   return true;
                 },
                 {{false, [&](std::size_t slot) { squared[slot] = items[slot] * items[slot]; }},
                  {true, [&](std::size_t slot) { squared[slot] += items[slot]; }},
                  {true, [&](std::size_t slot) {
                     result.push_back(squared[slot]);
                     --under_way;
                   }}});
    ASSERT_EQ(result.size(), static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) EXPECT_EQ(result[static_cast<std::size_t>(i)], i * i + i);
    EXPECT_LE(most, static_cast<int>(slots));
  }
}

TEST(PipelineTest, WhatAStageThrowsComesOut) {
  int taken = 0, begun = 0, finished = 0;
  const auto run = [&] {
    run_pipeline(2, [&](std::size_t) { return ++taken <= 1000; },
                 {{true,
                   [&](std::size_t) {
                     if (++begun == 10) throw std::invalid_argument("the tenth");
                   }},
                  {true, [&](std::size_t) { ++finished; }}});
  };
  EXPECT_THROW(run(), std::invalid_argument);
  EXPECT_LT(finished, 10);
  EXPECT_LT(taken, 20);
}

}  // namespace
}  // namespace parallax::tool
