// SPDX-License-Identifier: Apache-2.0

#include "matchers/belief_propagation/cpu_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "matchers/belief_propagation/cost_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "data_cost/differences-inl.h"
#include "devices/cpu/dispatch.h"
#include "matchers/belief_propagation/numbers-inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax::belief_propagation::HWY_NAMESPACE {

// The right elements that correspond to the left elements at label `label`.
struct RightElements {
  const void* const* planes;
  const std::uint8_t* valid;
  std::ptrdiff_t offset;
};

// Calls each(label, right elements) for all labels.
template <class Each>
HWY_INLINE void for_labels(const RowCost& row, const Each& each) {
  const int disparities = row.shape.labels / row.shape.row_offsets;
  int label = 0;
  for (int k = 0; k < row.shape.row_offsets; ++k) {
    const RightRow& right = row.right[k];
    for (int d = 0; d < disparities; ++d, ++label) {
      const int shift = row.parity + disparities - 1 - d, half = shift % 2;
      each(label, RightElements{right.planes[half], right.valid[half], shift / 2});
    }
  }
}

using data_cost::HWY_NAMESPACE::ByteDifferences, data_cost::HWY_NAMESPACE::differences_256,
    data_cost::HWY_NAMESPACE::has_tables, data_cost::HWY_NAMESPACE::look_up;

// For fixed8, where costs fit in bytes without conversion.
template <Feature feature, int chunks>
void simple_cost_row(const RowCost& row) {
  const hn::ScalableTag<std::uint8_t> tag;
  const int lanes = static_cast<int>(hn::Lanes(tag));
  hn::Vec<decltype(tag)> table[chunks];
  for (int c = 0; c < chunks; ++c) table[c] = hn::LoadDup128(tag, row.table + 16 * c);
  const auto last = hn::Set(tag, static_cast<std::uint8_t>(row.table_end - 1));
  const auto outside = hn::Set(tag, static_cast<std::uint8_t>(row.outside));
  for (int i = row.range.first; i < row.range.last; i += lanes) {
    const ByteDifferences<feature, decltype(tag)> differences(row.left, i);
    const auto valid = hn::LoadU(tag, row.left_valid + i);
    for_labels(row, [&](int label, const RightElements& right) HWY_ATTR {
      const auto exists = hn::LoadU(tag, right.valid + i + right.offset);
      const auto index = hn::Min(differences.from(right.planes, i + right.offset), last);
      const auto cost = look_up<chunks>(tag, table, index);
      const auto chosen = hn::Or(hn::And(exists, cost), hn::AndNot(exists, outside));
      hn::StoreU(hn::And(chosen, valid), tag,
                 static_cast<std::uint8_t*>(row.out) + label * row.shape.stride + i);
    });
  }
}

template <Feature feature>
void simple_cost_row_of(const RowCost& row) {
  if (row.table_end <= 16) return simple_cost_row<feature, 1>(row);
  if (row.table_end <= 32) return simple_cost_row<feature, 2>(row);
  if (row.table_end <= 64) return simple_cost_row<feature, 4>(row);
  simple_cost_row<feature, 16>(row);
}

// Stores the costs of one vector of pixels; integer arithmetic keeps the difference from the least, cut at
// `bound`.
template <class Number>
HWY_INLINE void settle(const float* units, std::ptrdiff_t step, const PlaneShape& shape, int bound,
                       typename Number::Storage* out) {
  const Float::Tag tag;
  if constexpr (Number::integer) {
    const hn::Rebind<typename Number::Storage, Float::Tag> narrow;
    const auto highest = hn::Set(tag, static_cast<float>(bound));
    auto least = hn::Set(tag, Float::highest);
    for (int label = 0; label < shape.labels; ++label)
      least = hn::Min(least, hn::LoadU(tag, units + label * step));
    for (int label = 0; label < shape.labels; ++label) {
      const auto kept = hn::Min(hn::Sub(hn::LoadU(tag, units + label * step), least), highest);
      hn::StoreU(hn::DemoteTo(narrow, hn::ConvertTo(hn::RebindToSigned<Float::Tag>(), kept)), narrow,
                 out + label * shape.stride);
    }
  } else {
    for (int label = 0; label < shape.labels; ++label)
      Number::store(hn::LoadU(tag, units + label * step), out + label * shape.stride);
  }
}

template <class Number>
HWY_INLINE Float::Vector load_float(const typename Number::Storage* p) {
  if constexpr (Number::integer) {
    const hn::RebindToSigned<Float::Tag> whole;
    return hn::ConvertTo(
        Float::Tag(), hn::PromoteTo(whole, hn::LoadU(hn::Rebind<typename Number::Storage, Float::Tag>(), p)));
  } else {
    return Number::load(p);
  }
}

template <class Number>
void min_costs_as(const RowOffsets& row) {
  const Float::Tag tag;
  const int lanes = static_cast<int>(hn::Lanes(tag)), disparities = row.shape.labels / row.shape.row_offsets;
  for (int i = 0; i < row.shape.computed; i += lanes) {
    const auto* data = storage<Number>(row.data) + i;
    for (int k = 0; k < row.shape.row_offsets; ++k) {
      auto least = hn::Set(tag, Float::highest);
      for (int d = 0; d < disparities; ++d, data += row.shape.stride)
        least = hn::Min(least, load_float<Number>(data));
      hn::StoreU(least, tag, row.costs + k * row.shape.stride + i);
    }
  }
}

template <class Number>
void add_costs_as(const RowOffsets& row) {
  const Float::Tag tag;
  const int lanes = static_cast<int>(hn::Lanes(tag)), disparities = row.shape.labels / row.shape.row_offsets;
  float* units = static_cast<float*>(row.scratch);
  for (int i = 0; i < row.shape.computed; i += lanes) {
    auto* data = static_cast<typename Number::Storage*>(row.data) + i;
    int label = 0;
    for (int k = 0; k < row.shape.row_offsets; ++k) {
      const auto added = hn::LoadU(tag, row.costs + k * row.shape.stride + i);
      for (int d = 0; d < disparities; ++d, ++label) {
        auto sum = hn::Add(load_float<Number>(data + label * row.shape.stride), added);
        if constexpr (!Number::integer) sum = Number::within_range(sum);
        hn::Store(sum, tag, units + label * lanes);
      }
    }
    settle<Number>(units, lanes, row.shape, row.bound, data);
  }
}

template <class Number>
void settle_costs_as(const PlaneShape& shape, int count, const float* units, int bound, void* out) {
  const int lanes = static_cast<int>(hn::Lanes(Float::Tag()));
  for (int i = 0; i < count; i += lanes)
    settle<Number>(units + i, pitch, shape, bound, static_cast<typename Number::Storage*>(out) + i);
}

template <class Number, Feature feature>
void cost_row_of(const RowCost& row) {
  const Float::Tag tag;
  const hn::RebindToSigned<Float::Tag> d32;
  const hn::Rebind<std::uint8_t, Float::Tag> d8;
  const int lanes = static_cast<int>(hn::Lanes(tag));
  float* units = static_cast<float*>(row.scratch);
  const auto scale = hn::Set(tag, row.scale), outside = hn::Set(tag, row.outside), half = hn::Set(tag, 0.5f);
  const auto differences = hn::Set(d32, row.differences);
  for (int i = row.range.first; i < row.range.last; i += lanes) {
    const auto valid =
        hn::RebindMask(tag, hn::Gt(hn::PromoteTo(d32, hn::LoadU(d8, row.left_valid + i)), hn::Zero(d32)));
    for_labels(row, [&](int label, const RightElements& right) HWY_ATTR {
      const auto difference =
          hn::Min(differences_256<feature>(d32, row.left, i, right.planes, i + right.offset), differences);
      auto cost = hn::Mul(hn::ConvertTo(tag, difference), scale);
      if constexpr (Number::integer) cost = hn::Floor(hn::Add(cost, half));
      const auto exists = hn::RebindMask(
          tag, hn::Gt(hn::PromoteTo(d32, hn::LoadU(d8, right.valid + i + right.offset)), hn::Zero(d32)));
      cost = hn::IfThenElseZero(valid, hn::IfThenElse(exists, cost, outside));
      hn::Store(cost, tag, units + label * lanes);
    });
    settle<Number>(units, lanes, row.shape, row.bound, static_cast<typename Number::Storage*>(row.out) + i);
  }
}

template <class Number>
void cost_row_as(const RowCost& row) {
  switch (row.feature) {
    case Feature::bytes:
      if constexpr (sizeof(typename Number::Storage) == 1 && has_tables)
        if (row.simple) return simple_cost_row_of<Feature::bytes>(row);
      return cost_row_of<Number, Feature::bytes>(row);
    case Feature::census:
      if constexpr (sizeof(typename Number::Storage) == 1 && has_tables)
        if (row.simple) return simple_cost_row_of<Feature::census>(row);
      return cost_row_of<Number, Feature::census>(row);
    case Feature::gray:
      return cost_row_of<Number, Feature::gray>(row);
    case Feature::colour:
      return cost_row_of<Number, Feature::colour>(row);
    case Feature::birchfield_tomasi:
      return cost_row_of<Number, Feature::birchfield_tomasi>(row);
    case Feature::census_opposites:
    case Feature::gradients:
    case Feature::gradients_in_bytes:
      break;  // belief propagation has no such cost
  }
}

void cost_row_here(Arithmetic arithmetic, const RowCost& row) {
  as_number(arithmetic, [&](auto number) { cost_row_as<decltype(number)>(row); });
}

void min_costs_here(Arithmetic arithmetic, const RowOffsets& row) {
  as_number(arithmetic, [&](auto number) { min_costs_as<decltype(number)>(row); });
}

void add_costs_here(Arithmetic arithmetic, const RowOffsets& row) {
  as_number(arithmetic, [&](auto number) { add_costs_as<decltype(number)>(row); });
}

void settle_costs_here(Arithmetic arithmetic, const PlaneShape& shape, int count, const float* units,
                       int bound, void* out) {
  as_number(arithmetic,
            [&](auto number) { settle_costs_as<decltype(number)>(shape, count, units, bound, out); });
}

template <class Element>
void split_row_as(const Element* row, int count, Element* even, Element* odd) {
  const hn::ScalableTag<Element> tag;
  const int lanes = static_cast<int>(hn::Lanes(tag));
  for (int i = 0; 2 * i < count; i += lanes) {
    hn::Vec<decltype(tag)> even_elements, odd_elements;
    hn::LoadInterleaved2(tag, row + 2 * i, even_elements, odd_elements);
    hn::StoreU(even_elements, tag, even + i);
    hn::StoreU(odd_elements, tag, odd + i);
  }
}

void split_bytes_here(const std::uint8_t* row, int count, std::uint8_t* even, std::uint8_t* odd) {
  split_row_as(row, count, even, odd);
}
void split_words_here(const std::uint16_t* row, int count, std::uint16_t* even, std::uint16_t* odd) {
  split_row_as(row, count, even, odd);
}

}  // namespace parallax::belief_propagation::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax::belief_propagation {

HWY_EXPORT(split_bytes_here);
HWY_EXPORT(split_words_here);

PARALLAX_DISPATCH(void, cost_row, (Arithmetic arithmetic, const RowCost& row), (arithmetic, row))
PARALLAX_DISPATCH(void, min_costs, (Arithmetic arithmetic, const RowOffsets& row), (arithmetic, row))
PARALLAX_DISPATCH(void, add_costs, (Arithmetic arithmetic, const RowOffsets& row), (arithmetic, row))
PARALLAX_DISPATCH(void, settle_costs,
                  (Arithmetic arithmetic, const PlaneShape& shape, int count, const float* units, int bound,
                   void* out),
                  (arithmetic, shape, count, units, bound, out))

void split_row(const std::uint8_t* row, int count, std::uint8_t* even, std::uint8_t* odd) {
  HWY_DYNAMIC_DISPATCH(split_bytes_here)(row, count, even, odd);
}

void split_row(const std::uint16_t* row, int count, std::uint16_t* even, std::uint16_t* odd) {
  HWY_DYNAMIC_DISPATCH(split_words_here)(row, count, even, odd);
}

}  // namespace parallax::belief_propagation
#endif
