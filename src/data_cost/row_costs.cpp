// SPDX-License-Identifier: Apache-2.0
#include "data_cost/row_costs.h"

#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data_cost/row_costs.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "data_cost/differences-inl.h"
#include "devices/cpu/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace parallax::data_cost::HWY_NAMESPACE {

using Bytes = hn::ScalableTag<std::uint8_t>;
using Floats = hn::ScalableTag<float>;
using Integers = hn::RebindToSigned<Floats>;

// The parts of a row's scratch memory.
HWY_INLINE float* units_of(const RowCosts& row) {
  return static_cast<float*>(row.scratch);
}
// Mean differences of windows, in integer levels.
HWY_INLINE std::uint8_t* levels_of(const RowCosts& row, int label) {
  auto* levels = reinterpret_cast<std::uint8_t*>(units_of(row) + row.labels * widest_vector_bytes);
  return levels + static_cast<std::ptrdiff_t>(label) * max_at_once;
}
HWY_INLINE void* sums_of(const RowCosts& row) {
  return levels_of(row, row.labels);
}

// Sums of a label's differences over the columns of the windows, then over their rows.
template <class Sample, class Tag>
HWY_INLINE void sum_columns(const RowCosts& row, Tag tag, int label, hn::TFromD<Tag>* sums) {
  const hn::Rebind<Sample, Tag> narrow;
  const int lanes = static_cast<int>(hn::Lanes(tag));
  const std::ptrdiff_t shift = row.labels - 1 - label;
  for (int i = 0; i < row.count + 2 * window_radius; i += lanes) {
    const std::ptrdiff_t x = row.first + i - window_radius;
    auto sum = hn::Zero(tag);
    for (int j = 0; j < window_rows; ++j) {
      const auto left = hn::LoadU(narrow, static_cast<const Sample*>(row.left[j]) + x);
      const auto right = hn::LoadU(narrow, static_cast<const Sample*>(row.right[j]) + x + shift);
      sum = hn::Add(sum, hn::PromoteTo(tag, absolute_difference(left, right)));
    }
    hn::StoreU(sum, tag, sums + i);
  }
}

template <class Tag>
HWY_INLINE hn::Vec<Tag> window_sum(Tag tag, const hn::TFromD<Tag>* sums) {
  auto sum = hn::LoadU(tag, sums);
  for (int i = 1; i < window_rows; ++i) sum = hn::Add(sum, hn::LoadU(tag, sums + i));
  return sum;
}

constexpr int window_pixels = window_rows * window_rows;

void write_levels_of_bytes(const RowCosts& row, int label) {
  const hn::ScalableTag<std::uint16_t> tag;
  const hn::Rebind<std::uint8_t, decltype(tag)> narrow;
  const hn::RebindToSigned<decltype(tag)> signed_tag;
  auto* sums = static_cast<std::uint16_t*>(sums_of(row));
  sum_columns<std::uint8_t>(row, tag, label, sums);
  // ⌊s / 25⌋ for all s up to 25·255.
  const auto factor = hn::Set(tag, 5243);
  static_assert(window_pixels == 25);
  for (int i = 0; i < row.count; i += static_cast<int>(hn::Lanes(tag))) {
    const auto level = hn::ShiftRight<1>(hn::MulHigh(window_sum(tag, sums + i), factor));
    hn::StoreU(hn::DemoteTo(narrow, hn::BitCast(signed_tag, level)), narrow, levels_of(row, label) + i);
  }
}

void write_levels_of_words(const RowCosts& row, int label) {
  const Integers tag;
  const hn::Rebind<std::uint8_t, Integers> narrow;
  auto* sums = static_cast<std::int32_t*>(sums_of(row));
  sum_columns<std::uint16_t>(row, tag, label, sums);
  // Sums are below 2²¹ and quotients at most 256: the distance from a quotient to the next integer is a
  // multiple of 1/6400, which a float resolves.
  const auto all = hn::Set(Floats(), static_cast<float>(window_pixels * per_level));
  for (int i = 0; i < row.count; i += static_cast<int>(hn::Lanes(tag))) {
    const auto level = hn::ConvertTo(tag, hn::Div(hn::ConvertTo(Floats(), window_sum(tag, sums + i)), all));
    hn::StoreU(hn::DemoteTo(narrow, level), narrow, levels_of(row, label) + i);
  }
}

template <Feature feature, class Tag8>
struct LevelDifferencesOf {
  using type = ByteDifferences<feature, Tag8>;
};
template <class Tag8>
struct LevelDifferencesOf<Feature::gradients_in_bytes, Tag8> {
  using type = GradientDifferences<Tag8>;
};

#if HWY_TARGET != HWY_SCALAR

// Differences in lanes of 16 bits, rounded to levels.
template <Feature feature, class Tag8>
class RoundedDifferences {
 public:
  HWY_INLINE RoundedDifferences(const void* const* left, std::ptrdiff_t i)
      : lower_(left, i), upper_(left, i + words_) {}
  HWY_INLINE hn::Vec<Tag8> from(const void* const* right, std::ptrdiff_t j) const {
    return hn::Combine(Tag8(), round(upper_.from(right, j + words_)), round(lower_.from(right, j)));
  }

 private:
  using Half = hn::Half<Tag8>;
  using Words = hn::Rebind<std::uint16_t, Half>;
  static HWY_INLINE hn::Vec<Half> round(hn::Vec<Words> difference) {
    const auto half_level = hn::Set(Words(), per_level / 2);
    const auto levels = hn::ShiftRight<8>(hn::SaturatedAdd(difference, half_level));
    return hn::DemoteTo(Half(), hn::BitCast(hn::RebindToSigned<Words>(), levels));
  }
  static constexpr std::ptrdiff_t words_ = hn::MaxLanes(Half());
  WordDifferences<feature, Words> lower_, upper_;
};

template <Feature feature, class Tag8>
requires(feature_bytes(feature) == 2) struct LevelDifferencesOf<feature, Tag8> {
  using type = RoundedDifferences<feature, Tag8>;
};

#endif

// Differences of a vector of pixels; for windows, their levels.
template <Feature feature, bool windows, class Tag8>
struct Levels {
  HWY_INLINE Levels(const RowCosts& costs, int at)
      : row(costs), i(at), differences(costs.left, costs.first + at) {}
  HWY_INLINE hn::Vec<Tag8> of(int label) const {
    if constexpr (windows)
      return hn::LoadU(Tag8(), levels_of(row, label) + i);
    else
      return differences.from(row.right, row.first + i + row.labels - 1 - label);
  }
  const RowCosts& row;
  int i;
  typename LevelDifferencesOf<feature, Tag8>::type differences;
};

enum class Lookup { none, one, two, four, all };

template <Lookup lookup>
constexpr int chunks_of() {
  return lookup == Lookup::all ? 16 : lookup == Lookup::four ? 4 : lookup == Lookup::two ? 2 : 1;
}

// Costs in bytes.
template <Feature feature, bool windows, Lookup lookup>
void simple_costs(const RowCosts& row) {
  constexpr int chunks = chunks_of<lookup>();
  const Bytes tag;
  const int lanes = static_cast<int>(hn::Lanes(tag));
  auto* out = static_cast<std::uint8_t*>(row.out);
  hn::Vec<Bytes> table[chunks];
  if constexpr (lookup != Lookup::none)
    for (int c = 0; c < chunks; ++c) table[c] = hn::LoadDup128(tag, row.table + 16 * c);
  const auto last = hn::Set(tag, static_cast<std::uint8_t>(row.table_end - 1));
  const auto outside = hn::Set(tag, static_cast<std::uint8_t>(row.outside));
  const auto bound = hn::Set(tag, static_cast<std::uint8_t>(row.bound < 255 ? row.bound : 255));
  for (int i = 0; i < row.count; i += lanes) {
    const std::ptrdiff_t x = row.first + i;
    const Levels<feature, windows, Bytes> levels(row, i);
    const auto valid = hn::LoadU(tag, row.left_valid + x);
    auto least = row.subtracts_least ? hn::Set(tag, 255) : hn::Zero(tag);
    for (int label = 0; label < row.labels; ++label) {
      const std::ptrdiff_t shift = row.labels - 1 - label;
      std::uint8_t* at = out + label * row.stride + i;
      auto cost = hn::Min(levels.of(label), last);
      if constexpr (lookup != Lookup::none) cost = look_up<chunks>(tag, table, cost);
      const auto exists = hn::LoadU(tag, row.right_valid + x + shift);
      cost = hn::And(hn::Or(hn::And(exists, cost), hn::AndNot(exists, outside)), valid);
      least = hn::Min(least, cost);
      hn::StoreU(cost, tag, at);
    }
    if (!row.subtracts_least && row.bound >= 255) continue;
    for (int label = 0; label < row.labels; ++label) {
      std::uint8_t* at = out + label * row.stride + i;
      hn::StoreU(hn::Min(hn::Sub(hn::LoadU(tag, at), least), bound), tag, at);
    }
  }
}

template <Feature feature, bool windows>
void simple_costs_of(const RowCosts& row) {
  if (row.same) return simple_costs<feature, windows, Lookup::none>(row);
  if constexpr (has_tables && feature_bytes(feature) == 1 && feature != Feature::gradients_in_bytes) {
    if (row.table_end <= 16) return simple_costs<feature, windows, Lookup::one>(row);
    if (row.table_end <= 32) return simple_costs<feature, windows, Lookup::two>(row);
    if (row.table_end <= 64) return simple_costs<feature, windows, Lookup::four>(row);
    simple_costs<feature, windows, Lookup::all>(row);
  }
}

// Costs of a vector of pixels; labels are `step` apart.
template <class Element>
void settle(const float* units, std::ptrdiff_t step, const RowCosts& row, Element* out) {
  const Floats tag;
  const hn::Rebind<Element, Floats> narrow;
  const auto bound = hn::Set(tag, static_cast<float>(row.bound));
  auto least = row.subtracts_least ? hn::Set(tag, std::numeric_limits<float>::infinity()) : hn::Zero(tag);
  if (row.subtracts_least)
    for (int label = 0; label < row.labels; ++label)
      least = hn::Min(least, hn::LoadU(tag, units + label * step));
  for (int label = 0; label < row.labels; ++label) {
    const auto more = hn::Max(hn::Sub(hn::LoadU(tag, units + label * step), least), hn::Zero(tag));
    const auto kept = hn::Min(more, bound);
    hn::StoreU(hn::DemoteTo(narrow, hn::ConvertTo(Integers(), kept)), narrow, out + label * row.stride);
  }
}

void settle_at(const float* units, std::ptrdiff_t step, const RowCosts& row, int i) {
  if (row.out_bytes == 1)
    settle(units, step, row, static_cast<std::uint8_t*>(row.out) + i);
  else
    settle(units, step, row, static_cast<std::uint16_t*>(row.out) + i);
}

// Differences in 256ths.
template <Feature feature, bool windows>
HWY_INLINE hn::Vec<Integers> differences_at(const RowCosts& row, int label, int i) {
  const std::ptrdiff_t x = row.first + i;
  if constexpr (windows)
    return hn::ShiftLeft<8>(hn::PromoteTo(
        Integers(), hn::LoadU(hn::Rebind<std::uint8_t, Integers>(), levels_of(row, label) + i)));
  else
    return differences_256<feature>(Integers(), row.left, x, row.right, x + row.labels - 1 - label);
}

template <Feature feature, bool windows>
void float_costs(const RowCosts& row) {
  const Floats tag;
  const Integers integers;
  const hn::Rebind<std::uint8_t, Floats> narrow;
  const int lanes = static_cast<int>(hn::Lanes(tag));
  float* units = units_of(row);
  const auto scale = hn::Set(tag, row.scale), outside = hn::Set(tag, row.outside), half = hn::Set(tag, 0.5f);
  const auto highest = hn::Set(integers, row.differences);
  const auto is_set = [&](const std::uint8_t* flags) HWY_ATTR {
    return hn::RebindMask(tag, hn::Gt(hn::PromoteTo(integers, hn::LoadU(narrow, flags)), hn::Zero(integers)));
  };
  for (int i = 0; i < row.count; i += lanes) {
    const std::ptrdiff_t x = row.first + i;
    const auto valid = is_set(row.left_valid + x);
    for (int label = 0; label < row.labels; ++label) {
      const auto difference = hn::Min(differences_at<feature, windows>(row, label, i), highest);
      const auto cost = hn::Floor(hn::Add(hn::Mul(hn::ConvertTo(tag, difference), scale), half));
      const auto exists = is_set(row.right_valid + x + row.labels - 1 - label);
      hn::StoreU(hn::IfThenElseZero(valid, hn::IfThenElse(exists, cost, outside)), tag,
                 units + label * lanes);
    }
    settle_at(units, lanes, row, i);
  }
}

template <Feature feature, bool windows>
void write_row_costs_of(const RowCosts& row) {
  if constexpr (feature_bytes(feature) == 1 || has_tables)
    if (row.simple && (has_tables || row.same)) return simple_costs_of<feature, windows>(row);
  float_costs<feature, windows>(row);
}

void write_window_costs(const RowCosts& row) {
  for (int label = 0; label < row.labels; ++label) {
    if (row.feature == Feature::bytes)
      write_levels_of_bytes(row, label);
    else
      write_levels_of_words(row, label);
  }
  write_row_costs_of<Feature::bytes, true>(row);
}

void write_row_costs_here(const RowCosts& row) {
  if (row.windows) return write_window_costs(row);
  switch (row.feature) {
    case Feature::bytes:
      return write_row_costs_of<Feature::bytes, false>(row);
    case Feature::census:
      return write_row_costs_of<Feature::census, false>(row);
    case Feature::gray:
      return write_row_costs_of<Feature::gray, false>(row);
    case Feature::colour:
      return write_row_costs_of<Feature::colour, false>(row);
    case Feature::birchfield_tomasi:
      return write_row_costs_of<Feature::birchfield_tomasi, false>(row);
    case Feature::census_opposites:
      return write_row_costs_of<Feature::census_opposites, false>(row);
    case Feature::gradients:
      return write_row_costs_of<Feature::gradients, false>(row);
    case Feature::gradients_in_bytes:
      return write_row_costs_of<Feature::gradients_in_bytes, false>(row);
  }
}

void settle_costs_here(const float* units, const RowCosts& row) {
  for (int i = 0; i < row.count; i += static_cast<int>(hn::Lanes(Floats())))
    settle_at(units + i, widest_vector_bytes, row, i);
}

}  // namespace parallax::data_cost::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax::data_cost {

PARALLAX_DISPATCH(void, write_row_costs, (const RowCosts& row), (row))
PARALLAX_DISPATCH(void, settle_costs, (const float* units, const RowCosts& row), (units, row))

}  // namespace parallax::data_cost
#endif
