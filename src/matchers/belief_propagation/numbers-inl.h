// SPDX-License-Identifier: Apache-2.0
// The storage and computing types of each arithmetic, as vectors of the instruction set that is being
// compiled. Included once for each instruction set.

// Included once for each instruction set.
#if defined(PARALLAX_BELIEF_PROPAGATION_NUMBERS) == defined(HWY_TARGET_TOGGLE)
#ifdef PARALLAX_BELIEF_PROPAGATION_NUMBERS
#undef PARALLAX_BELIEF_PROPAGATION_NUMBERS
#else
#define PARALLAX_BELIEF_PROPAGATION_NUMBERS
#endif

#include <limits>

#include <hwy/highway.h>

#include "parallax/belief_propagation.h"

HWY_BEFORE_NAMESPACE();
namespace parallax::belief_propagation::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// load() and store() convert between the storage and the computing type.
template <class Element>
struct Integer {
  using Storage = Element;
  using Value = Element;
  using Tag = hn::ScalableTag<Element>;
  using Vector = hn::Vec<Tag>;
  static constexpr bool integer = true;
  static HWY_INLINE Vector load(const Storage* p) { return hn::LoadU(Tag(), p); }
  static HWY_INLINE void store(Vector v, Storage* p) { hn::StoreU(v, Tag(), p); }
  static HWY_INLINE void store_values(Vector v, Value* p) { hn::Store(v, Tag(), p); }
  static constexpr Value highest = std::numeric_limits<Value>::max();
};

struct Float {
  using Value = float;
  using Tag = hn::ScalableTag<float>;
  using Vector = hn::Vec<Tag>;
  using Bits = hn::RebindToUnsigned<Tag>;
  static constexpr bool integer = false;
  static HWY_INLINE void store_values(Vector v, Value* p) { hn::Store(v, Tag(), p); }
  // Clamps a sum of data costs to the storage's range.
  static HWY_INLINE Vector within_range(Vector v) { return v; }
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
#if HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
    v = nearest(v);
#endif
    return hn::BitCast(StorageTag(), hn::DemoteTo(HalfTag(), v));
  }

 private:
  // Highway's emulation of the conversion, where the machine has none, truncates.
  static HWY_INLINE Float::Vector nearest(Float::Vector v) {
    const Float::Tag tag;
    const auto normal = hn::And(nearest_shorter<13>(v), hn::Set(Float::Bits(), 0xFFFFE000u));
    // Halves below the least normal one are spaced like floats from ½ to 1.
    const auto half = hn::Set(tag, 0.5f), magnitude = hn::Abs(v);
    const auto subnormal = hn::CopySign(hn::Sub(hn::Add(magnitude, half), half), v);
    return hn::IfThenElse(hn::Lt(magnitude, hn::Set(tag, 6.103515625e-05f)), subnormal,
                          hn::BitCast(tag, normal));
  }
};

using Brain = Short<BrainFormat>;
struct Half : Short<HalfFormat> {
  static HWY_INLINE Vector within_range(Vector v) {
    const auto highest = hn::Set(Tag(), 65504.0f);
    return hn::Max(hn::Min(v, highest), hn::Neg(highest));
  }
};

// A plane of a row, cast to its storage type.
template <class Number, class T>
HWY_INLINE const typename Number::Storage* storage(const T* plane) {
  return static_cast<const typename Number::Storage*>(plane);
}

// Calls action(number) for the type of an arithmetic.
template <class Action>
void as_number(Arithmetic arithmetic, const Action& action) {
  switch (arithmetic) {
    case Arithmetic::fixed8:
      return action(Integer<std::uint8_t>());
    case Arithmetic::fixed16:
      return action(Integer<std::uint16_t>());
    case Arithmetic::float32:
      return action(Single());
    case Arithmetic::float16:
      return action(Half());
    case Arithmetic::bfloat16:
      return action(Brain());
  }
}

}  // namespace parallax::belief_propagation::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
