// SPDX-License-Identifier: Apache-2.0
// Differences of features, a vector of pixels at a time.

// Included once for each instruction set.
#if defined(PARALLAX_DATA_COST_DIFFERENCES) == defined(HWY_TARGET_TOGGLE)
#ifdef PARALLAX_DATA_COST_DIFFERENCES
#undef PARALLAX_DATA_COST_DIFFERENCES
#else
#define PARALLAX_DATA_COST_DIFFERENCES
#endif

#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#include "data_cost/features.h"
#include "devices/cpu/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace parallax::data_cost::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if PARALLAX_NEON_VECTORS
HWY_INLINE uint8x16_t difference_of(uint8x16_t a, uint8x16_t b) {
  return vabdq_u8(a, b);
}
HWY_INLINE uint8x8_t difference_of(uint8x8_t a, uint8x8_t b) {
  return vabd_u8(a, b);
}
HWY_INLINE uint16x8_t difference_of(uint16x8_t a, uint16x8_t b) {
  return vabdq_u16(a, b);
}
HWY_INLINE uint16x4_t difference_of(uint16x4_t a, uint16x4_t b) {
  return vabd_u16(a, b);
}
#endif

template <class V>
HWY_INLINE V absolute_difference(V a, V b) {
#if PARALLAX_NEON_VECTORS
  return V{difference_of(a.raw, b.raw)};
#else
  return hn::Or(hn::SaturatedSub(a, b), hn::SaturatedSub(b, a));
#endif
}

// Birchfield-Tomasi distance of samples in 256ths; the planes are sample, lowest and highest.
template <class V>
HWY_INLINE V beyond(V sample, V lowest, V highest) {
  return hn::Max(hn::SaturatedSub(sample, highest), hn::SaturatedSub(lowest, sample));
}

// Differences in 256ths, in lanes of 16 bits. `i`, `j`: elements of the left and right planes.
template <Feature feature, class Tag16>
struct WordDifferences {
  using Vector = hn::Vec<Tag16>;
  static constexpr int planes = feature_planes(feature);
  static HWY_INLINE Vector at(const void* plane, std::ptrdiff_t i) {
    return hn::LoadU(Tag16(), static_cast<const std::uint16_t*>(plane) + i);
  }
  HWY_INLINE WordDifferences(const void* const* left, std::ptrdiff_t i) {
    for (int p = 0; p < planes; ++p) left_words[p] = at(left[p], i);
  }
  HWY_INLINE Vector birchfield_tomasi(const void* const* right, std::ptrdiff_t j, int p) const {
    return hn::Min(beyond(left_words[p], at(right[p + 1], j), at(right[p + 2], j)),
                   beyond(at(right[p], j), left_words[p + 1], left_words[p + 2]));
  }
  HWY_INLINE Vector from(const void* const* right, std::ptrdiff_t j) const {
    const auto apart = [&](int p) HWY_ATTR { return absolute_difference(left_words[p], at(right[p], j)); };
    if constexpr (feature == Feature::gray) {
      return apart(0);
    } else if constexpr (feature == Feature::colour) {
      const auto third = [&](int p) HWY_ATTR { return hn::MulHigh(apart(p), hn::Set(Tag16(), 21845)); };
      return hn::Add(hn::Add(third(0), third(1)), third(2));
    } else if constexpr (feature == Feature::birchfield_tomasi) {
      return birchfield_tomasi(right, j, 0);
    } else {
      return hn::Add(birchfield_tomasi(right, j, 0), hn::ShiftRight<2>(birchfield_tomasi(right, j, 3)));
    }
  }
  Vector left_words[planes];
};

// Differences in integer gray levels or bits. `i`, `j`: elements of the left and right planes.
template <Feature feature, class Tag8>
struct ByteDifferences {
  static constexpr int planes = feature_planes(feature);
  static HWY_INLINE hn::Vec<Tag8> at(const void* plane, std::ptrdiff_t i) {
    return hn::LoadU(Tag8(), static_cast<const std::uint8_t*>(plane) + i);
  }
  HWY_INLINE ByteDifferences(const void* const* left, std::ptrdiff_t i) {
    for (int p = 0; p < planes; ++p) left_bytes[p] = at(left[p], i);
  }
  HWY_INLINE hn::Vec<Tag8> from(const void* const* right, std::ptrdiff_t j) const {
    if constexpr (feature == Feature::bytes) {
      return absolute_difference(left_bytes[0], at(right[0], j));
    } else {
      auto sum = hn::PopulationCount(hn::Xor(left_bytes[0], at(right[0], j)));
      for (int p = 1; p < planes; ++p)
        sum = hn::Add(sum, hn::PopulationCount(hn::Xor(left_bytes[p], at(right[p], j))));
      return sum;
    }
  }
  hn::Vec<Tag8> left_bytes[planes];
};

// Gray levels for gradients_in_bytes. Let A and B be the distances beyond the nearer bound, and beyond that
// bound rounded away from the level: the distance to the bound is (A + B) / 2 levels, and A − B is 0 or 1.
template <class Tag8>
struct GradientDifferences {
  using Vector = hn::Vec<Tag8>;
  using Bytes = ByteDifferences<Feature::gradients_in_bytes, Tag8>;
  HWY_INLINE GradientDifferences(const void* const* left_planes, std::ptrdiff_t i) : left(left_planes, i) {}

  // Distance of sample plane `sample` beyond the bounds in planes `low` and `high`.
  HWY_INLINE Vector beyond_bounds(const void* const* right, std::ptrdiff_t j, int sample, int low,
                                  int high) const {
    return hn::Min(beyond(left.left_bytes[sample], Bytes::at(right[low], j), Bytes::at(right[high], j)),
                   beyond(Bytes::at(right[sample], j), left.left_bytes[low], left.left_bytes[high]));
  }
  HWY_INLINE Vector half_levels_of_gradients(const void* const* right, std::ptrdiff_t j) const {
    return beyond_bounds(right, j, 0, 1, 2);
  }
  HWY_INLINE Vector a(const void* const* right, std::ptrdiff_t j) const {
    return beyond_bounds(right, j, 3, 5, 6);
  }
  HWY_INLINE Vector b(const void* const* right, std::ptrdiff_t j) const {
    return beyond_bounds(right, j, 3, 4, 7);
  }

  // The difference in levels, rounded: g / 2 + (A + B) / 8 is (g + B / 2) / 2, and B / 2 may be rounded down.
  HWY_INLINE Vector from(const void* const* right, std::ptrdiff_t j) const {
    return hn::AverageRound(half_levels_of_gradients(right, j), hn::ShiftRight<1>(b(right, j)));
  }

  Bytes left;
};

// table[index] for indices below 16·chunks; the last entry for 255.
template <int chunks, class Tag8>
HWY_INLINE hn::Vec<Tag8> look_up(Tag8 tag, const hn::Vec<Tag8>* table, hn::Vec<Tag8> index) {
#if PARALLAX_NEON_VECTORS
  // Tables of 64 bytes; an index beyond the end of one finds nothing.
  if constexpr (chunks >= 4) {
    const auto part = [&](int c) HWY_ATTR {
      return uint8x16x4_t{{table[c].raw, table[c + 1].raw, table[c + 2].raw, table[c + 3].raw}};
    };
    const auto within = hn::Min(index, hn::Set(tag, 16 * chunks - 1));
    uint8x16_t found = vqtbl4q_u8(part(0), within.raw);
    for (int c = 4; c < chunks; c += 4)
      found = vqtbx4q_u8(found, part(c), vsubq_u8(within.raw, vdupq_n_u8(static_cast<std::uint8_t>(16 * c))));
    return hn::Vec<Tag8>{found};
  }
#endif
  auto found = hn::TableLookupBytes(table[0], hn::And(index, hn::Set(tag, 15)));
  for (int c = 1; c < chunks; ++c) {
    const auto here = hn::TableLookupBytes(table[c], hn::And(index, hn::Set(tag, 15)));
    found = hn::IfThenElse(hn::Lt(index, hn::Set(tag, static_cast<std::uint8_t>(16 * c))), found, here);
  }
  return found;
}

// A vector of one lane cannot hold a table.
inline constexpr bool has_tables = HWY_TARGET != HWY_SCALAR;

// Differences in 256ths, in lanes of 32 bits.
template <Feature feature, class Tag32>
HWY_INLINE hn::Vec<Tag32> differences_256(Tag32 d32, const void* const* left, std::ptrdiff_t i,
                                          const void* const* right, std::ptrdiff_t j) {
  if constexpr (feature == Feature::gradients_in_bytes) {
    const hn::Rebind<std::uint8_t, Tag32> d8;
    const GradientDifferences<decltype(d8)> differences(left, i);
    const auto half_levels = hn::PromoteTo(d32, differences.half_levels_of_gradients(right, j));
    const auto a = hn::PromoteTo(d32, differences.a(right, j)),
               b = hn::PromoteTo(d32, differences.b(right, j));
    return hn::Add(hn::ShiftLeft<7>(half_levels), hn::ShiftLeft<5>(hn::Add(a, b)));
  } else if constexpr (feature_bytes(feature) == 1) {
    const hn::Rebind<std::uint8_t, Tag32> d8;
    const ByteDifferences<feature, decltype(d8)> differences(left, i);
    return hn::ShiftLeft<8>(hn::PromoteTo(d32, differences.from(right, j)));
  } else {
    const hn::Rebind<std::uint16_t, Tag32> d16;
    return hn::PromoteTo(d32, WordDifferences<feature, decltype(d16)>(left, i).from(right, j));
  }
}

}  // namespace parallax::data_cost::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once for each instruction set
