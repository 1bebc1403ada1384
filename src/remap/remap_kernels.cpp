// SPDX-License-Identifier: Apache-2.0
// Remapping by rows. Values of 8 bits are interpolated bilinearly in vectors: 8 neighbouring pixels find
// their neighbours in windows of 16 columns, one for each row of the camera's image on which the pixels lie.
// Colours are separated first.

#include <algorithm>
#include <cstring>

#include "remap/pixel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "remap/remap_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "devices/cpu/dispatch.h"

// Targets with instructions for sums of products, which Highway 1.0 does not offer for these types.
#ifndef PARALLAX_X86_VECTORS
#define PARALLAX_X86_VECTORS                                                                                \
  (HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || \
   HWY_TARGET == HWY_AVX3_DL)
#endif

HWY_BEFORE_NAMESPACE();
namespace parallax::remap::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T, Interpolation interpolation>
HWY_NOINLINE void remap_pixels(const RowTask& task, int y, int first, int end, T* out) {
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

// Vectors of at most a group, for the positions of its pixels.
using Bytes = hn::CappedTag<std::uint8_t, 2 * group_columns>;
using Words = hn::Repartition<std::uint16_t, Bytes>;
using SignedWords = hn::Repartition<std::int16_t, Bytes>;
using VBytes = hn::VFromD<Bytes>;
using VWords = hn::VFromD<Words>;
using VSigned = hn::VFromD<SignedWords>;

// Loads 16 bytes at `offset` from each window, for as many windows as fit.
template <class D>
HWY_INLINE hn::VFromD<D> load_windows(D d, const std::uint8_t* const* windows, int offset) {
  if constexpr (hn::MaxLanes(d) <= window_columns) {
    return hn::LoadU(d, windows[0] + offset);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_windows(half, windows + hn::MaxLanes(half) / window_columns, offset),
                       load_windows(half, windows, offset));
  }
}

// (64 − f) a + f b for pairs of bytes (a, b) and (64 − f, f).
HWY_INLINE VSigned mix_pairs(VBytes pairs, VBytes weights) {
#if HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4
  return VSigned{_mm_maddubs_epi16(pairs.raw, weights.raw)};
#elif HWY_TARGET == HWY_AVX2
  return VSigned{_mm256_maddubs_epi16(pairs.raw, weights.raw)};
#elif HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  return VSigned{_mm512_maddubs_epi16(pairs.raw, weights.raw)};
#elif PARALLAX_NEON_VECTORS
  const uint16x8_t low = vmull_u8(vget_low_u8(pairs.raw), vget_low_u8(weights.raw));
  return VSigned{vreinterpretq_s16_u16(vpaddq_u16(low, vmull_high_u8(pairs.raw, weights.raw)))};
#else
  const SignedWords d;
  const VSigned both = hn::BitCast(d, pairs), factors = hn::BitCast(d, weights), low = hn::Set(d, 0xFF);
  const Words u;
  const auto high = [&](VSigned v) { return hn::BitCast(d, hn::ShiftRight<8>(hn::BitCast(u, v))); };
  return hn::Add(hn::Mul(hn::And(both, low), hn::And(factors, low)), hn::Mul(high(both), high(factors)));
#endif
}

// The pixels of one vector: the bytes of the windows that they take, and their weights.
struct Positions {
  VBytes pairs;    // for each pixel: its column in the window, and the next column
  VBytes weights;  // 64 − fx, fx
  VSigned row;     // row in the windows
  VSigned fy;      // · 512
  VWords columns;  // see the map
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

constexpr int colours = 3;

// The positions of a colour's columns in each 16 bytes of a window's 48; 0x80 = not there.
struct ColourOrder {
  alignas(16) std::uint8_t of[colours][colours][window_columns];  // [colour][16 bytes]
};

constexpr ColourOrder colour_order = [] {
  ColourOrder order{};
  for (int colour = 0; colour < colours; ++colour)
    for (int part = 0; part < colours; ++part)
      for (int column = 0; column < window_columns; ++column) {
        const int at = column * colours + colour - part * window_columns;
        order.of[colour][part][column] =
            at >= 0 && at < window_columns ? static_cast<std::uint8_t>(at) : std::uint8_t{0x80};
      }
  return order;
}();

// One value per channel.
template <int channels>
struct Values {
  // Compiled for the target, as an implicit constructor is not.
  HWY_INLINE Values() {}

  VSigned of[channels];
};

template <int channels>
HWY_INLINE void choose(hn::Mask<SignedWords> chosen, const Values<channels>& values,
                       Values<channels>& result) {
  for (int channel = 0; channel < channels; ++channel)
    result.of[channel] = hn::IfThenElse(chosen, values.of[channel], result.of[channel]);
}

// The windows of a vector's blocks, moving down row by row.
template <int channels>
class Windows {
 public:
  static constexpr int count = static_cast<int>(hn::MaxLanes(Bytes()) / window_columns);

  HWY_INLINE Windows(const ImageView& image, const Block* blocks) : stride_(image.stride_bytes) {
    for (int i = 0; i < count; ++i)
      windows_[i] =
          static_cast<const std::uint8_t*>(image.data) + blocks[i].y * stride_ + channels * blocks[i].x;
  }
  // Interpolates the row between columns, then goes to the next row.
  HWY_INLINE Values<channels> mix_row(const Positions& positions) {
    Values<channels> values;
    if constexpr (channels == 1) {
      values.of[0] = mix(load_windows(Bytes(), windows_, 0), positions);
    } else {
      const VBytes first = load_windows(Bytes(), windows_, 0),
                   second = load_windows(Bytes(), windows_, window_columns),
                   third = load_windows(Bytes(), windows_, 2 * window_columns);
      for (int colour = 0; colour < colours; ++colour) {
        const auto taken = [&](VBytes bytes, int part) {
          return hn::TableLookupBytesOr0(bytes, hn::LoadDup128(Bytes(), colour_order.of[colour][part]));
        };
        values.of[colour] =
            mix(hn::Or(hn::Or(taken(first, 0), taken(second, 1)), taken(third, 2)), positions);
      }
    }
    for (int i = 0; i < count; ++i) windows_[i] += stride_;
    return values;
  }

 private:
  static HWY_INLINE VSigned mix(VBytes row, const Positions& positions) {
    return mix_pairs(hn::TableLookupBytes(row, positions.pairs), positions.weights);
  }

  std::ptrdiff_t stride_;
  const std::uint8_t* windows_[count];
};

template <int channels>
struct Neighbours {
  // Compiled for the target, as an implicit constructor is not.
  HWY_INLINE Neighbours() {}

  Values<channels> above, below;
};

template <int channels>
HWY_INLINE Neighbours<channels> mix_rows(Windows<channels>& windows, const Positions& positions, int rows) {
  const SignedWords d;
  Neighbours<channels> result;
  result.above = windows.mix_row(positions);
  result.below = windows.mix_row(positions);
  if (rows == 2) return result;
  auto is_above = hn::Eq(positions.row, hn::Set(d, 1));
  choose(is_above, result.below, result.above);
  for (int row = 2; row < rows; ++row) {
    const Values<channels> mixed = windows.mix_row(positions);
    choose(is_above, mixed, result.below);
    is_above = hn::Eq(positions.row, hn::Set(d, static_cast<std::int16_t>(row)));
    choose(is_above, mixed, result.above);
  }
  return result;
}

constexpr int pixels_at_once = static_cast<int>(hn::MaxLanes(Words()));

// Writes pixels_at_once pixels.
template <int channels>
HWY_INLINE void bilinear_vector(const ImageView& image, const std::uint16_t* columns,
                                const std::uint16_t* rows, const Block* blocks, int window_rows,
                                std::uint8_t* out) {
  const SignedWords d;
  const hn::Rebind<std::uint8_t, SignedWords> bytes;
  const Positions positions = load_positions(columns, rows);
  Windows<channels> windows(image, blocks);
  const Neighbours<channels> mixed = mix_rows(windows, positions, window_rows);
  const auto is_unseen = hn::RebindMask(d, hn::Eq(positions.columns, hn::Set(Words(), unseen)));
  const auto value = [&](int channel) {
    const VSigned above = mixed.above.of[channel], below = mixed.below.of[channel];
    // MulFixedPoint15 is (a · b + 2^14) >> 15.
    const VSigned sum = hn::Add(above, hn::MulFixedPoint15(hn::Sub(below, above), positions.fy));
    const VSigned rounded = hn::ShiftRight<fraction_bits>(hn::Add(sum, hn::Set(d, steps / 2)));
    return hn::DemoteTo(bytes, hn::IfThenZeroElse(is_unseen, rounded));
  };
  if constexpr (channels == 1)
    hn::StoreU(value(0), bytes, out);
  else
    hn::StoreInterleaved3(value(0), value(1), value(2), bytes, out);
}

// Writes a group of pixels.
template <int channels>
HWY_INLINE void bilinear_group(const RowTask& task, int y, int first, std::uint8_t* out) {
  const Map& map = task.map;
  const int rows = map.rows.at(first / group_columns, y);
  if (rows == no_windows)
    return remap_pixels<std::uint8_t, Interpolation::bilinear>(task, y, first, first + group_columns, out);
  if (rows == 0) {
    std::memset(out, 0, group_columns * channels);
    return;
  }
  const std::uint16_t *x_offsets = map.x.row(y) + first, *y_offsets = map.y.row(y) + first;
  const Block* blocks = map.blocks.row(y) + first / block_columns;
  for (int i = 0; i < group_columns; i += pixels_at_once)
    bilinear_vector<channels>(task.from, x_offsets + i, y_offsets + i, blocks + i / block_columns, rows,
                              out + i * channels);
}

// Whether the pixel has a neighbour to its right, and one below.
HWY_INLINE bool has_neighbours(const Map& map, int column, int row) {
  return column + 1 < map.camera.width && row + 1 < map.camera.height;
}

// Gray values of 16 bits: a pixel and its right neighbour are a word.
struct GrayPairs {
  alignas(64) std::uint32_t upper[group_columns], lower[group_columns];
};

HWY_INLINE void load_gray_pairs(const RowTask& task, int y, int first, GrayPairs& pairs) {
  const Map& map = task.map;
  const std::uint16_t *columns = map.x.row(y) + first, *rows = map.y.row(y) + first;
  const Block* blocks = map.blocks.row(y) + first / block_columns;
  const Channel<std::uint16_t> image = channel_of<std::uint16_t>(task.from, 0);
  for (int i = 0; i < group_columns; ++i) {
    const Block block = blocks[i / block_columns];
    const int column = block.x + (columns[i] >> fraction_bits), row = block.y + (rows[i] >> fraction_bits);
    if (columns[i] == unseen) {
      pairs.upper[i] = pairs.lower[i] = 0;
    } else if (has_neighbours(map, column, row)) {
      const std::byte* at = image.data + row * image.stride_bytes + 2 * column;
      std::memcpy(&pairs.upper[i], at, sizeof pairs.upper[i]);
      std::memcpy(&pairs.lower[i], at + image.stride_bytes, sizeof pairs.lower[i]);
    } else {
      const int right = std::min(column + 1, map.camera.width - 1),
                below = std::min(row + 1, map.camera.height - 1);
      pairs.upper[i] = static_cast<std::uint32_t>(image.at(column, row) | image.at(right, row) << 16);
      pairs.lower[i] = static_cast<std::uint32_t>(image.at(column, below) | image.at(right, below) << 16);
    }
  }
}

// Writes a group of pixels.
HWY_INLINE void bilinear_deep_group(const RowTask& task, int y, int first, std::uint16_t* out) {
  const hn::CappedTag<std::int32_t, group_columns> d;
  const hn::Rebind<std::uint16_t, decltype(d)> narrow;
  const hn::RebindToUnsigned<decltype(d)> u;
  GrayPairs pairs;
  load_gray_pairs(task, y, first, pairs);
  const std::uint16_t *columns = task.map.x.row(y) + first, *rows = task.map.y.row(y) + first;
  const auto fraction = hn::Set(d, steps - 1), half = hn::Set(d, steps / 2);
  const auto mix = [&](const std::uint32_t* from, auto fx) {
    const auto both = hn::Load(u, from);
    const auto left = hn::BitCast(d, hn::And(both, hn::Set(u, 0xFFFF))),
               right = hn::BitCast(d, hn::ShiftRight<16>(both));
    return hn::Add(hn::ShiftLeft<fraction_bits>(left), hn::Mul(hn::Sub(right, left), fx));
  };
  for (int i = 0; i < group_columns; i += static_cast<int>(hn::Lanes(d))) {
    const auto fx = hn::And(hn::PromoteTo(d, hn::LoadU(narrow, columns + i)), fraction);
    const auto fy = hn::And(hn::PromoteTo(d, hn::LoadU(narrow, rows + i)), fraction);
    const auto above = mix(pairs.upper + i, fx), below = mix(pairs.lower + i, fx);
    const auto step = hn::ShiftRight<fraction_bits>(hn::Add(hn::Mul(hn::Sub(below, above), fy), half));
    const auto value = hn::ShiftRight<fraction_bits>(hn::Add(hn::Add(above, step), half));
    hn::StoreU(hn::DemoteTo(narrow, value), narrow, out + i);
  }
}

#if PARALLAX_X86_VECTORS || PARALLAX_NEON_VECTORS

using Taken = hn::FixedTag<std::int16_t, 8>;
using Sums = hn::FixedTag<std::int32_t, 4>;

#if PARALLAX_NEON_VECTORS

// The sums of a column each.
struct ColumnSums {
  HWY_INLINE explicit ColumnSums(int start) : low(hn::Set(Sums(), start)), high(low) {}

  // Adds two rows, times the weights down[0] and down[1].
  HWY_INLINE void add(hn::VFromD<Taken> upper, hn::VFromD<Taken> lower, const std::int16_t* down) {
    low.raw = vmlal_n_s16(low.raw, vget_low_s16(upper.raw), down[0]);
    high.raw = vmlal_high_n_s16(high.raw, upper.raw, down[0]);
    low.raw = vmlal_n_s16(low.raw, vget_low_s16(lower.raw), down[1]);
    high.raw = vmlal_high_n_s16(high.raw, lower.raw, down[1]);
  }

  hn::VFromD<Sums> low, high;
};

// Returns a0 b0 + a1 b1 + … of all lanes.
HWY_INLINE int sum_of_products(hn::VFromD<Taken> a, hn::VFromD<Taken> b) {
  const int32x4_t low = vmull_s16(vget_low_s16(a.raw), vget_low_s16(b.raw));
  return vaddvq_s32(vmlal_high_s16(low, a.raw, b.raw));
}

#else

// Returns a0 b0 + a1 b1, …
HWY_INLINE hn::VFromD<Sums> multiply_pairs(hn::VFromD<Taken> a, hn::VFromD<Taken> b) {
  auto products = _mm_madd_epi16(a.raw, b.raw);
  // For Highway's AVX3_DL, Clang would merge an addition into an instruction of AVX-VNNI, which such
  // processors may lack.
  asm("" : "+x"(products));
  return hn::VFromD<Sums>{products};
}

struct ColumnSums {
  HWY_INLINE explicit ColumnSums(int start) : low(hn::Set(Sums(), start)), high(low) {}

  HWY_INLINE void add(hn::VFromD<Taken> upper, hn::VFromD<Taken> lower, const std::int16_t* down) {
    std::int32_t pair;
    std::memcpy(&pair, down, sizeof pair);
    const Taken words;
    const auto weights = hn::BitCast(words, hn::Set(Sums(), pair));
    low = hn::Add(low, multiply_pairs(hn::InterleaveLower(words, upper, lower), weights));
    high = hn::Add(high, multiply_pairs(hn::InterleaveUpper(words, upper, lower), weights));
  }

  hn::VFromD<Sums> low, high;
};

HWY_INLINE int sum_of_products(hn::VFromD<Taken> a, hn::VFromD<Taken> b) {
  return hn::GetLane(hn::SumOfLanes(Sums(), multiply_pairs(a, b)));
}

#endif

// Lanczos's window on gray values of 8 bits: its 6 columns are in the lanes of a vector of 8.
HWY_INLINE std::uint8_t lanczos_gray(const std::byte* first, std::ptrdiff_t stride,
                                     const std::int16_t* across, const std::int16_t* down) {
  constexpr int kept = kept_bits(BitDepth::bits8), dropped = tap_bits - kept, last = tap_bits + kept;
  const hn::FixedTag<std::uint8_t, 8> bytes;
  const Taken words;
  const auto row = [&](int k) {
    return hn::PromoteTo(words, hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(first + k * stride)));
  };
  ColumnSums sums(1 << (dropped - 1));
  for (int j = 0; j < taps; j += 2) sums.add(row(j), row(j + 1), down + j);
  // Keeps the order of lanes, because vectors have 128 bits.
  const auto columns =
      hn::ReorderDemote2To(words, hn::ShiftRight<dropped>(sums.low), hn::ShiftRight<dropped>(sums.high));
  const int value = sum_of_products(columns, hn::LoadU(words, across)) + (1 << (last - 1));
  return static_cast<std::uint8_t>(std::clamp(value >> last, 0, 255));
}

void lanczos_gray_row(const RowTask& task, int y) {
  const Map& map = task.map;
  const std::uint16_t *columns = map.x.row(y), *rows = map.y.row(y);
  const Block* blocks = map.blocks.row(y);
  auto* out =
      reinterpret_cast<std::uint8_t*>(static_cast<std::byte*>(task.to.data) + y * task.to.stride_bytes);
  for (int x = 0; x < map.size.width; ++x) {
    const Block block = blocks[x / block_columns];
    const int column = block.x + (columns[x] >> fraction_bits) - 2,
              row = block.y + (rows[x] >> fraction_bits) - 2;
    if (columns[x] == unseen || column + tap_stride > map.camera.width || row + taps > map.camera.height) {
      remap_pixels<std::uint8_t, Interpolation::lanczos3>(task, y, x, x + 1, out + x);
      continue;
    }
    const std::byte* first =
        static_cast<const std::byte*>(task.from.data) + row * task.from.stride_bytes + column;
    out[x] = lanczos_gray(first, task.from.stride_bytes, task.taps[columns[x] % steps].data(),
                          task.taps[rows[x] % steps].data());
  }
}

#endif

// Writes a row, group by group: write_group(first, out).
template <class T, int channels, class WriteGroup>
HWY_INLINE void write_groups(const RowTask& task, int y, const WriteGroup& write_group) {
  const int width = task.map.size.width;
  T* out = reinterpret_cast<T*>(static_cast<std::byte*>(task.to.data) + y * task.to.stride_bytes);
  for (int first = 0; first < width; first += group_columns) {
    T group[group_columns * channels];
    const bool fits = first + group_columns <= width;
    T* const to = out + first * channels;
    write_group(first, fits ? to : group);
    if (!fits) std::copy_n(group, (width - first) * channels, to);
  }
}

// A call for each group would take gray images a quarter longer.
template <int channels>
void bilinear_row(const RowTask& task, int y) {
  write_groups<std::uint8_t, channels>(
      task, y, [&](int first, std::uint8_t* out) __attribute__((always_inline)) {
        bilinear_group<channels>(task, y, first, out);
      });
}

void bilinear_deep_gray_row(const RowTask& task, int y) {
  write_groups<std::uint16_t, 1>(
      task, y, [&](int first, std::uint16_t* out) { bilinear_deep_group(task, y, first, out); });
}

#endif

void row(const RowTask& task, int y) {
  const bool bits8 = task.from.format.depth == BitDepth::bits8;
#if HWY_TARGET != HWY_SCALAR
  if (task.interpolation == Interpolation::bilinear) {
    if (bits8 && task.from.channels == 1) return bilinear_row<1>(task, y);
    if (bits8) return bilinear_row<colours>(task, y);
    if (task.from.channels == 1) return bilinear_deep_gray_row(task, y);
  }
#if PARALLAX_X86_VECTORS || PARALLAX_NEON_VECTORS
  if (task.interpolation == Interpolation::lanczos3 && bits8 && task.from.channels == 1)
    return lanczos_gray_row(task, y);
#endif
#endif
  if (bits8)
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
