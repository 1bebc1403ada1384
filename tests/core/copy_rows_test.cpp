// SPDX-License-Identifier: Apache-2.0
#include "core/copy_rows.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include <gtest/gtest.h>

namespace parallax {
namespace {

// Tests every position of source and target within a vector, rows of every length around it, gaps that must
// stay, both orders of rows, and sizes on both sides of the limit for writing past the caches.
TEST(CopyRowsTest, CopiesTheRowsAndNothingElse) {
  for (const std::size_t row_bytes : {0u, 1u, 15u, 16u, 17u, 63u, 65u, 1009u}) {
    for (const int rows : {1, 3, 300, 1200}) {
      for (const std::size_t offset : {0u, 1u, 7u, 15u}) {
        const std::size_t pitch = row_bytes + 5, bytes = pitch * static_cast<std::size_t>(rows) + 32;
        std::vector<std::byte> from(bytes), to(bytes), expected;
        for (std::size_t i = 0; i < bytes; ++i) from[i] = static_cast<std::byte>(i * 7 + i / 251);
        for (std::size_t i = 0; i < bytes; ++i) to[i] = static_cast<std::byte>(i * 3 + 1);
        expected = to;
        for (int y = 0; y < rows; ++y)
          for (std::size_t x = 0; x < row_bytes; ++x)
            expected[offset + static_cast<std::size_t>(rows - 1 - y) * pitch + x] =
                from[3 + static_cast<std::size_t>(y) * pitch + x];
        std::byte* last = to.data() + offset + static_cast<std::size_t>(rows - 1) * pitch;
        copy_rows({from.data() + 3, static_cast<std::ptrdiff_t>(pitch)},
                  {last, -static_cast<std::ptrdiff_t>(pitch)}, row_bytes, rows, Workers(2));
        ASSERT_EQ(to, expected) << row_bytes << " bytes, " << rows << " rows, offset " << offset;
      }
    }
  }
}

TEST(CopyRowsTest, PlanesAreCopiedTogether) {
  constexpr int rows = 700, width = 4000;
  std::vector<std::byte> from(std::size_t{2} * rows * width), to(from.size()), expected(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 5 + i / 253);
  PlaneCopies copies(rows);
  for (const std::size_t first_column : {100u, 2500u}) {
    copies.add({from.data() + first_column, width}, {to.data() + first_column, 2 * width}, 1000);
    for (std::size_t y = 0; y < rows; ++y)
      for (std::size_t x = first_column; x < first_column + 1000; ++x)
        expected[y * 2 * width + x] = from[y * width + x];
  }
  copies.run(Workers(2));
  EXPECT_EQ(to, expected);
}

TEST(CopyRowsTest, ThreadsCopyEachRowOnceAndAreNoMoreThanTheBytesKeepBusy) {
  EXPECT_EQ(copying_workers(64, {320, 160}).threads(), 1);
  EXPECT_EQ(copying_workers(64, {640, 480}).threads(), 5);
  EXPECT_EQ(copying_workers(64, {4000, 3000}).threads(), 16);
  EXPECT_EQ(copying_workers(1, {4000, 3000}).threads(), 1);
  EXPECT_LE(copying_workers(0, {4000, 3000}).threads(), 16);
  const Workers workers = copying_workers(3, {1000, 1000});
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{100'000}, std::size_t{1'000'000}, std::size_t{1} << 40})
    for (const int rows : {0, 1, 7, 1081}) {
      std::vector<std::atomic<int>> copied(static_cast<std::size_t>(rows));
      for_copied_rows(workers, bytes, rows, [&](int first, int last) {
        for (int y = first; y < last; ++y) ++copied[static_cast<std::size_t>(y)];
      });
      for (const std::atomic<int>& times : copied) EXPECT_EQ(times, 1);
    }
  EXPECT_EQ(copied_ranges(65'536, 480, workers), 1);
  EXPECT_EQ(copied_ranges(1 << 30, 480, workers), 12);
}

}  // namespace
}  // namespace parallax
