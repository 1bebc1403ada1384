// SPDX-License-Identifier: Apache-2.0
// Remapping by rows. Gray values of 8 bits are interpolated bilinearly in vectors: 8 neighbouring pixels find their
// neighbours in windows of 16 columns, one for each row of the camera's image that the pixels lie in.

#include <algorithm>
#include <cstring>

#include "remap/cpu_kernels.h"
#include "remap/pixel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "remap/remap_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace parallax::remap::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T, Interpolation interpolation>
void remap_pixels(const RowTask& task, int y, int first, int end, T* out) {
  const Map& map = task.map;
  const std::uint16_t *columns = map.x.row(y), *rows = map.y.row(y);
  const Block* blocks = map.blocks.row(y);
  const int channels = task.from.channels;
  for (int x = first; x < end; ++x, out += channels) {
    if (columns[x] == unseen) {
      std::fill_n(out, channels, T{0});
      continue;
    }
    const Block block = blocks[x / block_columns];
    const int column = block.x * steps + columns[x], row = block.y * steps + rows[x];
    for (int channel = 0; channel < channels; ++channel) {
      const Channel<T> image = channel_of<T>(task.from, channel);
      if constexpr (interpolation == Interpolation::bilinear)
        out[channel] = bilinear(image, column, row);
      else
        out[channel] = lanczos(image, task.taps, column, row);
    }
  }
}

template <class T>
void remap_all_pixels(const RowTask& task, int y) {
  T* out = reinterpret_cast<T*>(static_cast<std::byte*>(task.to.data) + y * task.to.stride_bytes);
  if (task.interpolation == Interpolation::bilinear)
    remap_pixels<T, Interpolation::bilinear>(task, y, 0, task.map.size.width, out);
  else
    remap_pixels<T, Interpolation::lanczos3>(task, y, 0, task.map.size.width, out);
}

#if HWY_TARGET != HWY_SCALAR

// Vectors of at most a group: the positions of its pixels.
using Bytes = hn::CappedTag<std::uint8_t, 2 * group_columns>;
using Words = hn::Repartition<std::uint16_t, Bytes>;
using SignedWords = hn::Repartition<std::int16_t, Bytes>;
using VBytes = hn::VFromD<Bytes>;
using VWords = hn::VFromD<Words>;
using VSigned = hn::VFromD<SignedWords>;

// A window for each 16 bytes of the vector.
template <class D>
HWY_INLINE hn::VFromD<D> load_windows(D d, const std::uint8_t* const* windows) {
  if constexpr (hn::MaxLanes(d) <= window_columns) {
    return hn::LoadU(d, windows[0]);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_windows(half, windows + hn::MaxLanes(half) / window_columns),
                       load_windows(half, windows));
  }
}

// (64 − f) a + f b of the pairs of bytes (a, b) and (64 − f, f).
HWY_INLINE VSigned mix_pairs(VBytes pairs, VBytes weights) {
#if HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4
  return VSigned{_mm_maddubs_epi16(pairs.raw, weights.raw)};
#elif HWY_TARGET == HWY_AVX2
  return VSigned{_mm256_maddubs_epi16(pairs.raw, weights.raw)};
#elif HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  return VSigned{_mm512_maddubs_epi16(pairs.raw, weights.raw)};
#else
  const SignedWords d;
  const VSigned both = hn::BitCast(d, pairs), factors = hn::BitCast(d, weights), low = hn::Set(d, 0xFF);
  const Words u;
  const auto high = [&](VSigned v) { return hn::BitCast(d, hn::ShiftRight<8>(hn::BitCast(u, v))); };
  return hn::Add(hn::Mul(hn::And(both, low), hn::And(factors, low)), hn::Mul(high(both), high(factors)));
#endif
}

// The pixels of one vector: which bytes of the windows they take, with which weights.
struct Positions {
  VBytes pairs;    // of each pixel: its column in the window, and the next
  VBytes weights;  // 64 − fx, fx
  VSigned row;     // in the windows
  VSigned fy;      // · 512
  VWords columns;  // as in the map
};

HWY_INLINE Positions load_positions(const std::uint16_t* columns, const std::uint16_t* rows) {
  const Words d;
  const Bytes bytes;
  const SignedWords s;
  const VWords x = hn::LoadU(d, columns), y = hn::LoadU(d, rows), fractions = hn::Set(d, steps - 1);
  const VWords column = hn::ShiftRight<fraction_bits>(x), fx = hn::And(x, fractions);
  const VWords pairs = hn::Add(hn::Add(column, hn::ShiftLeft<8>(column)), hn::Set(d, 0x0100));
  const VWords weights = hn::Add(hn::Sub(hn::ShiftLeft<8>(fx), fx), hn::Set(d, steps));
  return {.pairs = hn::BitCast(bytes, hn::And(pairs, hn::Set(d, 0x0F0F))),
          .weights = hn::BitCast(bytes, weights),
          .row = hn::BitCast(s, hn::ShiftRight<fraction_bits>(y)),
          .fy = hn::BitCast(s, hn::ShiftLeft<15 - fraction_bits>(hn::And(y, fractions))),
          .columns = x};
}

// The windows of a vector's blocks, moving down row by row.
class Windows {
 public:
  static constexpr int count = static_cast<int>(hn::MaxLanes(Bytes()) / window_columns);

  HWY_INLINE Windows(const ImageView& image, const Block* blocks) : stride_(image.stride_bytes) {
    for (int i = 0; i < count; ++i)
      windows_[i] = static_cast<const std::uint8_t*>(image.data) + blocks[i].y * stride_ + blocks[i].x;
  }
  // The row's values between columns; then goes to the next row.
  HWY_INLINE VSigned mix_row(const Positions& positions) {
    const VBytes row = load_windows(Bytes(), windows_);
    for (int i = 0; i < count; ++i) windows_[i] += stride_;
    return mix_pairs(hn::TableLookupBytes(row, positions.pairs), positions.weights);
  }

 private:
  std::ptrdiff_t stride_;
  const std::uint8_t* windows_[count];
};

struct Neighbours {
  VSigned above, below;
};

HWY_INLINE Neighbours mix_rows(Windows& windows, const Positions& positions, int rows) {
  const SignedWords d;
  Neighbours result;
  result.above = windows.mix_row(positions);
  result.below = windows.mix_row(positions);
  if (rows == 2) return result;
  auto is_above = hn::Eq(positions.row, hn::Set(d, 1));
  result.above = hn::IfThenElse(is_above, result.below, result.above);
  for (int row = 2; row < rows; ++row) {
    const VSigned mixed = windows.mix_row(positions);
    result.below = hn::IfThenElse(is_above, mixed, result.below);
    is_above = hn::Eq(positions.row, hn::Set(d, static_cast<std::int16_t>(row)));
    result.above = hn::IfThenElse(is_above, mixed, result.above);
  }
  return result;
}

constexpr int pixels_at_once = static_cast<int>(hn::MaxLanes(Words()));

// Writes pixels_at_once pixels.
HWY_INLINE void bilinear_vector(const ImageView& image, const std::uint16_t* columns,
                                const std::uint16_t* rows, const Block* blocks, int window_rows,
                                std::uint8_t* out) {
  const SignedWords d;
  const hn::Rebind<std::uint8_t, SignedWords> bytes;
  const Positions positions = load_positions(columns, rows);
  Windows windows(image, blocks);
  const Neighbours mixed = mix_rows(windows, positions, window_rows);
  // MulFixedPoint15 is (a · b + 2^14) >> 15.
  const VSigned value =
      hn::Add(mixed.above, hn::MulFixedPoint15(hn::Sub(mixed.below, mixed.above), positions.fy));
  const VSigned rounded = hn::ShiftRight<fraction_bits>(hn::Add(value, hn::Set(d, steps / 2)));
  const auto is_unseen = hn::RebindMask(d, hn::Eq(positions.columns, hn::Set(Words(), unseen)));
  hn::StoreU(hn::DemoteTo(bytes, hn::IfThenZeroElse(is_unseen, rounded)), bytes, out);
}

// Writes a group of pixels.
HWY_INLINE void bilinear_group(const RowTask& task, int y, int first, std::uint8_t* out) {
  const Map& map = task.map;
  const int rows = map.rows.at(first / group_columns, y);
  if (rows == 0) {
    std::memset(out, 0, group_columns);
    return;
  }
  const std::uint16_t *x_offsets = map.x.row(y) + first, *y_offsets = map.y.row(y) + first;
  const Block* blocks = map.blocks.row(y) + first / block_columns;
  for (int i = 0; i < group_columns; i += pixels_at_once)
    bilinear_vector(task.from, x_offsets + i, y_offsets + i, blocks + i / block_columns, rows, out + i);
}

void bilinear_gray_row(const RowTask& task, int y) {
  const int width = task.map.size.width;
  auto* out =
      reinterpret_cast<std::uint8_t*>(static_cast<std::byte*>(task.to.data) + y * task.to.stride_bytes);
  for (int first = 0; first < width; first += group_columns) {
    const int end = std::min(first + group_columns, width);
    if (task.map.rows.at(first / group_columns, y) == no_windows) {
      remap_pixels<std::uint8_t, Interpolation::bilinear>(task, y, first, end, out + first);
    } else if (end - first == group_columns) {
      bilinear_group(task, y, first, out + first);
    } else {
      std::uint8_t group[group_columns];
      bilinear_group(task, y, first, group);
      std::copy_n(group, end - first, out + first);
    }
  }
}

#endif

void row(const RowTask& task, int y) {
#if HWY_TARGET != HWY_SCALAR
  if (task.from.format.depth == Depth::bits8 && task.from.channels == 1 &&
      task.interpolation == Interpolation::bilinear)
    return bilinear_gray_row(task, y);
#endif
  if (task.from.format.depth == Depth::bits8)
    remap_all_pixels<std::uint8_t>(task, y);
  else
    remap_all_pixels<std::uint16_t>(task, y);
}

}  // namespace parallax::remap::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax::remap {

HWY_EXPORT(row);

void remap_row(const RowTask& task, int y) {
  HWY_DYNAMIC_DISPATCH(row)(task, y);
}

}  // namespace parallax::remap
#endif
