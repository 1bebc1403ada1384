// SPDX-License-Identifier: Apache-2.0
#include "parallax/values.h"

#include "parallax/error.h"

#include "support.h"

namespace parallax {
namespace {

constexpr Size size{61, 47};

Plane<std::uint16_t> noise(std::uint32_t seed, int factor, int offset) {
  Plane<std::uint16_t> plane(size);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      seed = seed * 1664525 + 1013904223;
      plane.at(x, y) = static_cast<std::uint16_t>((seed >> 24) * static_cast<std::uint32_t>(factor) +
                                                  static_cast<std::uint32_t>(offset));
    }
  return plane;
}

Plane<std::uint16_t> stretched(const Plane<std::uint16_t>& plane, const ValueRange& range) {
  Plane<std::uint16_t> result(plane.size());
  stretch(plane.view(), range, result.view());
  return result;
}

bool same(const Plane<std::uint16_t>& a, const Plane<std::uint16_t>& b) {
  for (int y = 0; y < a.height(); ++y)
    if (!std::equal(a.row(y), a.row(y) + a.width(), b.row(y))) return false;
  return true;
}

// Values of 8 bits that span most of them, or less.
TEST(ValuesTest, AFactorAndAnOffsetDisappear) {
  const Plane<std::uint16_t> levels[] = {noise(1, 1, 0), noise(2, 1, 0)};
  for (const auto& [factor, offset] : {std::pair{1, 0}, {4, 0}, {16, 0}, {64, 3}, {257, 0}, {1, 7600}}) {
    const Plane<std::uint16_t> l = noise(1, factor, offset), r = noise(2, factor, offset);
    const ValueRange range = find_value_range({l.view(), r.view()});
    const Plane<std::uint16_t> seen[] = {stretched(l, range), stretched(r, range)};
    const int shift = levels[0].at(0, 0) * 256 - seen[0].at(0, 0);
    for (int side : {0, 1})
      for (int y = 0; y < size.height; ++y)
        for (int x = 0; x < size.width; ++x)
          ASSERT_EQ(seen[side].at(x, y) + shift, levels[side].at(x, y) * 256) << factor << " " << offset;
  }
}

TEST(ValuesTest, ValuesThatSpanFewBitsAreStretched) {
  const auto counts = [](int factor, int offset) {
    Plane<std::uint16_t> plane = noise(1, 1, 0);
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x)
        plane.at(x, y) = static_cast<std::uint16_t>(plane.at(x, y) * 180 / 255 * factor + offset);
    return plane;
  };
  const auto range = [&](int factor, int offset) {
    const Plane<std::uint16_t> plane = counts(factor, offset);
    return find_value_range({plane.view(), plane.view()});
  };
  EXPECT_EQ(range(1, 7600), (ValueRange{7600, 7780}));
  EXPECT_EQ(range(7, 50000), (ValueRange{50000, 51260}));
  EXPECT_TRUE(same(stretched(counts(1, 7600), {7600, 7780}), stretched(counts(7, 50000), {50000, 51260})));
  EXPECT_EQ(range(1, 0), (ValueRange{0, 255}));
  EXPECT_EQ(range(16, 0), (ValueRange{0, 4095}));
  EXPECT_EQ(range(64, 3), (ValueRange{0, 16383}));
  EXPECT_EQ(range(257, 0), (ValueRange{0, 65535}));
}

TEST(ValuesTest, EveryValueIsRoundedToNearestHalvesUp) {
  Plane<std::uint16_t> values({65536, 1});
  for (int x = 0; x < 65536; ++x) values.at(x, 0) = static_cast<std::uint16_t>(x);
  // The values from black to white.
  for (const auto& [range, steps] : {std::pair{ValueRange{0, 65535}, 65535},
                                     {{0, 65280}, 65280},
                                     {{0, 4095}, 4080},
                                     {{7600, 7855}, 255},
                                     {{0, 1023}, 1020},
                                     {{0, 1}, 1},
                                     {{7600, 7780}, 180},
                                     {{5, 65534}, 65529},
                                     {{0, 43690}, 43690}}) {
    const Plane<std::uint16_t> result = stretched(values, range);
    for (int x = 0; x < 65536; ++x) {
      const std::int64_t above = std::clamp(x, range.low, range.high) - range.low;
      ASSERT_EQ(result.at(x, 0), (2 * above * 65280 + steps) / (2 * steps)) << x << " of " << range.high;
    }
  }
}

TEST(ValuesTest, BrokenPixelsAndMaskedOnesDoNotWidenTheRange) {
  Plane<std::uint16_t> left = noise(1, 1, 7600), right = noise(2, 1, 7600);
  const ValueRange range = find_value_range({left.view(), right.view()});
  left.at(3, 4) = 0;
  right.at(60, 46) = 65535;
  const ValueRange broken = find_value_range({left.view(), right.view()});
  EXPECT_GE(broken.low, range.low);
  EXPECT_LE(broken.high, range.high);
  EXPECT_GE(broken.high - broken.low, 240);
  Plane<std::uint8_t> mask(size, 1);
  for (int x = 0; x < size.width; ++x) left.at(x, 9) = 0, mask.at(x, 9) = 0;
  EXPECT_GE(find_value_range({left.view(), right.view(), mask.view()}).low, 7600);
  // A range that half of the values would not have is not cut.
  EXPECT_EQ(find_value_range({left.view(), right.view()}).low, 0);
}

TEST(ValuesTest, LampsDoNotNarrowTheRange) {
  Plane<std::uint16_t> left = noise(1, 4, 0);
  const Plane<std::uint16_t> right = noise(2, 4, 0);
  left.at(3, 4) = 4095;
  EXPECT_EQ(find_value_range({left.view(), right.view()}), (ValueRange{0, 4095}));
}

TEST(ValuesTest, FlatImagesAndBytesUseAllValues) {
  const Plane<std::uint16_t> flat(size, 900);
  EXPECT_EQ(find_value_range({flat.view(), flat.view()}), (ValueRange{0, 65535}));
  const Plane<std::uint8_t> bytes(size, 9);
  EXPECT_EQ(find_value_range({bytes.view(), bytes.view()}), (ValueRange{0, 255}));
}

TEST(ValuesTest, RangesBeyondTheDepthAreRefused) {
  Plane<std::uint8_t> bytes(size, 9);
  for (const ValueRange& bad : {ValueRange{0, 256}, {-1, 9}, {9, 9}, {10, 9}})
    test::expect_error(test::error_of([&] { stretch(bytes.view(), bad, bytes.view()); }),
                       ErrorCategory::argument, {"range of values", "0 to 255"});
}

}  // namespace
}  // namespace parallax
