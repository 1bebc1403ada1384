// SPDX-License-Identifier: Apache-2.0
#include "core/copy_rows.h"

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

}  // namespace
}  // namespace parallax
