#include "matchers/belief_propagation/cpu_kernels.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "matchers/belief_propagation/cpu_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace parallax::belief_propagation::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Direction::above, Direction::below, Direction::left, Direction::right;

// What an arithmetic is stored and computed in: load() and store() turn the one into the other.
template <class Integer>
struct Whole {
  using Storage = Integer;
  using Value = Integer;
  using Tag = hn::ScalableTag<Integer>;
  using Vector = hn::Vec<Tag>;
  static constexpr bool whole = true;
  static HWY_INLINE Vector load(const Storage* p) { return hn::LoadU(Tag(), p); }
  static HWY_INLINE void store(Vector v, Storage* p) { hn::StoreU(v, Tag(), p); }
  static HWY_INLINE void store_values(Vector v, Value* p) { hn::Store(v, Tag(), p); }
  static HWY_INLINE Vector add(Vector a, Vector b) { return hn::SaturatedAdd(a, b); }
  static constexpr Value highest = std::numeric_limits<Value>::max();
};

struct Float {
  using Value = float;
  using Tag = hn::ScalableTag<float>;
  using Vector = hn::Vec<Tag>;
  using Bits = hn::RebindToUnsigned<Tag>;
  static constexpr bool whole = false;
  static HWY_INLINE void store_values(Vector v, Value* p) { hn::Store(v, Tag(), p); }
  static HWY_INLINE Vector add(Vector a, Vector b) { return hn::Add(a, b); }
  static constexpr Value highest = std::numeric_limits<Value>::infinity();
};

struct Single : Float {
  using Storage = float;
  static HWY_INLINE Vector load(const Storage* p) { return hn::LoadU(Tag(), p); }
  static HWY_INLINE void store(Vector v, Storage* p) { hn::StoreU(v, Tag(), p); }
  static HWY_INLINE void load_pairs(const Storage* p, Vector& even, Vector& odd) {
    hn::LoadInterleaved2(Tag(), p, even, odd);
  }
};

// Rounds to the nearest float whose last `bits` bits are zero, ties to even.
template <int bits>
HWY_INLINE hn::Vec<Float::Bits> nearest_shorter(Float::Vector v) {
  const Float::Bits d;
  const auto value = hn::BitCast(d, v);
  const auto odd = hn::And(hn::ShiftRight<bits>(value), hn::Set(d, 1));
  return hn::Add(value, hn::Add(odd, hn::Set(d, (1u << (bits - 1)) - 1)));
}

// Short formats are kept in 16-bit integers.
template <class Format>
struct Short : Float {
  using Storage = std::uint16_t;
  using StorageTag = hn::Rebind<std::uint16_t, Tag>;
  static HWY_INLINE Vector load(const Storage* p) { return Format::widen(hn::LoadU(StorageTag(), p)); }
  static HWY_INLINE void store(Vector v, Storage* p) { hn::StoreU(Format::narrow(v), StorageTag(), p); }
  static HWY_INLINE void load_pairs(const Storage* p, Vector& even, Vector& odd) {
    hn::Vec<StorageTag> narrow_even, narrow_odd;
    hn::LoadInterleaved2(StorageTag(), p, narrow_even, narrow_odd);
    even = Format::widen(narrow_even);
    odd = Format::widen(narrow_odd);
  }
};

struct BrainFormat {
  using StorageTag = hn::Rebind<std::uint16_t, Float::Tag>;
  static HWY_INLINE Float::Vector widen(hn::Vec<StorageTag> v) {
    return hn::BitCast(Float::Tag(), hn::ShiftLeft<16>(hn::PromoteTo(Float::Bits(), v)));
  }
  static HWY_INLINE hn::Vec<StorageTag> narrow(Float::Vector v) {
    const auto high = hn::ShiftRight<16>(nearest_shorter<16>(v));
    return hn::DemoteTo(StorageTag(), hn::BitCast(hn::RebindToSigned<Float::Bits>(), high));
  }
};

struct HalfFormat {
  using StorageTag = hn::Rebind<std::uint16_t, Float::Tag>;
  using HalfTag = hn::Rebind<hwy::float16_t, Float::Tag>;
  static HWY_INLINE Float::Vector widen(hn::Vec<StorageTag> v) {
    return hn::PromoteTo(Float::Tag(), hn::BitCast(HalfTag(), v));
  }
  static HWY_INLINE hn::Vec<StorageTag> narrow(Float::Vector v) {
    return hn::BitCast(StorageTag(), hn::DemoteTo(HalfTag(), v));
  }
};

using Brain = Short<BrainFormat>;
using Half = Short<HalfFormat>;

// Planes of a row, as their type.
template <class Number, class T>
HWY_INLINE const typename Number::Storage* storage(const T* plane) {
  return static_cast<const typename Number::Storage*>(plane);
}

// The four messages to the pixels [i, i + lanes), and their data costs, for one label after the other.
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
  // The order of additions is the reference's: whole numbers do not mind.
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

// The message step for one vector of pixels, in whole numbers: the forward pass of all four directions reads
// everything once, and leaves its results where the messages will be; the backward pass makes messages of
// them.
template <class Number>
HWY_INLINE void send_whole(const RowUpdate& row, std::ptrdiff_t i) {
  using Vector = typename Number::Vector;
  using Storage = typename Number::Storage;
  const typename Number::Tag tag;
  const int labels = row.shape.labels;
  const std::ptrdiff_t stride = row.shape.stride;
  Incoming<Number> in(row, i);
  Storage* out[direction_count];
  Vector slopes[direction_count], least[direction_count], reach[direction_count];
  for (int d = 0; d < direction_count; ++d) {
    out[d] = static_cast<Storage*>(row.to[d]) + i;
    slopes[d] = Number::load(storage<Number>(row.slopes[d]) + i);
    least[d] = reach[d] = hn::Set(tag, Number::highest);
  }
  for (int label = 0; label < labels; ++label) {
    in.load(label);
    const Vector belief = in.belief();
    for (int d = 0; d < direction_count; ++d) {
      const Vector h = hn::Sub(belief, in.messages[d]);
      least[d] = hn::Min(least[d], h);
      reach[d] = hn::Min(h, hn::SaturatedAdd(reach[d], slopes[d]));
      Number::store(reach[d], out[d] + label * stride);
    }
  }
  Vector highest[direction_count];
  for (int d = 0; d < direction_count; ++d)
    reach[d] = highest[d] = hn::SaturatedAdd(least[d], Number::load(storage<Number>(row.truncations[d]) + i));
  for (int label = labels - 1; label >= 0; --label) {
    for (int d = 0; d < direction_count; ++d) {
      Storage* at = out[d] + label * stride;
      reach[d] = hn::Min(hn::Min(Number::load(at), hn::SaturatedAdd(reach[d], slopes[d])), highest[d]);
      Number::store(hn::Sub(reach[d], least[d]), at);
    }
  }
}

// The same in floats: one more pass, as the mean is known only after the second.
template <class Number>
HWY_INLINE void send_floats(const RowUpdate& row, std::ptrdiff_t i) {
  using Vector = typename Number::Vector;
  const typename Number::Tag tag;
  const int lanes = static_cast<int>(hn::Lanes(tag));
  const int labels = row.shape.labels;
  Incoming<Number> in(row, i);
  float* passes = static_cast<float*>(row.scratch);
  const auto pass = [&](int d, int label) { return passes + (label * direction_count + d) * lanes; };
  Vector slopes[direction_count], least[direction_count], reach[direction_count], sums[direction_count];
  for (int d = 0; d < direction_count; ++d) {
    slopes[d] = hn::LoadU(tag, static_cast<const float*>(row.slopes[d]) + i);
    least[d] = reach[d] = hn::Set(tag, Number::highest);
    sums[d] = hn::Zero(tag);
  }
  for (int label = 0; label < labels; ++label) {
    in.load(label);
    for (int d = 0; d < direction_count; ++d) {
      const Vector h = in.belief_without(d);
      least[d] = hn::Min(least[d], h);
      reach[d] = hn::Min(h, hn::Add(reach[d], slopes[d]));
      hn::Store(reach[d], tag, pass(d, label));
    }
  }
  Vector highest[direction_count];
  for (int d = 0; d < direction_count; ++d) {
    highest[d] = hn::Add(least[d], hn::LoadU(tag, static_cast<const float*>(row.truncations[d]) + i));
    reach[d] = hn::Set(tag, Number::highest);
  }
  for (int label = labels - 1; label >= 0; --label) {
    for (int d = 0; d < direction_count; ++d) {
      reach[d] = hn::Min(hn::Load(tag, pass(d, label)), hn::Add(reach[d], slopes[d]));
      hn::Store(hn::Min(reach[d], highest[d]), tag, pass(d, label));
    }
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
    if constexpr (Number::whole)
      send_whole<Number>(row, i);
    else
      send_floats<Number>(row, i);
  }
}

// Labels of the lowest beliefs, by lane: as numbers of the lanes' own width, and for bytes in two of them.
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

// Beliefs of the labels around the lowest, and of its rival; `beliefs` has `lanes` for each label, and loses
// them.
template <class Number>
HWY_INLINE void look_around(const RowDecision& row, std::ptrdiff_t i, typename Number::Value* beliefs) {
  using Value = typename Number::Value;
  const typename Number::Tag tag;
  const int lanes = static_cast<int>(hn::Lanes(tag));
  for (int j = 0; j < lanes; ++j) {
    const int label = row.labels[i + j];
    const auto take = [&](int at) {
      if (at < 0 || at >= row.shape.labels) return 0.0f;
      Value& belief = beliefs[at * lanes + j];
      const auto taken = static_cast<float>(belief);
      belief = Number::highest;
      return taken;
    };
    row.before[i + j] = take(label - 1);
    row.best[i + j] = take(label);
    row.after[i + j] = take(label + 1);
  }
  auto rival = hn::Set(tag, Number::highest);
  for (int label = 0; label < row.shape.labels; ++label)
    rival = hn::Min(rival, hn::Load(tag, beliefs + label * lanes));
  HWY_ALIGN Value rivals[widest_vector_bytes];
  hn::Store(rival, tag, rivals);
  for (int j = 0; j < lanes; ++j)
    row.rival[i + j] =
        rivals[j] == Number::highest ? std::numeric_limits<float>::infinity() : static_cast<float>(rivals[j]);
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
void sum_row_whole(const RowSum& row) {
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
    auto least_even = hn::Set(wide, std::numeric_limits<Wide>::max()), least_odd = least_even;
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
      least_even = hn::Min(least_even, even);
      least_odd = hn::Min(least_odd, odd);
      hn::Store(even, wide, sums + 2 * label * lanes);
      hn::Store(odd, wide, sums + (2 * label + 1) * lanes);
    }
    for (int label = 0; label < row.fine.labels; ++label) {
      for (int parity = 0; parity < 2; ++parity) {
        const auto sum = hn::Load(wide, sums + (2 * label + parity) * lanes);
        const auto kept = hn::Min(hn::Sub(sum, parity == 0 ? least_even : least_odd), bound);
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
      Number::store(even, static_cast<typename Number::Storage*>(row.sums[0]) + at);
      Number::store(odd, static_cast<typename Number::Storage*>(row.sums[1]) + at);
    }
  }
}

template <class Element>
void copy_down_as(const PlaneShape& fine, const PlaneShape& coarse, Range range, const Element* even,
                  const Element* odd, Element* out) {
  const hn::ScalableTag<Element> tag;
  const int lanes = static_cast<int>(hn::Lanes(tag));
  for (int label = 0; label < fine.labels; ++label)
    for (int i = range.first; i < range.last; i += 2 * lanes)
      hn::StoreInterleaved2(hn::LoadU(tag, even + label * coarse.stride + i / 2),
                            hn::LoadU(tag, odd + label * coarse.stride + i / 2), tag,
                            out + label * fine.stride + i);
}

// Where label `label` of the left elements finds its right ones.
struct RightElements {
  int half;
  std::ptrdiff_t offset;
};
HWY_INLINE RightElements right_elements(const RowCost& row, int label) {
  const int shift = row.parity + row.shape.labels - 1 - label;
  return {shift % 2, shift / 2};
}

HWY_INLINE const std::uint8_t* bytes(const void* plane) {
  return static_cast<const std::uint8_t*>(plane);
}
HWY_INLINE const std::uint16_t* words(const void* plane) {
  return static_cast<const std::uint16_t*>(plane);
}

template <class V>
HWY_INLINE V absolute_difference(V a, V b) {
  return hn::Or(hn::SaturatedSub(a, b), hn::SaturatedSub(b, a));
}

template <Feature feature>
inline constexpr int planes_of = feature == Feature::census ? 8 : 1;

// Differences in whole gray levels, or bits, of a vector of pixels.
template <Feature feature, class Tag8>
struct ByteDifferences {
  HWY_INLINE ByteDifferences(const RowCost& cost_row, std::ptrdiff_t first) : row(cost_row), i(first) {
    for (int p = 0; p < planes; ++p) left_bytes[p] = hn::LoadU(Tag8(), bytes(row.left[p]) + i);
  }
  HWY_INLINE hn::Vec<Tag8> at(const RightElements& right_at) const {
    const auto right_byte = [&](int p) HWY_ATTR {
      return hn::LoadU(Tag8(), bytes(row.right[right_at.half][p]) + i + right_at.offset);
    };
    if constexpr (feature == Feature::bytes) {
      return absolute_difference(left_bytes[0], right_byte(0));
    } else {
      auto sum = hn::PopulationCount(hn::Xor(left_bytes[0], right_byte(0)));
      for (int p = 1; p < planes; ++p)
        sum = hn::Add(sum, hn::PopulationCount(hn::Xor(left_bytes[p], right_byte(p))));
      return sum;
    }
  }
  static constexpr int planes = planes_of<feature>;
  const RowCost& row;
  std::ptrdiff_t i;
  hn::Vec<Tag8> left_bytes[planes];
};

// table[index], for indices below 16·chunks; beyond them, the last.
template <int chunks, class Tag8>
HWY_INLINE hn::Vec<Tag8> look_up(Tag8 tag, const hn::Vec<Tag8>* table, hn::Vec<Tag8> index) {
  auto found = hn::TableLookupBytes(table[0], hn::And(index, hn::Set(tag, 15)));
  for (int c = 1; c < chunks; ++c) {
    const auto here = hn::TableLookupBytes(table[c], hn::And(index, hn::Set(tag, 15)));
    found = hn::IfThenElse(hn::Lt(index, hn::Set(tag, static_cast<std::uint8_t>(16 * c))), found, here);
  }
  return found;
}

// fixed8, where costs fit in bytes as they are.
template <Feature feature, int chunks>
void simple_cost_row(const RowCost& row) {
  const hn::ScalableTag<std::uint8_t> tag;
  const int lanes = static_cast<int>(hn::Lanes(tag));
  hn::Vec<decltype(tag)> table[chunks];
  for (int c = 0; c < chunks; ++c) table[c] = hn::LoadDup128(tag, row.table + 16 * c);
  const auto last = hn::Set(tag, static_cast<std::uint8_t>(row.table_end - 1));
  const auto outside = hn::Set(tag, static_cast<std::uint8_t>(row.outside));
  for (int i = row.range.first; i < row.range.last; i += lanes) {
    const ByteDifferences<feature, decltype(tag)> differences(row, i);
    const auto valid = hn::LoadU(tag, row.left_valid + i);
    for (int label = 0; label < row.shape.labels; ++label) {
      const RightElements right_at = right_elements(row, label);
      const auto exists = hn::LoadU(tag, row.right_valid[right_at.half] + i + right_at.offset);
      const auto index = hn::Min(differences.at(right_at), last);
      const auto cost = look_up<chunks>(tag, table, index);
      const auto chosen = hn::Or(hn::And(exists, cost), hn::AndNot(exists, outside));
      hn::StoreU(hn::And(chosen, valid), tag,
                 static_cast<std::uint8_t*>(row.out) + label * row.shape.stride + i);
    }
  }
}

template <Feature feature>
void simple_cost_row_of(const RowCost& row) {
  if (row.table_end <= 16) return simple_cost_row<feature, 1>(row);
  if (row.table_end <= 32) return simple_cost_row<feature, 2>(row);
  if (row.table_end <= 64) return simple_cost_row<feature, 4>(row);
  simple_cost_row<feature, 16>(row);
}

// Differences in 256ths, in the lanes of floats.
template <Feature feature>
HWY_INLINE hn::Vec<hn::RebindToSigned<Float::Tag>> differences_256(const RowCost& row, std::ptrdiff_t i,
                                                                   const RightElements& right_at) {
  const hn::RebindToSigned<Float::Tag> d32;
  if constexpr (feature == Feature::bytes || feature == Feature::census) {
    const hn::Rebind<std::uint8_t, Float::Tag> d8;
    return hn::ShiftLeft<8>(hn::PromoteTo(d32, ByteDifferences<feature, decltype(d8)>(row, i).at(right_at)));
  } else {
    const hn::Rebind<std::uint16_t, Float::Tag> d16;
    const auto in_left = [&](int p)
                             HWY_ATTR { return hn::PromoteTo(d32, hn::LoadU(d16, words(row.left[p]) + i)); };
    const auto in_right = [&](int p) HWY_ATTR {
      return hn::PromoteTo(d32, hn::LoadU(d16, words(row.right[right_at.half][p]) + i + right_at.offset));
    };
    const auto apart = [&](int p) HWY_ATTR { return hn::Abs(hn::Sub(in_left(p), in_right(p))); };
    if constexpr (feature == Feature::gray) {
      return apart(0);
    } else if constexpr (feature == Feature::colour) {
      const auto third = [&](int p) HWY_ATTR {
        // Below 2³², so the sign bit is a digit.
        const auto product = hn::BitCast(Float::Bits(), hn::Mul(apart(p), hn::Set(d32, 21845)));
        return hn::BitCast(d32, hn::ShiftRight<16>(product));
      };
      return hn::Add(hn::Add(third(0), third(1)), third(2));
    } else {
      const auto beyond = [&](auto sample, auto lowest, auto highest) HWY_ATTR {
        return hn::Max(hn::Max(hn::Sub(sample, highest), hn::Sub(lowest, sample)), hn::Zero(d32));
      };
      return hn::Min(beyond(in_left(0), in_right(1), in_right(2)),
                     beyond(in_right(0), in_left(1), in_left(2)));
    }
  }
}

// Stores one vector of pixels' costs, of which whole arithmetic keeps what lies within `bound` of the least.
template <class Number>
HWY_INLINE void settle(const float* units, std::ptrdiff_t step, const PlaneShape& shape, int bound,
                       typename Number::Storage* out) {
  const Float::Tag tag;
  if constexpr (Number::whole) {
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
    for (int label = 0; label < row.shape.labels; ++label) {
      const RightElements right_at = right_elements(row, label);
      const auto difference = hn::Min(differences_256<feature>(row, i, right_at), differences);
      auto cost = hn::Mul(hn::ConvertTo(tag, difference), scale);
      if constexpr (Number::whole) cost = hn::Floor(hn::Add(cost, half));
      const std::uint8_t* right_valid = row.right_valid[right_at.half] + i + right_at.offset;
      const auto exists =
          hn::RebindMask(tag, hn::Gt(hn::PromoteTo(d32, hn::LoadU(d8, right_valid)), hn::Zero(d32)));
      cost = hn::IfThenElseZero(valid, hn::IfThenElse(exists, cost, outside));
      hn::Store(cost, tag, units + label * lanes);
    }
    settle<Number>(units, lanes, row.shape, row.bound, static_cast<typename Number::Storage*>(row.out) + i);
  }
}

template <class Number>
void cost_row_as(const RowCost& row) {
  switch (row.feature) {
    case Feature::bytes:
      if constexpr (sizeof(typename Number::Storage) == 1)
        if (row.simple) return simple_cost_row_of<Feature::bytes>(row);
      return cost_row_of<Number, Feature::bytes>(row);
    case Feature::census:
      if constexpr (sizeof(typename Number::Storage) == 1)
        if (row.simple) return simple_cost_row_of<Feature::census>(row);
      return cost_row_of<Number, Feature::census>(row);
    case Feature::gray:
      return cost_row_of<Number, Feature::gray>(row);
    case Feature::colour:
      return cost_row_of<Number, Feature::colour>(row);
    case Feature::birchfield_tomasi:
      return cost_row_of<Number, Feature::birchfield_tomasi>(row);
  }
}

template <class Action>
void as_number(Arithmetic arithmetic, const Action& action) {
  switch (arithmetic) {
    case Arithmetic::fixed8:
      return action(Whole<std::uint8_t>());
    case Arithmetic::fixed16:
      return action(Whole<std::uint16_t>());
    case Arithmetic::float32:
      return action(Single());
    case Arithmetic::float16:
      return action(Half());
    case Arithmetic::bfloat16:
      return action(Brain());
  }
}

void settle_costs_here(Arithmetic arithmetic, const PlaneShape& shape, int count, const float* units,
                       int bound, void* out) {
  as_number(arithmetic,
            [&](auto number) { settle_costs_as<decltype(number)>(shape, count, units, bound, out); });
}

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

void update_row_here(Arithmetic arithmetic, const RowUpdate& row) {
  as_number(arithmetic, [&](auto number) { update_row_as<decltype(number)>(row); });
}

void decide_row_here(Arithmetic arithmetic, const RowDecision& row) {
  as_number(arithmetic, [&](auto number) { decide_row_as<decltype(number)>(row); });
}

void sum_row_here(Arithmetic arithmetic, const RowSum& row) {
  as_number(arithmetic, [&](auto number) {
    using Number = decltype(number);
    if constexpr (!Number::whole)
      sum_row_floats<Number>(row);
    else if constexpr (sizeof(typename Number::Storage) == 1)
      sum_row_whole<Number, std::uint16_t>(row);
    else
      sum_row_whole<Number, std::uint32_t>(row);
  });
}

void cost_row_here(Arithmetic arithmetic, const RowCost& row) {
  as_number(arithmetic, [&](auto number) { cost_row_as<decltype(number)>(row); });
}

template <class Element>
void copy_down_elements(const PlaneShape& fine, const PlaneShape& coarse, Range range, const void* even,
                        const void* odd, void* out) {
  copy_down_as(fine, coarse, range, static_cast<const Element*>(even), static_cast<const Element*>(odd),
               static_cast<Element*>(out));
}

void copy_down_here(Arithmetic arithmetic, const PlaneShape& fine, const PlaneShape& coarse, Range range,
                    const void* even, const void* odd, void* out) {
  switch (storage_bytes(arithmetic)) {
    case 1:
      return copy_down_elements<std::uint8_t>(fine, coarse, range, even, odd, out);
    case 2:
      return copy_down_elements<std::uint16_t>(fine, coarse, range, even, odd, out);
    default:
      return copy_down_elements<std::uint32_t>(fine, coarse, range, even, odd, out);
  }
}

}  // namespace parallax::belief_propagation::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax::belief_propagation {

HWY_EXPORT(update_row_here);
HWY_EXPORT(decide_row_here);
HWY_EXPORT(sum_row_here);
HWY_EXPORT(cost_row_here);
HWY_EXPORT(copy_down_here);
HWY_EXPORT(settle_costs_here);
HWY_EXPORT(census_row_here);
HWY_EXPORT(split_bytes_here);
HWY_EXPORT(split_words_here);

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

int copying_unit(Arithmetic arithmetic) {
  return 2 * widest_vector_bytes / static_cast<int>(storage_bytes(arithmetic));
}

PlaneShape plane_shape(Size size, int labels, Arithmetic arithmetic) {
  PlaneShape shape;
  shape.labels = labels;
  shape.computed = whole_units((size.width + 1) / 2, computing_unit(arithmetic));
  shape.copied = whole_units(shape.computed, copying_unit(arithmetic));
  // An even number of vectors and a margin of one, so that successive labels do not meet in the same few sets
  // of the cache.
  shape.stride = shape.copied + copying_unit(arithmetic) / 2;
  return shape;
}

void update_row(Arithmetic arithmetic, const RowUpdate& row) {
  HWY_DYNAMIC_DISPATCH(update_row_here)(arithmetic, row);
}

void decide_row(Arithmetic arithmetic, const RowDecision& row) {
  HWY_DYNAMIC_DISPATCH(decide_row_here)(arithmetic, row);
}

void sum_row(Arithmetic arithmetic, const RowSum& row) {
  HWY_DYNAMIC_DISPATCH(sum_row_here)(arithmetic, row);
}

void cost_row(Arithmetic arithmetic, const RowCost& row) {
  HWY_DYNAMIC_DISPATCH(cost_row_here)(arithmetic, row);
}

void copy_down(Arithmetic arithmetic, const PlaneShape& fine, const PlaneShape& coarse, Range range,
               const void* even, const void* odd, void* out) {
  HWY_DYNAMIC_DISPATCH(copy_down_here)(arithmetic, fine, coarse, range, even, odd, out);
}

void settle_costs(Arithmetic arithmetic, const PlaneShape& shape, int count, const float* units, int bound,
                  void* out) {
  HWY_DYNAMIC_DISPATCH(settle_costs_here)(arithmetic, shape, count, units, bound, out);
}

void census_row(const RowCensus& row) {
  HWY_DYNAMIC_DISPATCH(census_row_here)(row);
}

void split_row(const std::uint8_t* row, int count, std::uint8_t* even, std::uint8_t* odd) {
  HWY_DYNAMIC_DISPATCH(split_bytes_here)(row, count, even, odd);
}

void split_row(const std::uint16_t* row, int count, std::uint16_t* even, std::uint16_t* odd) {
  HWY_DYNAMIC_DISPATCH(split_words_here)(row, count, even, odd);
}

}  // namespace parallax::belief_propagation
#endif
