// SPDX-License-Identifier: Apache-2.0
// Lanes are neighbouring pixels.
#include <algorithm>
#include <cmath>
#include <limits>

#include "decision/values.h"
#include "temporal/frame_state.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "temporal/frame_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace parallax::temporal::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Calls run(d, x) for all pixels of a row: some more than once, which must change nothing.
template <class Run>
HWY_INLINE void for_lanes(int width, const Run& run) {
  const hn::ScalableTag<float> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  if (width >= lanes)
    for (int x = 0; x < width; x += lanes) run(d, std::min(x, width - lanes));
  else
    for (int x = 0; x < width; ++x) run(hn::CappedTag<float, 1>(), x);
}

template <class D>
HWY_INLINE void move_lanes(D d, const MovedRow& row, const CameraMotion& motion, int x) {
  const hn::RebindToSigned<D> d_int;
  const hn::RebindToUnsigned<D> d_bits;
  const hn::Rebind<std::uint8_t, D> d_byte;
  const auto set = [&](float value) { return hn::Set(d, value); };
  const auto integer = [&](int value) { return hn::Set(d_int, value); };
  const auto word = hn::LoadU(d_bits, row.words + x);
  const auto age = hn::BitCast(d_int, hn::ShiftRight<24>(word));
  const auto byte = hn::Set(d_bits, 255u);
  const auto from_x =
      hn::Sub(hn::BitCast(d_int, hn::And(hn::ShiftRight<16>(word), byte)), integer(half_pixel));
  const auto from_y =
      hn::Sub(hn::BitCast(d_int, hn::And(hn::ShiftRight<8>(word), byte)), integer(half_pixel));

  const auto in_pixels = [&](auto units) { return hn::Mul(set(1.0f / place_unit), hn::ConvertTo(d, units)); };
  const auto px = in_pixels(hn::Add(hn::ShiftLeft<place_bits>(hn::Iota(d_int, x)), from_x)),
             py = in_pixels(hn::Add(integer(row.y * place_unit), from_y));
  const auto disparity = hn::LoadU(d, row.disparity + x);
  const auto u = hn::Sub(px, set(motion.middle_x)), v = hn::Sub(py, set(motion.middle_y));
  const auto at = [&](const std::array<float, 4>& terms) {
    const auto sum = hn::Add(hn::Mul(set(terms[0]), u), hn::Mul(set(terms[1]), v));
    return hn::Add(hn::Add(sum, hn::Mul(set(terms[2]), disparity)), set(terms[3]));
  };
  const auto change = at(motion.e), scale = hn::Div(set(1), hn::Add(set(1), change));
  const auto to_x = hn::Add(px, hn::Mul(hn::Sub(at(motion.a), hn::Mul(u, change)), scale));
  const auto to_y = hn::Add(py, hn::Mul(hn::Sub(at(motion.b), hn::Mul(v, change)), scale));
  const auto moved = hn::Mul(disparity, scale);

  const auto in_units = [&](auto pixels) { return hn::Mul(set(place_unit), pixels); };
  const auto unit_x = in_units(to_x), unit_y = in_units(to_y);
  // Whether the nearest unit, or of two the even one, is in a pixel of the image.
  const auto inside = [&](auto value, int end) {
    constexpr float before = half_pixel + 0.5f;
    return hn::And(hn::Ge(value, set(-before)),
                   hn::Lt(value, set(static_cast<float>(end) * place_unit - before)));
  };
  const auto arrives = hn::And(
      hn::And(inside(unit_x, row.size.width), inside(unit_y, row.size.height)),
      hn::And(hn::Lt(moved, set(decision::no_value)), hn::RebindMask(d, hn::Gt(age, hn::Zero(d_int)))));
  const auto arrives_int = hn::RebindMask(d_int, arrives);
  const auto place_x = hn::NearestInt(hn::IfThenElseZero(arrives, unit_x)),
             place_y = hn::NearestInt(hn::IfThenElseZero(arrives, unit_y));
  const auto pixel_of = [&](auto place) {
    return hn::ShiftRight<place_bits>(hn::Add(place, integer(half_pixel)));
  };
  const auto in_column = pixel_of(place_x), in_line = pixel_of(place_y);
  const auto index = hn::Add(hn::Mul(in_line, integer(static_cast<int>(row.pitch))), in_column);
  hn::StoreU(hn::IfThenElse(arrives_int, index, integer(-1)), d_int, row.targets + x);

  const auto at_x = hn::Sub(place_x, hn::ShiftLeft<place_bits>(in_column)),
             at_y = hn::Sub(place_y, hn::ShiftLeft<place_bits>(in_line));
  // The middle of the new pixel is as far from the point as the place in the image before.
  const auto gray_at = [&](const std::uint8_t* from) {
    return hn::PromoteTo(d_int, hn::LoadU(d_byte, from + x));
  };
  const auto gray = gray_at(row.gray);
  const auto along = [&](auto distance, auto before, auto behind) {
    const auto back = hn::Lt(distance, hn::Zero(d_int));
    return hn::Mul(distance, hn::IfThenElse(back, hn::Sub(gray, before), hn::Sub(behind, gray)));
  };
  const auto change_x = along(hn::Sub(from_x, at_x), gray_at(row.gray - 1), gray_at(row.gray + 1)),
             change_y = along(hn::Sub(from_y, at_y), gray_at(row.above), gray_at(row.below));
  const auto sum = hn::Add(hn::Add(hn::ShiftLeft<8>(gray), integer(128)), hn::Add(change_x, change_y));
  const auto expected = hn::Min(hn::Max(hn::ShiftRight<8>(sum), hn::Zero(d_int)), integer(255));

  const auto biased = [&](auto value) { return hn::BitCast(d_bits, hn::Add(value, integer(half_pixel))); };
  const auto sent =
      hn::Or(hn::Or(hn::ShiftLeft<24>(hn::ShiftRight<24>(word)), hn::ShiftLeft<16>(biased(at_x))),
             hn::Or(hn::ShiftLeft<8>(biased(at_y)), hn::BitCast(d_bits, expected)));
  const auto bits = hn::BitCast(d_int, moved);
  const auto order = hn::Xor(hn::BitCast(d_bits, bits), hn::Or(hn::BitCast(d_bits, hn::ShiftRight<31>(bits)),
                                                               hn::Set(d_bits, 1u << 31)));
  hn::StoreInterleaved2(sent, order, d_bits, reinterpret_cast<std::uint32_t*>(row.points + x));
}

void move_row(const MovedRow& row, const CameraMotion& motion) {
  for_lanes(row.size.width, [&](auto d, int x) { move_lanes(d, row, motion, x); });
}

// Points that have arrived: the two halves of some pixels.
template <class D>
struct Arrivals {
  hn::Vec<D> word, order;

  Arrivals(D d, const Arrival* from) {
    hn::LoadInterleaved2(d, reinterpret_cast<const std::uint32_t*>(from), word, order);
  }
  Arrivals(hn::Vec<D> some_word, hn::Vec<D> some_order) : word(some_word), order(some_order) {}
};

template <class D>
HWY_INLINE hn::Vec<hn::RebindToFloat<D>> disparities_of(D d, hn::Vec<D> order) {
  const hn::RebindToSigned<D> d_int;
  const auto is_positive = hn::BitCast(d, hn::ShiftRight<31>(hn::BitCast(d_int, order)));
  return hn::BitCast(hn::RebindToFloat<D>(),
                     hn::Xor(order, hn::Or(hn::Not(is_positive), hn::Set(d, 1u << 31))));
}

// The mean of two points on one surface, in the middle of a pixel; none otherwise.
template <class D>
HWY_INLINE Arrivals<D> mean_of(D d, const Arrivals<D>& a, const Arrivals<D>& b) {
  const hn::RebindToFloat<D> d_float;
  const auto one = disparities_of(d, a.order), other = disparities_of(d, b.order);
  const auto both = hn::And(hn::Ne(a.order, hn::Zero(d)), hn::Ne(b.order, hn::Zero(d)));
  const auto near = hn::Lt(hn::Abs(hn::Sub(one, other)), hn::Set(d_float, one_surface));
  const auto valid = hn::And(both, hn::RebindMask(d, near));
  const auto mean = hn::BitCast(d, hn::Mul(hn::Set(d_float, 0.5f), hn::Add(one, other)));
  const auto is_negative = hn::BitCast(d, hn::ShiftRight<31>(hn::BitCast(hn::RebindToSigned<D>(), mean)));
  const auto order = hn::Xor(mean, hn::Or(is_negative, hn::Set(d, 1u << 31)));
  const auto age = hn::Min(hn::ShiftRight<24>(a.word), hn::ShiftRight<24>(b.word));
  const auto byte = hn::Set(d, 255u);
  const auto gray = hn::ShiftRight<1>(hn::Add(hn::And(a.word, byte), hn::And(b.word, byte)));
  const auto word = hn::Or(hn::ShiftLeft<24>(age), hn::Or(gray, hn::Set(d, PointWord{}.bits())));
  return {hn::IfThenElseZero(valid, word), hn::IfThenElseZero(valid, order)};
}

template <class D>
HWY_INLINE void receive_lanes(D d, const ReceivedRow& row, int x) {
  const hn::RebindToSigned<D> d_int;
  const hn::RebindToUnsigned<D> d_bits;
  using Found = Arrivals<hn::RebindToUnsigned<D>>;
  const hn::Rebind<std::uint8_t, D> d_byte;
  Found found(d_bits, row.arrived + x);
  const auto close = [&](const Arrival* before, const Arrival* behind) {
    const auto gap = hn::Eq(found.order, hn::Zero(d_bits));
    if (hn::AllFalse(d_bits, gap)) return;
    const Found mean = mean_of(d_bits, Found(d_bits, before + x), Found(d_bits, behind + x));
    found = {hn::IfThenElse(gap, mean.word, found.word), hn::IfThenElse(gap, mean.order, found.order)};
  };
  close(row.arrived - 1, row.arrived + 1);
  close(row.above, row.below);
  const auto none = hn::Eq(found.order, hn::Zero(d_bits));
  const auto byte = hn::Set(d_bits, 255u);
  const auto gray = hn::PromoteTo(d_int, hn::LoadU(d_byte, row.now + x));
  const auto expected = hn::Mul(hn::BitCast(d_int, hn::And(found.word, byte)), hn::Set(d_int, row.gain));
  const auto distance = hn::Abs(hn::Sub(hn::ShiftLeft<8>(gray), expected));
  const auto difference =
      hn::Min(hn::ShiftRight<8>(hn::Add(distance, hn::Set(d_int, 128))), hn::Set(d_int, 254));
  const auto kept = hn::Or(hn::AndNot(byte, found.word), hn::BitCast(d_bits, difference));
  hn::StoreU(hn::IfThenElse(none, hn::Set(d_bits, PointWord{.gray = 255}.bits()), kept), d_bits,
             row.words + x);
  hn::StoreU(hn::IfThenElse(hn::RebindMask(d, none), hn::Set(d, decision::no_value),
                            disparities_of(d_bits, found.order)),
             d, row.disparity + x);
}

void receive_row(const ReceivedRow& row) {
  for_lanes(row.width, [&](auto d, int x) { receive_lanes(d, row, x); });
}

template <class D>
HWY_INLINE void average_lanes(D d, const SettledRow& row, int x, std::uint8_t* open) {
  const hn::RebindToSigned<D> d_int;
  const hn::RebindToUnsigned<D> d_bits;
  const hn::Rebind<std::uint8_t, D> d_byte;
  const auto integer = [&](int value) { return hn::Set(d_int, value); };
  const auto disparity = hn::LoadU(d, row.disparity + x), expected = hn::LoadU(d, row.expected + x);
  const auto word = hn::LoadU(d_bits, row.words + x);
  const auto status = hn::PromoteTo(d_int, hn::LoadU(d_byte, row.status + x));
  const auto age = hn::BitCast(d_int, hn::ShiftRight<24>(word)),
             difference = hn::BitCast(d_int, hn::And(word, hn::Set(d_bits, 255u)));
  const auto innovation = hn::Sub(disparity, expected);
  // Infinite disparities are as far from any other as they can be, and from each other are no number.
  const auto agrees = hn::RebindMask(d_int, hn::Le(hn::Abs(innovation), hn::Set(d, one_surface)));
  const auto averaged =
      hn::And(hn::And(agrees, hn::Eq(status, integer(decision::code(Status::matched)))),
              hn::And(hn::Gt(age, hn::Zero(d_int)), hn::Lt(difference, integer(similar + 1))));
  const auto new_age = hn::Min(hn::Add(age, integer(1)), integer(row.frames));
  const auto mean = hn::Add(expected, hn::Div(innovation, hn::ConvertTo(d, new_age)));
  const auto result = hn::IfThenElse(hn::RebindMask(d, averaged), mean, disparity);
  hn::StoreU(result, d, row.disparity + x);
  hn::StoreU(result, d, row.kept_disparity + x);
  const auto kept =
      hn::Or(hn::ShiftLeft<24>(hn::BitCast(d_bits, new_age)), hn::And(word, hn::Set(d_bits, 0xFFFF00u)));
  hn::StoreU(kept, d_bits, row.kept_words + x);
  const auto left = hn::IfThenElseZero(hn::Not(averaged), integer(1));
  hn::StoreU(hn::DemoteTo(d_byte, left), d_byte, open + x);
}

// No pixel is averaged twice.
void average_row(const SettledRow& row, std::uint8_t* open) {
  const hn::ScalableTag<float> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  int x = 0;
  for (; x + lanes <= row.width; x += lanes) average_lanes(d, row, x, open);
  for (; x < row.width; ++x) average_lanes(hn::CappedTag<float, 1>(), row, x, open);
}

}  // namespace parallax::temporal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax::temporal {

HWY_EXPORT(move_row);
HWY_EXPORT(receive_row);
HWY_EXPORT(average_row);

void move_row(const MovedRow& row, const CameraMotion& motion) {
  HWY_DYNAMIC_DISPATCH(move_row)(row, motion);
}

void receive_row(const ReceivedRow& row) {
  HWY_DYNAMIC_DISPATCH(receive_row)(row);
}

void average_row(const SettledRow& row, std::uint8_t* open) {
  HWY_DYNAMIC_DISPATCH(average_row)(row, open);
}

}  // namespace parallax::temporal
#endif
