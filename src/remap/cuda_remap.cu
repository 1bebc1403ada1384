// SPDX-License-Identifier: Apache-2.0
// Rectifies a pair: remap.h's equations.
//
// Specialised by BITS (8 or 16 a channel) and LANCZOS (0 or 1).
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

__device__ __forceinline__ const Sample* row_of(const Image& image, int y) {
  return reinterpret_cast<const Sample*>(static_cast<const char*>(image.data) + y * image.stride_bytes);
}

__device__ __forceinline__ int bilinear(const Image& image, const CudaMap& map, int x, int y, int channel) {
  const int column = x >> fraction_bits, row = y >> fraction_bits, fx = x % steps, fy = y % steps;
  const int64 at = static_cast<int64>(column) * image.channels + channel;
  const int64 next = column + 1 < map.camera_width ? at + image.channels : at;
  const Sample* upper = row_of(image, row);
  const Sample* lower = row_of(image, min(row + 1, map.camera_height - 1));
  const int above = (steps - fx) * upper[at] + fx * upper[next];
  const int below = (steps - fx) * lower[at] + fx * lower[next];
  return (above + (((below - above) * fy + steps / 2) >> fraction_bits) + steps / 2) >> fraction_bits;
}

__device__ __forceinline__ int lanczos(const Image& image, const CudaMap& map, const short* table, int x,
                                       int y, int channel) {
  constexpr int tap_bits = 12, taps = 6, tap_stride = 8, dropped = tap_bits - kept_bits,
                last = tap_bits + kept_bits;
  const int column = (x >> fraction_bits) - 2, row = (y >> fraction_bits) - 2;
  const short *across = table + x % steps * tap_stride, *down = table + y % steps * tap_stride;
  int value = 1 << (last - 1);
  for (int i = 0; i < taps; ++i) {
    const int64 at = static_cast<int64>(min(column + i, map.camera_width - 1)) * image.channels + channel;
    int sum = 1 << (dropped - 1);
    for (int j = 0; j < taps; ++j) sum += down[j] * row_of(image, min(row + j, map.camera_height - 1))[at];
    value += across[i] * (sum >> dropped);
  }
  return min(max(value >> last, 0), largest);
}

// Whether all rows of the output take words of four bytes.
__device__ __forceinline__ bool takes_words(const void* rows, int64 stride_bytes) {
  return ((reinterpret_cast<uint64>(rows) | static_cast<uint64>(stride_bytes)) & 3) == 0;
}

// Writes up to `taken` bytes.
__device__ __forceinline__ void store_bytes(uint8* to, int64 stride_bytes, const uint8* first_row,
                                            const uint32* values, int count) {
  if (count == taken && takes_words(first_row, stride_bytes)) {
    *reinterpret_cast<uint32*>(to) = values[0] | values[1] << 8 | values[2] << 16 | values[3] << 24;
    return;
  }
  for (int i = 0; i < count; ++i) to[i] = static_cast<uint8>(values[i]);
}

}  // namespace

// grid.x = rows, grid.y = blocks of a row, each thread making four pixels; grid.z = side.
PARALLAX_KERNEL remap(CudaRemap pair) {
  wait_for_previous();
  const int x = (blockIdx.y * blockDim.x + threadIdx.x) * taken, y = blockIdx.x;
  if (x >= pair.width) return;
  const bool is_left = blockIdx.z == 0;
  const CudaMap map = is_left ? pair.maps[0] : pair.maps[1];
  const Image image = is_left ? pair.from[0] : pair.from[1];
  const CudaOutput to = is_left ? pair.to[0] : pair.to[1];
  const int count = min(taken, pair.width - x), channels = image.channels;

  // Rows of the map have room for full blocks.
  const int64 entry = static_cast<int64>(y) * map.stride + x;
  const ushort4 xs = *reinterpret_cast<const ushort4*>(map.x + entry);
  const ushort4 ys = *reinterpret_cast<const ushort4*>(map.y + entry);
  const int columns[taken] = {xs.x, xs.y, xs.z, xs.w}, rows[taken] = {ys.x, ys.y, ys.z, ys.w};
  const CudaBlock block = map.blocks[static_cast<int64>(y) * map.block_stride + x / block_columns];

  uint8* out = static_cast<uint8*>(to.data) + y * to.stride_bytes;
  uint32 values[taken] = {}, masks[taken] = {};
  for (int channel = 0; channel < channels; ++channel) {
    for (int i = 0; i < taken; ++i) {
      const bool seen = columns[i] != unseen;
      masks[i] = seen ? 255 : 0;
      values[i] = 0;
      if (!seen) continue;
      const int column = block.x * steps + columns[i], row = block.y * steps + rows[i];
      values[i] = LANCZOS ? lanczos(image, map, pair.taps, column, row, channel)
                          : bilinear(image, map, column, row, channel);
    }
#if BITS == 8
    if (channels == 1) {
      store_bytes(out + x, to.stride_bytes, static_cast<const uint8*>(to.data), values, count);
      continue;
    }
#endif
    for (int i = 0; i < count; ++i)
      reinterpret_cast<Sample*>(out)[static_cast<int64>(x + i) * channels + channel] =
          static_cast<Sample>(values[i]);
  }
  if (to.mask != nullptr)
    store_bytes(to.mask + y * to.mask_stride + x, to.mask_stride, to.mask, masks, count);
}
