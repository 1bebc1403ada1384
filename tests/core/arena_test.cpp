// SPDX-License-Identifier: Apache-2.0
#include "core/arena.h"

#include <algorithm>
#include <cstdint>

#include <gtest/gtest.h>

namespace parallax {
namespace {

bool aligned(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % buffer_alignment == 0;
}

TEST(ArenaTest, BuffersFollowEachOtherOnBoundaries) {
  ArenaLayout layout;
  EXPECT_EQ(layout.reserve<std::uint8_t>(1).offset, 0u);
  EXPECT_EQ(layout.reserve<double>(9).offset, 64u + buffer_gap);
  EXPECT_EQ(layout.reserve<std::uint16_t>(32).offset, 192u + 2 * buffer_gap);
  EXPECT_EQ(layout.reserve<std::int32_t>(17).offset, 256u + 3 * buffer_gap);
  EXPECT_EQ(layout.bytes(), 384u + 4 * buffer_gap);
}

TEST(ArenaTest, BufferRemembersItsCount) {
  ArenaLayout layout;
  EXPECT_EQ(layout.reserve<double>(9).count, 9u);
}

TEST(ArenaTest, NothingTakesNothing) {
  ArenaLayout layout;
  layout.reserve<float>(0);
  layout.reserve_plane<float>({0, 5});
  EXPECT_EQ(layout.bytes(), 2 * buffer_gap);
}

TEST(ArenaTest, PlaneRowsArePaddedToTheAlignment) {
  ArenaLayout layout;
  layout.reserve<std::uint8_t>(1);
  const PlaneBuffer<std::uint16_t> plane = layout.reserve_plane<std::uint16_t>({33, 3});
  EXPECT_EQ(plane.size, (Size{33, 3}));
  EXPECT_EQ(plane.stride, 64);
  EXPECT_EQ(plane.buffer.offset, 64u + buffer_gap);
  EXPECT_EQ(layout.bytes(), 64u + 64 * 3 * sizeof(std::uint16_t) + 2 * buffer_gap);
}

TEST(ArenaTest, LargeLayoutsAreCountedWithoutOverflow) {
  ArenaLayout layout;
  layout.reserve_plane<std::int64_t>({1'000'000, 1'000'000});
  EXPECT_EQ(layout.bytes(), 8'000'000'000'000u + buffer_gap);
}

struct Reserved {
  explicit Reserved(Arena& arena)
      : numbers(arena.reserve<double>(9)),
        pixels(arena.reserve_plane<std::uint8_t>({65, 2})),
        last(arena.reserve<std::uint16_t>(100)) {}

  double* numbers;
  View<std::uint8_t> pixels;
  std::uint16_t* last;
};

TEST(ArenaTest, OnPaperEverythingIsCountedAndNothingIsThere) {
  Arena arena;
  const Reserved on_paper(arena);
  EXPECT_EQ(on_paper.numbers, nullptr);
  EXPECT_TRUE(on_paper.pixels.empty());
  EXPECT_EQ(on_paper.pixels.size, (Size{65, 2}));
  EXPECT_EQ(arena.bytes(), 128u + 256u + 256u + 3 * buffer_gap);
}

TEST(ArenaTest, EveryReservedElementIsMemoryOfItsOwn) {
  Arena arena;
  Reserved all(arena);
  const std::size_t bytes = arena.bytes();
  arena.allocate();
  all = Reserved(arena);
  EXPECT_EQ(arena.bytes(), bytes);
  std::fill_n(all.numbers, 9, 1.5);
  for (int y = 0; y < 2; ++y) std::fill_n(all.pixels.row(y), 65, static_cast<std::uint8_t>(2 + y));
  std::fill_n(all.last, 100, std::uint16_t{7});

  for (int i = 0; i < 9; ++i) EXPECT_EQ(all.numbers[i], 1.5);
  for (int y = 0; y < 2; ++y)
    for (int x = 0; x < 65; ++x) EXPECT_EQ(all.pixels.at(x, y), 2 + y);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(all.last[i], 7);
  for (int y = 0; y < 2; ++y) EXPECT_TRUE(aligned(all.pixels.row(y)));
  EXPECT_TRUE(aligned(all.numbers));
  EXPECT_TRUE(aligned(all.last));
}

TEST(ArenaTest, RefusesMoreThanWasReservedOnPaper) {
  Arena arena;
  const Reserved on_paper(arena);
  arena.allocate();
  const Reserved all(arena);
  EXPECT_THROW(arena.reserve<std::uint8_t>(1), Error);
}

}  // namespace
}  // namespace parallax
