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

// Whether each neighbour is darker than the centre; or, of those before the centre, whether the opposite one
// is darker.
template <class Sample, bool opposites>
void census_row_of(const RowCensus& row) {
  const hn::ScalableTag<Sample> tag;
  constexpr int centre = 31, bits_in_all = opposites ? centre : 2 * centre;
  const auto at = [&](int neighbour, int x) HWY_ATTR {
    return hn::LoadU(tag, static_cast<const Sample*>(row.rows[neighbour / 9]) + x + neighbour % 9);
  };
  for (int x = 0; x < row.width; x += static_cast<int>(hn::Lanes(tag))) {
    auto bits = hn::Zero(tag);
    for (int bit = 0; bit < bits_in_all; ++bit) {
      const int neighbour = bit < centre ? bit : bit + 1;
      const auto darker = opposites ? hn::Lt(at(2 * centre - neighbour, x), at(neighbour, x))
                                    : hn::Lt(at(neighbour, x), at(centre, x));
      bits = hn::Or(bits, hn::IfThenElseZero(darker, hn::Set(tag, static_cast<Sample>(1u << (bit % 8)))));
      if (bit % 8 != 7 && bit + 1 != bits_in_all) continue;
      store_bits(bits, row.planes[bit / 8] + x);
      bits = hn::Zero(tag);
    }
  }
}

template <class Sample>
void census_row_of(const RowCensus& row) {
  row.opposites ? census_row_of<Sample, true>(row) : census_row_of<Sample, false>(row);
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
