// SPDX-License-Identifier: Apache-2.0
// Rectifies a pair by the equations of remap.h.
//
// Specialised by BITS (8 or 16 per channel) and LANCZOS (0 or 1).
#include "devices/cuda/kernel.h"
#include "remap/cuda_types.h"

using namespace parallax::remap;
using parallax::cuda::Image;

namespace {

#if BITS == 8
using Sample = uint8;
constexpr int kept_bits = 6, largest = 255;
#else
using Sample = uint16;
constexpr int kept_bits = 1, largest = 65535;
#endif

constexpr int fraction_bits = 6, steps = 1 << fraction_bits;
constexpr int block_columns = 8, unseen = 0xFFFF;
// Neighbours per thread: two threads share a block of the map.
constexpr int taken = 4;
// A position all of whose taps are inside every image in which they are not beyond the last row and column.
constexpr int anywhere = LANCZOS ? 2 * steps : 0;

__device__ __forceinline__ const Sample* row_of(const Image& image, int y) {
  return reinterpret_cast<const Sample*>(static_cast<const char*>(image.data) + y * image.stride_bytes);
}

// The value of each channel at a position, in `values`.
template <int channels>
__device__ __forceinline__ void bilinear(const Image& image, const CudaMap& map, int x, int y, int* values) {
  const int column = x >> fraction_bits, row = y >> fraction_bits, fx = x % steps, fy = y % steps;
  const int next = column + 1 < map.camera_width ? channels : 0;
  const int64 below_by = row + 1 < map.camera_height ? image.stride_bytes : 0;
  const Sample* upper = row_of(image, row) + column * channels;
  const Sample* lower = reinterpret_cast<const Sample*>(reinterpret_cast<const char*>(upper) + below_by);
  for (int channel = 0; channel < channels; ++channel) {
    const int above = (steps - fx) * upper[channel] + fx * upper[next + channel];
    const int below = (steps - fx) * lower[channel] + fx * lower[next + channel];
    values[channel] =
        (above + (((below - above) * fy + steps / 2) >> fraction_bits) + steps / 2) >> fraction_bits;
  }
}

constexpr int tap_bits = 12, taps = 6;

struct Weights {
  int of[taps];
};

// A row of the table takes 16 bytes.
__device__ __forceinline__ Weights load_weights(const short* table, int fraction) {
  const int4 loaded = reinterpret_cast<const int4*>(table)[fraction];
  const int words[taps / 2] = {loaded.x, loaded.y, loaded.z};
  Weights weights;
  for (int i = 0; i < taps; ++i) {
    const int word = words[i / 2];
    weights.of[i] = i % 2 == 0 ? static_cast<short>(word) : word >> 16;
  }
  return weights;
}

template <int channels>
__device__ __forceinline__ void lanczos(const Image& image, const CudaMap& map, const short* table, int x,
                                        int y, int* values) {
  constexpr int dropped = tap_bits - kept_bits, last = tap_bits + kept_bits;
  const int column = (x >> fraction_bits) - 2, row = (y >> fraction_bits) - 2;
  const Weights across = load_weights(table, x % steps), down = load_weights(table, y % steps);
  const Sample* rows[taps];
#pragma unroll
  for (int j = 0; j < taps; ++j) rows[j] = row_of(image, min(row + j, map.camera_height - 1));
  for (int channel = 0; channel < channels; ++channel) values[channel] = 1 << (last - 1);
#pragma unroll
  for (int i = 0; i < taps; ++i) {
    const int at = min(column + i, map.camera_width - 1) * channels;
#pragma unroll
    for (int channel = 0; channel < channels; ++channel) {
      int sum = 1 << (dropped - 1);
#pragma unroll
      for (int j = 0; j < taps; ++j) sum += down.of[j] * rows[j][at + channel];
      values[channel] += across.of[i] * (sum >> dropped);
    }
  }
  for (int channel = 0; channel < channels; ++channel)
    values[channel] = min(max(values[channel] >> last, 0), largest);
}

// Whether all rows of the output can be written in words of four bytes.
__device__ __forceinline__ bool takes_words(const void* rows, int64 stride_bytes) {
  return ((reinterpret_cast<uint64>(rows) | static_cast<uint64>(stride_bytes)) & 3) == 0;
}

// Writes the first `samples` samples of type T that are packed in words.
template <class T, int words>
__device__ __forceinline__ void store(void* to, bool as_words, const uint32* packed, int samples) {
  constexpr int per_word = 4 / sizeof(T), bits = 8 * sizeof(T);
  if (as_words && samples == words * per_word) {
    for (int i = 0; i < words; ++i) static_cast<uint32*>(to)[i] = packed[i];
    return;
  }
  for (int i = 0; i < words * per_word; ++i)
    if (i < samples) static_cast<T*>(to)[i] = static_cast<T>(packed[i / per_word] >> i % per_word * bits);
}

// The positions of a thread's pixels in the camera's image.
struct Positions {
  int x[taken], y[taken];
  bool seen[taken];
};

__device__ __forceinline__ Positions load_positions(const CudaMap& map, int x, int y) {
  // Rows of the map have room for full blocks.
  const uint4 loaded =
      *reinterpret_cast<const uint4*>(map.positions + 2 * (static_cast<int64>(y) * map.stride + x));
  const CudaBlock block = map.blocks[static_cast<int64>(y) * map.block_stride + x / block_columns];
  const uint32 words[taken] = {loaded.x, loaded.y, loaded.z, loaded.w};
  Positions positions;
  for (int i = 0; i < taken; ++i) {
    const int column = words[i] & 0xFFFF, row = words[i] >> 16;
    positions.seen[i] = column != unseen;
    // All threads load; pixels that the camera did not see load an arbitrary pixel inside the image.
    positions.x[i] = positions.seen[i] ? block.x * steps + column : anywhere;
    positions.y[i] = positions.seen[i] ? block.y * steps + row : anywhere;
  }
  return positions;
}

template <int channels>
__device__ __forceinline__ void interpolate(const Image& image, const CudaMap& map, const short* table,
                                            const Positions& positions, void* to, bool as_words, int count) {
  constexpr int per_word = 4 / sizeof(Sample), words = taken * channels / per_word;
  uint32 packed[words] = {};
#pragma unroll
  for (int i = 0; i < taken; ++i) {
    int values[channels];
    if (LANCZOS)
      lanczos<channels>(image, map, table, positions.x[i], positions.y[i], values);
    else
      bilinear<channels>(image, map, positions.x[i], positions.y[i], values);
    for (int channel = 0; channel < channels; ++channel) {
      const int at = i * channels + channel;
      const uint32 value = positions.seen[i] ? values[channel] : 0;
      packed[at / per_word] |= value << at % per_word * BITS;
    }
  }
  store<Sample, words>(to, as_words, packed, count * channels);
}

}  // namespace

// grid.x = rows, grid.y = blocks of a row, each thread making four pixels; grid.z = side.
PARALLAX_KERNEL remap(CudaRemap pair) {
  const int x = (blockIdx.y * blockDim.x + threadIdx.x) * taken, y = blockIdx.x;
  if (x >= pair.width) return;
  const bool is_left = blockIdx.z == 0;
  const CudaMap map = is_left ? pair.maps[0] : pair.maps[1];
  const Image image = is_left ? pair.from[0] : pair.from[1];
  const CudaOutput to = is_left ? pair.to[0] : pair.to[1];
  const int count = min(taken, pair.width - x);
  // May precede the wait, because no kernel writes the maps.
  const Positions positions = load_positions(map, x, y);
  wait_for_previous();

  Sample* out = reinterpret_cast<Sample*>(static_cast<uint8*>(to.data) + y * to.stride_bytes);
  const bool as_words = takes_words(to.data, to.stride_bytes);
  if (image.channels == 1)
    interpolate<1>(image, map, pair.taps, positions, out + x, as_words, count);
  else
    interpolate<3>(image, map, pair.taps, positions, out + 3 * x, as_words, count);
  if (to.mask == nullptr) return;
  uint32 mask = 0;
  for (int i = 0; i < taken; ++i)
    if (positions.seen[i]) mask |= 0xFFu << 8 * i;
  store<uint8, 1>(to.mask + y * to.mask_stride + x, takes_words(to.mask, to.mask_stride), &mask, count);
}
