// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "core/integers.h"
#include "matchers/belief_propagation/belief_propagation.h"
#include "matchers/belief_propagation/cpu_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "matchers/belief_propagation/message_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "devices/cpu/dispatch.h"
#include "matchers/belief_propagation/numbers-inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax::belief_propagation::HWY_NAMESPACE {

using Direction::above, Direction::below, Direction::left, Direction::right;

// The four messages to the pixels [i, i + lanes), and their data costs, label by label.
template <class Number>
struct Incoming {
  using Vector = typename Number::Vector;
  using Storage = typename Number::Storage;

  template <class Row>
  HWY_INLINE Incoming(const Row& row, std::ptrdiff_t i)
      : data(storage<Number>(row.data) + i),
        from{storage<Number>(row.from[above]) + i, storage<Number>(row.from[below]) + i,
             storage<Number>(row.from[left]) + i, storage<Number>(row.from[right]) + i},
        stride(row.shape.stride) {}

  HWY_INLINE void load(int label) {
    const std::ptrdiff_t at = label * stride;
    for (int d = 0; d < direction_count; ++d) messages[d] = Number::load(from[d] + at);
    costs = Number::load(data + at);
  }
  // Adds in the reference's order, which matters to floats only.
  HWY_INLINE Vector belief() const {
    return hn::Add(
        hn::Add(hn::Add(hn::Add(messages[below], messages[above]), messages[right]), messages[left]), costs);
  }
  HWY_INLINE Vector belief_without(int d) const {
    const Vector a = messages[d == below ? above : below], b = messages[d <= below ? right : above],
                 c = messages[d == left ? right : left];
    return hn::Add(hn::Add(hn::Add(a, b), c), costs);
  }

  const Storage* data;
  const Storage* from[direction_count];
  std::ptrdiff_t stride;
  Vector messages[direction_count], costs;
};

// The passes over the row offsets of each disparity, in messages that are complete in each row offset.
template <class Number>
void send_across_rows(const RowUpdate& row, std::ptrdiff_t i) {
  const int disparities = row.shape.labels / row.shape.row_offsets;
  const std::ptrdiff_t stride = row.shape.stride, step = disparities * stride;
  const auto slope = hn::Set(typename Number::Tag(), static_cast<typename Number::Value>(row.row_slope));
  for (int d = 0; d < direction_count; ++d) {
    const auto bound = Number::load(storage<Number>(row.row_bounds[d]) + i);
    for (int first = 0; first < disparities; ++first) {
      auto* at = static_cast<typename Number::Storage*>(row.to[d]) + i + first * stride;
      auto reach = hn::Min(Number::load(at), bound);
      Number::store(reach, at);
      for (int k = 1; k < row.shape.row_offsets; ++k) {
        at += step;
        reach = hn::Min(hn::Min(Number::load(at), hn::SaturatedAdd(reach, slope)), bound);
        Number::store(reach, at);
      }
      for (int k = 1; k < row.shape.row_offsets; ++k) {
        at -= step;
        reach = hn::Min(Number::load(at), hn::SaturatedAdd(reach, slope));
        Number::store(reach, at);
      }
    }
  }
}

// The message step for one vector of pixels, in integers. The forward pass of all four directions reads every
// input once, and stores its results in place of the messages; the backward pass completes them.
template <class Number>
HWY_INLINE void send_integers(const RowUpdate& row, std::ptrdiff_t i) {
  using Vector = typename Number::Vector;
  const typename Number::Tag tag;
  const int rows = row.shape.row_offsets, disparities = row.shape.labels / rows;
  const std::ptrdiff_t stride = row.shape.stride;
  Incoming<Number> in(row, i);
  typename Number::Storage* out[direction_count];
  Vector slopes[direction_count], truncations[direction_count], least[direction_count],
      reach[direction_count];
  const auto min_of = [&](int k, int d) {  // least h of a row offset, in a direction
    return static_cast<typename Number::Value*>(row.scratch) +
           (k * direction_count + d) * static_cast<int>(hn::Lanes(tag));
  };
  for (int d = 0; d < direction_count; ++d) {
    out[d] = static_cast<typename Number::Storage*>(row.to[d]) + i;
    slopes[d] = Number::load(storage<Number>(row.slopes[d]) + i);
    truncations[d] = Number::load(storage<Number>(row.truncations[d]) + i);
    least[d] = hn::Set(tag, Number::highest);
  }
  for (int k = 0; k < rows; ++k) {
    Vector min_of_row[direction_count];
    for (int d = 0; d < direction_count; ++d) min_of_row[d] = reach[d] = hn::Set(tag, Number::highest);
    for (int label = k * disparities; label < (k + 1) * disparities; ++label) {
      in.load(label);
      const Vector belief = in.belief();
      for (int d = 0; d < direction_count; ++d) {
        const Vector h = hn::Sub(belief, in.messages[d]);
        min_of_row[d] = hn::Min(min_of_row[d], h);
        reach[d] = hn::Min(h, hn::SaturatedAdd(reach[d], slopes[d]));
        Number::store(reach[d], out[d] + label * stride);
      }
    }
    for (int d = 0; d < direction_count; ++d) {
      least[d] = hn::Min(least[d], min_of_row[d]);
      Number::store_values(min_of_row[d], min_of(k, d));
    }
  }
  for (int k = 0; k < rows; ++k) {
    Vector highest[direction_count];
    for (int d = 0; d < direction_count; ++d)
      reach[d] = highest[d] = hn::SaturatedAdd(hn::Load(tag, min_of(k, d)), truncations[d]);
    for (int label = (k + 1) * disparities - 1; label >= k * disparities; --label) {
      for (int d = 0; d < direction_count; ++d) {
        auto* at = out[d] + label * stride;
        reach[d] = hn::Min(hn::Min(Number::load(at), hn::SaturatedAdd(reach[d], slopes[d])), highest[d]);
        Number::store(hn::Sub(reach[d], least[d]), at);
      }
    }
  }
}

// The passes over the row offsets of each disparity, in floats: `pass(label)` is where a direction's values
// are, and none stays above the bound.
template <class Pass, class Vector>
HWY_INLINE void pass_across_rows(const RowUpdate& row, Vector bound, const Pass& pass) {
  const Float::Tag tag;
  const int labels = row.shape.labels, disparities = labels / row.shape.row_offsets;
  const auto slope = hn::Set(tag, row.row_slope);
  const auto take = [&](int label, int from) HWY_ATTR {
    const auto near = hn::Add(hn::Load(tag, pass(from)), slope);
    hn::Store(hn::Min(hn::Min(hn::Load(tag, pass(label)), near), bound), tag, pass(label));
  };
  for (int label = disparities; label < labels; ++label) take(label, label - disparities);
  for (int label = labels - disparities - 1; label >= 0; --label) take(label, label + disparities);
}

// The message step in floats, with a third pass, because the mean is known only after the second.
template <class Number>
HWY_INLINE void send_floats(const RowUpdate& row, std::ptrdiff_t i) {
  using Vector = typename Number::Vector;
  const typename Number::Tag tag;
  const int lanes = static_cast<int>(hn::Lanes(tag));
  const int labels = row.shape.labels, disparities = labels / row.shape.row_offsets;
  Incoming<Number> in(row, i);
  float* passes = static_cast<float*>(row.scratch);
  const auto pass = [&](int d, int label) { return passes + (label * direction_count + d) * lanes; };
  Vector slopes[direction_count], least[direction_count], reach[direction_count], sums[direction_count];
  for (int d = 0; d < direction_count; ++d) {
    slopes[d] = hn::LoadU(tag, static_cast<const float*>(row.slopes[d]) + i);
    least[d] = reach[d] = hn::Set(tag, Number::highest);
    sums[d] = hn::Zero(tag);
  }
  for (int first = 0; first < labels; first += disparities) {
    Vector highest[direction_count];
    for (int d = 0; d < direction_count; ++d) highest[d] = reach[d] = hn::Set(tag, Number::highest);
    for (int label = first; label < first + disparities; ++label) {
      in.load(label);
      for (int d = 0; d < direction_count; ++d) {
        const Vector h = in.belief_without(d);
        highest[d] = hn::Min(highest[d], h);
        reach[d] = hn::Min(h, hn::Add(reach[d], slopes[d]));
        hn::Store(reach[d], tag, pass(d, label));
      }
    }
    for (int d = 0; d < direction_count; ++d) {
      least[d] = hn::Min(least[d], highest[d]);
      highest[d] = hn::Add(highest[d], hn::LoadU(tag, static_cast<const float*>(row.truncations[d]) + i));
      reach[d] = hn::Set(tag, Number::highest);
    }
    for (int label = first + disparities - 1; label >= first; --label) {
      for (int d = 0; d < direction_count; ++d) {
        reach[d] = hn::Min(hn::Load(tag, pass(d, label)), hn::Add(reach[d], slopes[d]));
        hn::Store(hn::Min(reach[d], highest[d]), tag, pass(d, label));
      }
    }
  }
  for (int d = 0; d < direction_count && row.shape.row_offsets > 1; ++d) {
    const Vector bound = hn::Add(least[d], hn::LoadU(tag, static_cast<const float*>(row.row_bounds[d]) + i));
    pass_across_rows(row, bound, [&](int label) { return pass(d, label); });
  }
  for (int label = 0; label < labels; ++label)
    for (int d = 0; d < direction_count; ++d) sums[d] = hn::Add(sums[d], hn::Load(tag, pass(d, label)));
  const Vector count = hn::Set(tag, static_cast<float>(labels));
  for (int d = 0; d < direction_count; ++d) sums[d] = hn::Div(sums[d], count);
  for (int d = 0; d < direction_count; ++d) {
    auto* out = static_cast<typename Number::Storage*>(row.to[d]) + i;
    for (int label = 0; label < labels; ++label)
      Number::store(hn::Sub(hn::Load(tag, pass(d, label)), sums[d]), out + label * row.shape.stride);
  }
}

template <class Number>
void update_row_as(const RowUpdate& row) {
  const int lanes = static_cast<int>(hn::Lanes(typename Number::Tag()));
  for (int i = row.range.first; i < row.range.last; i += lanes) {
    if constexpr (Number::integer) {
      send_integers<Number>(row, i);
      if (row.shape.row_offsets > 1) send_across_rows<Number>(row, i);
    } else {
      send_floats<Number>(row, i);
    }
  }
}

// Labels of the lowest beliefs, by lane: as integers of the lanes' own width; for bytes, in two of them.
template <class Number>
struct Lowest {
  using Vector = typename Number::Vector;
  using Value = typename Number::Value;

  HWY_INLINE Lowest()
      : best(hn::Set(typename Number::Tag(), Number::highest)),
        low(hn::Zero(typename Number::Tag())),
        high(low) {}

  HWY_INLINE void consider(Vector belief, int label) {
    const typename Number::Tag tag;
    const auto better = hn::Lt(belief, best);
    best = hn::Min(belief, best);
    if constexpr (sizeof(Value) == 1) {
      low = hn::IfThenElse(better, hn::Set(tag, static_cast<Value>(label % 256)), low);
      high = hn::IfThenElse(better, hn::Set(tag, static_cast<Value>(label / 256)), high);
    } else {
      low = hn::IfThenElse(better, hn::Set(tag, static_cast<Value>(label)), low);
    }
  }
  HWY_INLINE void write(std::uint16_t* labels) const {
    const typename Number::Tag tag;
    const int lanes = static_cast<int>(hn::Lanes(tag));
    HWY_ALIGN Value lows[widest_vector_bytes], highs[widest_vector_bytes];
    hn::Store(low, tag, lows);
    hn::Store(high, tag, highs);
    for (int j = 0; j < lanes; ++j)
      labels[j] = static_cast<std::uint16_t>(sizeof(Value) == 1 ? highs[j] * 256 + lows[j] : lows[j]);
  }

  Vector best, low, high;
};

// Finds the beliefs next to the lowest; `beliefs` has `lanes` for each label.
template <class Number>
HWY_INLINE void look_around(const RowDecision& row, std::ptrdiff_t i, const typename Number::Value* beliefs) {
  const typename Number::Tag tag;
  const int lanes = static_cast<int>(hn::Lanes(tag));
  const int disparities = row.shape.labels / row.shape.row_offsets;
  for (int j = 0; j < lanes; ++j) {
    const int label = row.labels[i + j];
    const auto belief_of = [&](int at) { return static_cast<float>(beliefs[at * lanes + j]); };
    const int column = row.shape.row_offsets == 1 ? label : label % disparities;
    row.before[i + j] = column > 0 ? belief_of(label - 1) : 0;
    row.best[i + j] = belief_of(label);
    row.after[i + j] = column + 1 < disparities ? belief_of(label + 1) : 0;
    if (row.shape.row_offsets == 1) continue;
    constexpr float none = std::numeric_limits<float>::infinity();
    row.row_before[i + j] = label >= disparities ? belief_of(label - disparities) : none;
    row.row_after[i + j] = label + disparities < row.shape.labels ? belief_of(label + disparities) : none;
  }
}

template <class Number>
void decide_row_as(const RowDecision& row) {
  const typename Number::Tag tag;
  const int lanes = static_cast<int>(hn::Lanes(tag));
  auto* beliefs = static_cast<typename Number::Value*>(row.scratch);
  const bool around = row.best != nullptr;
  for (int i = row.range.first; i < row.range.last; i += lanes) {
    Incoming<Number> in(row, i);
    Lowest<Number> lowest;
    for (int label = 0; label < row.shape.labels; ++label) {
      in.load(label);
      const auto belief = in.belief();
      lowest.consider(belief, label);
      if (around) Number::store_values(belief, beliefs + label * lanes);
    }
    lowest.write(row.labels + i);
    if (around) look_around<Number>(row, i, beliefs);
  }
}

// Sums of four children in integers of twice the width: the two halves of each hold an even and an odd coarse
// pixel.
template <class Number, class Wide>
void sum_row_integers(const RowSum& row) {
  using Storage = typename Number::Storage;
  const hn::ScalableTag<Wide> wide;
  const hn::RebindToSigned<decltype(wide)> signed_wide;
  const hn::Rebind<Storage, decltype(wide)> narrow;
  constexpr int bits = 8 * sizeof(Storage);
  const int lanes = static_cast<int>(hn::Lanes(wide));
  const auto low_half = hn::Set(wide, std::numeric_limits<Storage>::max());
  const auto bound = hn::Set(wide, static_cast<Wide>(row.bound));
  Wide* sums = static_cast<Wide*>(row.scratch);
  for (int i = 0; i < row.fine.copied; i += 2 * lanes) {
    auto min_even = hn::Set(wide, std::numeric_limits<Wide>::max()), min_odd = min_even;
    for (int label = 0; label < row.fine.labels; ++label) {
      auto even = hn::Zero(wide), odd = hn::Zero(wide);
      for (const auto& children : row.children) {
        for (const void* child : children) {
          const auto both = hn::LoadU(
              wide, reinterpret_cast<const Wide*>(storage<Number>(child) + i + label * row.fine.stride));
          even = hn::Add(even, hn::And(both, low_half));
          odd = hn::Add(odd, hn::ShiftRight<bits>(both));
        }
      }
      min_even = hn::Min(min_even, even);
      min_odd = hn::Min(min_odd, odd);
      hn::Store(even, wide, sums + 2 * label * lanes);
      hn::Store(odd, wide, sums + (2 * label + 1) * lanes);
    }
    for (int label = 0; label < row.fine.labels; ++label) {
      for (int parity = 0; parity < 2; ++parity) {
        const auto sum = hn::Load(wide, sums + (2 * label + parity) * lanes);
        const auto kept = hn::Min(hn::Sub(sum, parity == 0 ? min_even : min_odd), bound);
        Storage* out = static_cast<Storage*>(row.sums[parity]) + label * row.coarse.stride + i / 2;
        hn::StoreU(hn::DemoteTo(narrow, hn::BitCast(signed_wide, kept)), narrow, out);
      }
    }
  }
}

template <class Number>
void sum_row_floats(const RowSum& row) {
  const int lanes = static_cast<int>(hn::Lanes(typename Number::Tag()));
  for (int label = 0; label < row.fine.labels; ++label) {
    for (int i = 0; i < row.fine.copied; i += 2 * lanes) {
      auto even = hn::Zero(typename Number::Tag()), odd = even;
      for (const auto& children : row.children) {
        for (const void* child : children) {
          typename Number::Vector child_even, child_odd;
          Number::load_pairs(storage<Number>(child) + i + label * row.fine.stride, child_even, child_odd);
          even = hn::Add(even, child_even);
          odd = hn::Add(odd, child_odd);
        }
      }
      const std::ptrdiff_t at = label * row.coarse.stride + i / 2;
      Number::store(Number::within_range(even), static_cast<typename Number::Storage*>(row.sums[0]) + at);
      Number::store(Number::within_range(odd), static_cast<typename Number::Storage*>(row.sums[1]) + at);
    }
  }
}

template <class Element>
void copy_down_as(const PlaneShape& fine, const PlaneShape& coarse, Range range, const void* even_elements,
                  const void* odd_elements, void* elements) {
  const hn::Half<hn::ScalableTag<Element>> tag;
  const int lanes = static_cast<int>(hn::Lanes(tag));
  const auto *even = static_cast<const Element*>(even_elements),
             *odd = static_cast<const Element*>(odd_elements);
  auto* out = static_cast<Element*>(elements);
  for (int label = 0; label < fine.labels; ++label)
    for (int i = range.first; i < range.last; i += 2 * lanes)
      hn::StoreInterleaved2(hn::LoadU(tag, even + label * coarse.stride + i / 2),
                            hn::LoadU(tag, odd + label * coarse.stride + i / 2), tag,
                            out + label * fine.stride + i);
}

void update_row_here(Arithmetic arithmetic, const RowUpdate& row) {
  as_number(arithmetic, [&](auto number) { update_row_as<decltype(number)>(row); });
}

void decide_row_here(Arithmetic arithmetic, const RowDecision& row) {
  as_number(arithmetic, [&](auto number) { decide_row_as<decltype(number)>(row); });
}

void sum_row_here(Arithmetic arithmetic, const RowSum& row) {
  as_number(arithmetic, [&](auto number) {
    using Number = decltype(number);
    if constexpr (!Number::integer)
      sum_row_floats<Number>(row);
    else if constexpr (sizeof(typename Number::Storage) == 1)
      sum_row_integers<Number, std::uint16_t>(row);
    else
      sum_row_integers<Number, std::uint32_t>(row);
  });
}

void copy_down_here(Arithmetic arithmetic, const PlaneShape& fine, const PlaneShape& coarse, Range range,
                    const void* even, const void* odd, void* out) {
  switch (storage_bytes(arithmetic)) {
    case 1:
      return copy_down_as<std::uint8_t>(fine, coarse, range, even, odd, out);
    case 2:
      return copy_down_as<std::uint16_t>(fine, coarse, range, even, odd, out);
    default:
      return copy_down_as<std::uint32_t>(fine, coarse, range, even, odd, out);
  }
}

}  // namespace parallax::belief_propagation::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax::belief_propagation {

std::size_t storage_bytes(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::fixed8:
      return 1;
    case Arithmetic::float32:
      return 4;
    default:
      return 2;
  }
}

std::size_t computing_bytes(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::fixed8 ? 1 : arithmetic == Arithmetic::fixed16 ? 2 : 4;
}

int computing_unit(Arithmetic arithmetic) {
  return widest_vector_bytes / static_cast<int>(computing_bytes(arithmetic));
}

// Sums of floats take pairs of them.
int copying_unit(Arithmetic arithmetic) {
  const int vector = widest_vector_bytes / static_cast<int>(storage_bytes(arithmetic));
  return arithmetic == Arithmetic::float32 ? 2 * vector : vector;
}

PlaneShape plane_shape(Size size, int labels, int row_offsets, Arithmetic arithmetic) {
  const int pixels = (size.width + 1) / 2, unit = copying_unit(arithmetic);
  PlaneShape shape;
  shape.labels = labels;
  shape.row_offsets = row_offsets;
  shape.computed = round_up(pixels, computing_unit(arithmetic));
  shape.copied = round_up(shape.computed, unit);
  // Pixels beyond the border send zeros in integers, so those before and behind a half may be the last of a
  // label.
  shape.stride = is_integer(arithmetic) ? round_up(pixels + 2, unit) : shape.copied + unit;
  return shape;
}

PARALLAX_DISPATCH(void, update_row, (Arithmetic arithmetic, const RowUpdate& row), (arithmetic, row))
PARALLAX_DISPATCH(void, decide_row, (Arithmetic arithmetic, const RowDecision& row), (arithmetic, row))
PARALLAX_DISPATCH(void, sum_row, (Arithmetic arithmetic, const RowSum& row), (arithmetic, row))
PARALLAX_DISPATCH(void, copy_down,
                  (Arithmetic arithmetic, const PlaneShape& fine, const PlaneShape& coarse, Range range,
                   const void* even, const void* odd, void* out),
                  (arithmetic, fine, coarse, range, even, odd, out))

}  // namespace parallax::belief_propagation
#endif
