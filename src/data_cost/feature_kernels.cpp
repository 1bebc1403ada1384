// SPDX-License-Identifier: Apache-2.0
#include "data_cost/features.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data_cost/feature_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "devices/cpu/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace parallax::data_cost::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Stores eight bits of the signature as a byte each, in lanes as wide as the samples.
HWY_INLINE void store_bits(hn::Vec<hn::ScalableTag<std::uint8_t>> bits, std::uint8_t* out) {
  hn::StoreU(bits, hn::ScalableTag<std::uint8_t>(), out);
}
HWY_INLINE void store_bits(hn::Vec<hn::ScalableTag<std::uint16_t>> bits, std::uint8_t* out) {
  const hn::ScalableTag<std::int16_t> tag;
  const hn::Rebind<std::uint8_t, decltype(tag)> narrow;
  hn::StoreU(hn::DemoteTo(narrow, hn::BitCast(tag, bits)), narrow, out);
}

// What a bit of a signature compares.
enum class Compares { with_centre, with_tolerance, opposites };

// Whether each neighbour is darker than the centre, or what census_bit() says; or, for those before the
// centre, whether the opposite one is darker.
template <class Sample, Compares compares>
void census_row_of(const RowCensus& row) {
  const hn::ScalableTag<Sample> tag;
  constexpr bool opposites = compares == Compares::opposites;
  constexpr int centre = 31, bits_in_all = opposites ? centre : 2 * centre;
  const auto at = [&](int neighbour, int x) HWY_ATTR {
    return hn::LoadU(tag, static_cast<const Sample*>(row.rows[neighbour / 9]) + x + neighbour % 9);
  };
  const auto tolerance =
      hn::Set(tag, static_cast<Sample>(row.tolerance * (sizeof(Sample) == 1 ? 1 : per_level)));
  for (int x = 0; x < row.width; x += static_cast<int>(hn::Lanes(tag))) {
    auto bits = hn::Zero(tag);
    for (int bit = 0; bit < bits_in_all; ++bit) {
      const int neighbour = bit < centre ? bit : bit + 1;
      const auto first = at(opposites ? 2 * centre - neighbour : neighbour, x),
                 second = at(opposites ? neighbour : centre, x);
      auto counts = hn::Lt(first, second);
      if constexpr (compares == Compares::with_tolerance) {
        const CensusBit kind = census_bit(neighbour % 9, neighbour / 9);
        // Sums end at the highest sample, which is darker than none.
        if (kind == CensusBit::darker_than_tolerance)
          counts = hn::Lt(hn::SaturatedAdd(first, tolerance), second);
        if (kind == CensusBit::brighter_than_tolerance)
          counts = hn::Lt(hn::SaturatedAdd(second, tolerance), first);
      }
      bits = hn::Or(bits, hn::IfThenElseZero(counts, hn::Set(tag, static_cast<Sample>(1u << (bit % 8)))));
      if (bit % 8 != 7 && bit + 1 != bits_in_all) continue;
      store_bits(bits, row.planes[bit / 8] + x);
      bits = hn::Zero(tag);
    }
  }
}

template <class Sample>
void census_row_of(const RowCensus& row) {
  if (row.opposites) return census_row_of<Sample, Compares::opposites>(row);
  row.tolerance > 0 ? census_row_of<Sample, Compares::with_tolerance>(row)
                    : census_row_of<Sample, Compares::with_centre>(row);
}

void census_row_here(const RowCensus& row) {
  row.bytes ? census_row_of<std::uint8_t>(row) : census_row_of<std::uint16_t>(row);
}

}  // namespace parallax::data_cost::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax::data_cost {

PARALLAX_DISPATCH(void, census_row, (const RowCensus& row), (row))

}  // namespace parallax::data_cost
#endif
