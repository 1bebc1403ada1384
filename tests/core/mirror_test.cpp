// SPDX-License-Identifier: Apache-2.0
#include "core/mirror.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "support.h"

namespace parallax::test {
namespace {

// Every kind of pixel, widths on both sides of two vectors, rows at any address with gaps that must stay, and
// sizes on both sides of the limit for several threads; to other memory, and in place.
TEST(MirrorTest, TheFirstColumnBecomesTheLastAndGapsStay) {
  for (const std::string& target : cpu_targets()) {
    force_cpu_target(target);
    for (const std::size_t pixel : {1u, 2u, 3u, 4u, 6u})
      for (const Size size :
           {Size{1, 2}, {2, 2}, {15, 3}, {33, 3}, {64, 2}, {127, 3}, {129, 2}, {700, 400}}) {
        const std::size_t gap = pixel % 3 == 0 ? pixel / 3 * 5 : pixel * 5;
        const std::size_t row = static_cast<std::size_t>(size.width) * pixel, pitch = row + gap;
        std::vector<std::byte> from(pitch * static_cast<std::size_t>(size.height)), to(from.size());
        for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + i / 251);
        for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<std::byte>(i * 3 + 1);
        std::vector<std::byte> expected = to, in_place = from, expected_in_place = from;
        for (std::size_t y = 0; y < static_cast<std::size_t>(size.height); ++y)
          for (std::size_t x = 0; x < row; x += pixel)
            for (std::vector<std::byte>* result : {&expected, &expected_in_place})
              std::copy_n(&from[y * pitch + x], pixel, &(*result)[y * pitch + row - pixel - x]);
        const auto stride = static_cast<std::ptrdiff_t>(pitch);
        mirror_rows({from.data(), stride}, {to.data(), stride}, size, pixel, Workers(2));
        mirror_rows({in_place.data(), stride}, {in_place.data(), stride}, size, pixel, Workers(2));
        ASSERT_EQ(to, expected) << target << ", " << pixel << " bytes, width " << size.width;
        ASSERT_EQ(in_place, expected_in_place) << target << ", " << pixel << " bytes, width " << size.width;
      }
  }
  force_cpu_target("");
}

}  // namespace
}  // namespace parallax::test
