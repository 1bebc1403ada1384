// SPDX-License-Identifier: Apache-2.0
#include "data_cost/features.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data_cost/feature_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace parallax::data_cost::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void census_row_here(const RowCensus& row) {
  const hn::ScalableTag<std::uint16_t> tag;
  const hn::Rebind<std::uint8_t, decltype(tag)> narrow;
  const int lanes = static_cast<int>(hn::Lanes(tag));
  for (int x = 0; x < row.width; x += lanes) {
    const auto centre = hn::LoadU(tag, row.rows[3] + x + 4);
    auto bits = hn::Zero(tag);
    int bit = 0;
    for (int neighbour = 0; neighbour < 63; ++neighbour) {
      if (neighbour == 31) continue;  // the centre itself
      const auto sample = hn::LoadU(tag, row.rows[neighbour / 9] + x + neighbour % 9);
      const auto darker = hn::VecFromMask(tag, hn::Lt(sample, centre));
      bits = hn::Or(bits, hn::And(darker, hn::Set(tag, static_cast<std::uint16_t>(1u << (bit % 8)))));
      ++bit;
      if (bit % 8 != 0 && bit != 62) continue;
      const hn::RebindToSigned<decltype(tag)> signed_tag;
      hn::StoreU(hn::DemoteTo(narrow, hn::BitCast(signed_tag, bits)), narrow, row.planes[(bit - 1) / 8] + x);
      bits = hn::Zero(tag);
    }
  }
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
