// SPDX-License-Identifier: Apache-2.0
// A row is mirrored from both ends at once: two vectors of pixels are read, reversed, and exchanged.
#include "core/mirror.h"

#include <utility>

#include "core/checks.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/mirror.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace parallax::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

template <class V>
HWY_INLINE V reversed(V values) {
  const hn::DFromV<V> d;
  if constexpr (sizeof(hn::TFromD<decltype(d)>) > 1) {
    return hn::Reverse(d, values);
  } else {
    // Pairs of bytes are reversed, and the bytes of each pair exchanged.
    const hn::RepartitionToWide<decltype(d)> pairs;
    const auto reversed = hn::Reverse(pairs, hn::BitCast(pairs, values));
    return hn::BitCast(d, hn::Or(hn::ShiftLeft<8>(reversed), hn::ShiftRight<8>(reversed)));
  }
}

template <class T>
struct OneValue {
  using Value = T;
  static constexpr int channels = 1;
  template <class D>
  static HWY_INLINE void exchange(D d, const T* first, const T* last, T* to_first, T* to_last) {
    const auto a = hn::LoadU(d, first), b = hn::LoadU(d, last);
    hn::StoreU(reversed(b), d, to_first);
    hn::StoreU(reversed(a), d, to_last);
  }
};

template <class T>
struct ThreeValues {
  using Value = T;
  static constexpr int channels = 3;
  template <class D>
  static HWY_INLINE void exchange(D d, const T* first, const T* last, T* to_first, T* to_last) {
    hn::Vec<D> a[3], b[3];
    hn::LoadInterleaved3(d, first, a[0], a[1], a[2]);
    hn::LoadInterleaved3(d, last, b[0], b[1], b[2]);
    hn::StoreInterleaved3(reversed(b[0]), reversed(b[1]), reversed(b[2]), d, to_first);
    hn::StoreInterleaved3(reversed(a[0]), reversed(a[1]), reversed(a[2]), d, to_last);
  }
};

template <class Pixel>
void mirror_row(const std::byte* from_bytes, std::byte* to_bytes, int width) {
  using T = typename Pixel::Value;
  constexpr int channels = Pixel::channels;
  const auto* from = reinterpret_cast<const T*>(from_bytes);
  auto* to = reinterpret_cast<T*>(to_bytes);
  const hn::ScalableTag<T> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  int first = 0, last = width;  // the pixels that are left
  if constexpr (HWY_TARGET != HWY_SCALAR)
    for (; last - first >= 2 * lanes; first += lanes, last -= lanes) {
      const std::ptrdiff_t at_first = std::ptrdiff_t{first} * channels,
                           at_last = std::ptrdiff_t{last - lanes} * channels;
      Pixel::exchange(d, from + at_first, from + at_last, to + at_first, to + at_last);
    }
  for (; first < last; ++first) {
    --last;
    for (int c = 0; c < channels; ++c) {
      const T a = from[std::ptrdiff_t{first} * channels + c], b = from[std::ptrdiff_t{last} * channels + c];
      to[std::ptrdiff_t{first} * channels + c] = b;
      to[std::ptrdiff_t{last} * channels + c] = a;
    }
  }
}

void mirror_row_of(std::size_t pixel_bytes, const std::byte* from, std::byte* to, int width) {
  switch (pixel_bytes) {
    case 1:
      return mirror_row<OneValue<std::uint8_t>>(from, to, width);
    case 2:
      return mirror_row<OneValue<std::uint16_t>>(from, to, width);
    case 3:
      return mirror_row<ThreeValues<std::uint8_t>>(from, to, width);
    case 4:
      return mirror_row<OneValue<std::uint32_t>>(from, to, width);
    default:
      return mirror_row<ThreeValues<std::uint16_t>>(from, to, width);
  }
}

}  // namespace
}  // namespace parallax::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {

HWY_EXPORT(mirror_row_of);

void mirror_rows(ConstRows from, Rows to, Size size, std::size_t pixel_bytes, const Workers& workers) {
  const auto rows = [&](int first, int last) {
    for (int y = first; y < last; ++y) HWY_DYNAMIC_DISPATCH(mirror_row_of)
    (pixel_bytes, from.data + y * from.stride_bytes, to.data + y * to.stride_bytes, size.width);
  };
  for_copied_rows(workers, size.pixels() * pixel_bytes, size.height, rows);
}

}  // namespace parallax
#endif
