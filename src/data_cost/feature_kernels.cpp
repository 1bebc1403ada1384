// SPDX-License-Identifier: Apache-2.0
#include "data_cost/features.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data_cost/feature_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace parallax::data_cost::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The bits of a byte of the signature, in the width of the samples.
HWY_INLINE void store_bits(hn::Vec<hn::ScalableTag<std::uint8_t>> bits, std::uint8_t* out) {
  hn::StoreU(bits, hn::ScalableTag<std::uint8_t>(), out);
}
HWY_INLINE void store_bits(hn::Vec<hn::ScalableTag<std::uint16_t>> bits, std::uint8_t* out) {
  const hn::ScalableTag<std::int16_t> tag;
  const hn::Rebind<std::uint8_t, decltype(tag)> narrow;
  hn::StoreU(hn::DemoteTo(narrow, hn::BitCast(tag, bits)), narrow, out);
}

template <class Sample>
void census_row_of(const RowCensus& row) {
  const hn::ScalableTag<Sample> tag;
  const auto at = [&](int j, int x)
                      HWY_ATTR { return hn::LoadU(tag, static_cast<const Sample*>(row.rows[j]) + x); };
  for (int x = 0; x < row.width; x += static_cast<int>(hn::Lanes(tag))) {
    const auto centre = at(3, x + 4);
    auto bits = hn::Zero(tag);
    int bit = 0;
    for (int neighbour = 0; neighbour < 63; ++neighbour) {
      if (neighbour == 31) continue;  // the centre itself
      const auto darker = hn::Lt(at(neighbour / 9, x + neighbour % 9), centre);
      bits = hn::Or(bits, hn::IfThenElseZero(darker, hn::Set(tag, static_cast<Sample>(1u << (bit % 8)))));
      ++bit;
      if (bit % 8 != 0 && bit != 62) continue;
      store_bits(bits, row.planes[(bit - 1) / 8] + x);
      bits = hn::Zero(tag);
    }
  }
}

void census_row_here(const RowCensus& row) {
  row.bytes ? census_row_of<std::uint8_t>(row) : census_row_of<std::uint16_t>(row);
}

}  // namespace parallax::data_cost::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax::data_cost {

HWY_EXPORT(census_row_here);

void census_row(const RowCensus& row) {
  HWY_DYNAMIC_DISPATCH(census_row_here)(row);
}

}  // namespace parallax::data_cost
#endif
