// SPDX-License-Identifier: Apache-2.0
// Pyramid and signatures.

#include <algorithm>
#include <type_traits>

#include "matchers/census/cpu_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "matchers/census/transform_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "devices/cpu/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace parallax::census::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A type that holds the sum of 3×3 values.
template <class T>
using Sum = std::conditional_t<sizeof(T) == 1, std::uint16_t, std::uint32_t>;

template <class T>
const T* row_in_image(const BorderedPlane<T>& plane, int y) {
  return plane.row(std::clamp(y, 0, plane.size.height - 1));
}

template <class T>
void halve(const BorderedPlane<T>& fine, int y, T* HWY_RESTRICT coarse, int width) {
  const T* HWY_RESTRICT upper = fine.row(2 * y);
  const T* HWY_RESTRICT lower = row_in_image(fine, 2 * y + 1);
  for (int x = 0; x < width; ++x)
    coarse[x] = static_cast<T>(
        static_cast<Sum<T>>(upper[2 * x] + upper[2 * x + 1] + lower[2 * x] + lower[2 * x + 1] + 2) / 4);
}

template <class T>
void average_3x3(const BorderedPlane<T>& gray, int y, T* HWY_RESTRICT out, Sum<T>* HWY_RESTRICT columns) {
  const int width = gray.size.width;
  const T* HWY_RESTRICT above = row_in_image(gray, y - 1);
  const T* HWY_RESTRICT row = gray.row(y);
  const T* HWY_RESTRICT below = row_in_image(gray, y + 1);
  for (int x = -1; x <= width; ++x) columns[x] = static_cast<Sum<T>>(above[x] + row[x] + below[x]);
  for (int x = 0; x < width; ++x)
    out[x] = static_cast<T>(static_cast<Sum<T>>(columns[x - 1] + columns[x] + columns[x + 1]) / 9);
}

// The signature byte of eight neighbours, for the pixels from x on.
template <class T, class D>
HWY_INLINE auto compare(D d, const T* const* neighbours, int count, const T* values, int x) {
  const auto value = hn::LoadU(d, values + x);
  auto bits = hn::Zero(d);
  for (int bit = 0; bit < count; ++bit) {
    const auto brighter = hn::Gt(hn::LoadU(d, neighbours[bit] + x), value);
    const auto place = hn::Set(d, static_cast<T>(1 << bit));
#if PARALLAX_NEON_VECTORS
    // One instruction, as masks are vectors.
    bits = hn::IfVecThenElse(place, hn::VecFromMask(d, brighter), bits);
#else
    bits = hn::Or(bits, hn::IfThenElseZero(brighter, place));
#endif
  }
  return bits;
}

// Rows have room for a full vector at their end.
inline void compare_row(const std::uint8_t* const* neighbours, int count, const std::uint8_t* values,
                        int width, std::uint8_t* out) {
  const hn::ScalableTag<std::uint8_t> d;
  for (int x = 0; x < width; x += static_cast<int>(hn::Lanes(d)))
    hn::StoreU(compare(d, neighbours, count, values, x), d, out + x);
}

inline void compare_row(const std::uint16_t* const* neighbours, int count, const std::uint16_t* values,
                        int width, std::uint8_t* out) {
  const hn::ScalableTag<std::uint16_t> d;
  const hn::RebindToSigned<decltype(d)> d_signed;
  const hn::Rebind<std::uint8_t, decltype(d)> d_bytes;
  for (int x = 0; x < width; x += static_cast<int>(hn::Lanes(d)))
    hn::StoreU(hn::DemoteTo(d_bytes, hn::BitCast(d_signed, compare(d, neighbours, count, values, x))),
               d_bytes, out + x);
}

inline void gray_of_8_bits(const std::uint8_t* gray, int width, std::uint8_t* out) {
  std::copy_n(gray, width, out);
}

inline void gray_of_8_bits(const std::uint16_t* gray, int width, std::uint8_t* out) {
  for (int x = 0; x < width; ++x) out[x] = static_cast<std::uint8_t>(gray[x] >> 8);
}

template <class T>
void describe(const BorderedPlane<T>& gray, const Neighbourhood& neighbourhood, int y, const Signatures& out,
              void* scratch) {
  const int width = gray.size.width, pitch = width + 2 * row_border;
  const T* values = gray.row(y);
  if (neighbourhood.modified) {
    auto* columns = static_cast<Sum<T>*>(scratch);
    auto* means = reinterpret_cast<T*>(columns + pitch);
    average_3x3(gray, y, means, columns + row_border);
    values = means;
  }
  const int count = static_cast<int>(neighbourhood.neighbours.size());
  for (int first = 0; first < count; first += 8) {
    const T* neighbours[8];
    const int bits = std::min(8, count - first);
    for (int bit = 0; bit < bits; ++bit) {
      const Offset offset = neighbourhood.neighbours[static_cast<std::size_t>(first + bit)];
      neighbours[bit] = row_in_image(gray, y + offset.y) + offset.x;
    }
    compare_row(neighbours, bits, values, width, out.row(y, first / 8));
  }
  if (out.planes > out.bytes) gray_of_8_bits(gray.row(y), width, out.row(y, out.bytes));
  for (int plane = 0; plane < out.planes; ++plane) repeat_border(out.row(y, plane), width);
}

void halve_bytes(const BorderedPlane<std::uint8_t>& fine, int y, std::uint8_t* coarse, int width) {
  halve(fine, y, coarse, width);
}
void halve_words(const BorderedPlane<std::uint16_t>& fine, int y, std::uint16_t* coarse, int width) {
  halve(fine, y, coarse, width);
}
void describe_bytes(const BorderedPlane<std::uint8_t>& gray, const Neighbourhood& neighbourhood, int y,
                    const Signatures& out, void* scratch) {
  describe(gray, neighbourhood, y, out, scratch);
}
void describe_words(const BorderedPlane<std::uint16_t>& gray, const Neighbourhood& neighbourhood, int y,
                    const Signatures& out, void* scratch) {
  describe(gray, neighbourhood, y, out, scratch);
}

}  // namespace parallax::census::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax::census {

HWY_EXPORT(halve_bytes);
HWY_EXPORT(halve_words);
HWY_EXPORT(describe_bytes);
HWY_EXPORT(describe_words);

void halve_row(const BorderedPlane<std::uint8_t>& fine, int y, std::uint8_t* coarse, int width) {
  HWY_DYNAMIC_DISPATCH(halve_bytes)(fine, y, coarse, width);
}

void halve_row(const BorderedPlane<std::uint16_t>& fine, int y, std::uint16_t* coarse, int width) {
  HWY_DYNAMIC_DISPATCH(halve_words)(fine, y, coarse, width);
}

void describe_row(const BorderedPlane<std::uint8_t>& gray, const Neighbourhood& neighbourhood, int y,
                  const Signatures& out, void* scratch) {
  HWY_DYNAMIC_DISPATCH(describe_bytes)(gray, neighbourhood, y, out, scratch);
}

void describe_row(const BorderedPlane<std::uint16_t>& gray, const Neighbourhood& neighbourhood, int y,
                  const Signatures& out, void* scratch) {
  HWY_DYNAMIC_DISPATCH(describe_words)(gray, neighbourhood, y, out, scratch);
}

std::size_t describe_scratch_bytes(int width) {
  const auto row = static_cast<std::size_t>(width + 2 * row_border);
  return row * sizeof(std::uint16_t) + row * sizeof(std::uint32_t);
}

}  // namespace parallax::census
#endif
