// SPDX-License-Identifier: Apache-2.0
// Converts the caller's images to the inputs of data costs and edges.
//
// Specialised by CENSUS_BLOCK (threads of census(), one for each column), CENSUS_ROWS (rows of a block) and
// CENSUS_TOLERANCE (in 256ths of a gray level).
#include "data_cost/cuda_types.h"
#include "devices/cuda/kernel.h"

using namespace parallax::data_cost;
using parallax::cuda::Image;
using parallax::cuda::Mask;

namespace {

constexpr int per_level = 256;
constexpr int gray_channel = 3;

__device__ uint32 value_at(const Image& image, int x, int y, int channel) {
  const char* row = static_cast<const char*>(image.data) + y * image.stride_bytes;
  const int64 element = static_cast<int64>(x) * image.channels + channel;
  return image.bits == 16 ? reinterpret_cast<const uint16*>(row)[element]
                          : reinterpret_cast<const uint8*>(row)[element];
}

__device__ uint32 sample(const Image& image, int x, int y, int channel) {
  uint32 value = 0;
  if (image.channels == 1)
    value = value_at(image, x, y, 0);
  else if (channel != gray_channel)
    value = value_at(image, x, y, channel);
  else
    value = (9797 * value_at(image, x, y, 0) + 19234 * value_at(image, x, y, 1) +
             3737 * value_at(image, x, y, 2)) >>
            15;
  return image.bits == 16 ? value : value * per_level;
}

__device__ int clamped(int value, int end) {
  return min(max(value, 0), end - 1);
}

// Neighbours per thread: four bytes are one word, the fastest access.
constexpr int taken = 4;
struct Neighbours {
  uint32 of[taken];
};

__device__ bool word_aligned(const void* rows, int64 stride_bytes) {
  return ((reinterpret_cast<uint64>(rows) | static_cast<uint64>(stride_bytes)) & 3) == 0;
}

__device__ Neighbours bytes_of(uint32 word) {
  return {{word & 0xFF, word >> 8 & 0xFF, word >> 16 & 0xFF, word >> 24}};
}

// Samples of columns x, x + 1, … that exist.
__device__ Neighbours samples_of(const Image& image, int x, int y, int width, int channel) {
  Neighbours values = {};
  if (image.channels == 1 && image.bits == 8 && x + taken <= width &&
      word_aligned(image.data, image.stride_bytes)) {
    const char* row = static_cast<const char*>(image.data) + y * image.stride_bytes;
    values = bytes_of(*reinterpret_cast<const uint32*>(row + x));
    for (int i = 0; i < taken; ++i) values.of[i] *= per_level;
    return values;
  }
  for (int i = 0; i < taken && x + i < width; ++i) values.of[i] = sample(image, x + i, y, channel);
  return values;
}

__device__ Neighbours validity_of(const Mask& mask, int x, int y, int width) {
  const uint8* row = mask.data + y * mask.stride;
  if (mask.data != nullptr && x + taken <= width && word_aligned(mask.data, mask.stride))
    return bytes_of(*reinterpret_cast<const uint32*>(row + x));
  Neighbours valid = {};
  for (int i = 0; i < taken && x + i < width; ++i) valid.of[i] = mask.data == nullptr || row[x + i] != 0;
  return valid;
}

}  // namespace

// Samples and validity of both images: grid.x = rows, grid.y = blocks of a row, each thread taking four
// pixels; grid.z = 2.
PARALLAX_KERNEL take(Image left, Image right, Mask left_mask, Mask right_mask, CudaSamples samples,
                     CudaValidity validity) {
  wait_for_previous();
  const int x = (blockIdx.y * blockDim.x + threadIdx.x) * taken, y = blockIdx.x;
  const bool is_left = blockIdx.z == 0;
  const Image image = is_left ? left : right;
  const Mask mask = is_left ? left_mask : right_mask;

  const Neighbours valid = validity_of(mask, x, y, samples.width);
  uint32 word = 0;
  for (int i = 0; i < taken; ++i) word |= static_cast<uint32>(valid.of[i] != 0) << (x + i) % 32;
  constexpr int threads_of_a_word = 32 / taken;
  for (int step = 1; step < threads_of_a_word; step *= 2) word |= __shfl_xor_sync(all_lanes, word, step);
  if (x % 32 == 0 && x / 32 < validity.words)
    (is_left ? validity.left : validity.right)[static_cast<int64>(y) * validity.words + x / 32] = word;
  if (x >= samples.width) return;

  uint16* out = (is_left ? samples.left : samples.right) + static_cast<int64>(y) * samples.stride + x;
  for (int plane = 0; plane < samples.planes; ++plane) {
    const int channel = plane == samples.planes - 1 ? gray_channel : plane;
    const Neighbours values = samples_of(image, x, y, samples.width, channel);
    // Rows have room for full words.
    *reinterpret_cast<ushort4*>(out + plane * samples.plane) =
        make_ushort4(values.of[0], values.of[1], values.of[2], values.of[3]);
  }
}

// All other kernels of this file: one thread per pixel, grid.x = rows, grid.y = blocks of a row.

// Makes the mirrored pair: the right image from right to left, then the left one. grid.z = 2.
PARALLAX_KERNEL mirror(CudaSamples from, CudaValidity valid, CudaSamples to, CudaValidity valid_to) {
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x, y = blockIdx.x;
  const bool to_left = blockIdx.z == 0, inside = x < from.width;
  const int column = from.width - 1 - x;
  const int64 words = static_cast<int64>(y) * valid.words;
  const uint32* bits = (to_left ? valid.right : valid.left) + words;
  const uint32 word =
      __ballot_sync(all_lanes, inside && (bits[max(column, 0) / 32] >> max(column, 0) % 32 & 1));
  if (threadIdx.x % 32 == 0 && x / 32 < valid.words)
    (to_left ? valid_to.left : valid_to.right)[words + x / 32] = word;
  if (!inside) return;
  const int64 row = static_cast<int64>(y) * from.stride;
  for (int plane = 0; plane < from.planes; ++plane)
    ((to_left ? to.left : to.right) + plane * from.plane + row)[x] =
        ((to_left ? from.right : from.left) + plane * from.plane + row)[column];
}

// One direction of the Gaussian. `weights`: one side, `radius` + 1 of them. grid.z = 2 · planes.
PARALLAX_KERNEL smooth(CudaSamples from, CudaSamples to, const uint32* weights, int radius, int down) {
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x, y = blockIdx.x;
  if (x >= from.width) return;
  const int side = blockIdx.z / from.planes;
  const int64 plane = (blockIdx.z % from.planes) * from.plane;
  const uint16* in = (side == 0 ? from.left : from.right) + plane;
  const auto at = [&](int step) -> uint32 {
    const int u = down ? x : clamped(x + step, from.width), v = down ? clamped(y + step, from.height) : y;
    return in[static_cast<int64>(v) * from.stride + u];
  };
  uint32 sum = 32768 + weights[0] * at(0);
  for (int i = 1; i <= radius; ++i) sum += weights[i] * (at(-i) + at(i));
  ((side == 0 ? to.left : to.right) + plane)[static_cast<int64>(y) * from.stride + x] =
      static_cast<uint16>(sum >> 16);
}

namespace {

constexpr int census_threads = CENSUS_BLOCK, census_rows = CENSUS_ROWS;
constexpr int reach_x = 4, reach_y = 3;

// The gray values of a block's pixels and of their surroundings; border pixels are repeated.
struct Window {
  uint16 of[census_rows + 2 * reach_y][census_threads + 2 * reach_x];
};

__device__ __forceinline__ void load_window(const uint16* gray, const CudaSamples& samples, int first_x,
                                            int first_y, Window& window) {
  const int i = threadIdx.x, beyond = i + census_threads;
  const int column = clamped(first_x + i - reach_x, samples.width),
            column_beyond = clamped(first_x + beyond - reach_x, samples.width);
#pragma unroll
  for (int j = 0; j < census_rows + 2 * reach_y; ++j) {
    const uint16* row =
        gray + static_cast<int64>(clamped(first_y + j - reach_y, samples.height)) * samples.stride;
    window.of[j][i] = row[column];
    if (i < 2 * reach_x) window.of[j][beyond] = row[column_beyond];
  }
  __syncthreads();
}

// Negative if a neighbour counts. See census_bit() in data_cost.h.
__device__ __forceinline__ int census_difference(int centre, int neighbour, int column, int row) {
  constexpr int tolerance = CENSUS_TOLERANCE;
  const int kind = tolerance == 0 ? 0 : ((column < reach_x ? reach_x - column : column - reach_x) + row) % 3;
  return kind == 0   ? neighbour - centre
         : kind == 1 ? neighbour - centre + tolerance
                     : centre - neighbour + tolerance;
}

}  // namespace

// Census, Zabih & Woodfill 1994: which of the 62 neighbours in a 9×7 window are darker than the centre. Grid:
// blocks of rows, blocks of a row, 2 images. The mirrored pair gets the same signatures, because only the
// number of bits in which two signatures differ matters; null: it is not wanted.
PARALLAX_KERNEL __launch_bounds__(census_threads)
    census(CudaSamples samples, uint64* left, uint64* right, uint64* mirrored_left, uint64* mirrored_right) {
  __shared__ Window window;
  wait_for_previous();
  const int first_x = blockIdx.y * census_threads, first_y = blockIdx.x * census_rows;
  const bool is_left = blockIdx.z == 0;
  load_window((is_left ? samples.left : samples.right) + (samples.planes - 1) * samples.plane, samples, first_x,
              first_y, window);
  int centre[census_rows];
  uint32 high[census_rows] = {}, low[census_rows] = {};
#pragma unroll
  for (int k = 0; k < census_rows; ++k) centre[k] = window.of[k + reach_y][threadIdx.x + reach_x];
#pragma unroll
  for (int j = 0; j < census_rows + 2 * reach_y; ++j) {
#pragma unroll
    for (int i = 0; i <= 2 * reach_x; ++i) {
      const int value = window.of[j][threadIdx.x + i];
#pragma unroll
      for (int k = 0; k < census_rows; ++k) {
        const int row = j - k;  // row in the window around that pixel
        if (row < 0 || row > 2 * reach_y || (row == reach_y && i == reach_x)) continue;
        // The sign of the difference enters at the lowest bit.
        uint32& bits = row < reach_y || (row == reach_y && i < reach_x) ? high[k] : low[k];
        bits = __funnelshift_l(static_cast<uint32>(census_difference(centre[k], value, i, row)), bits, 1);
      }
    }
  }
  const int x = first_x + threadIdx.x;
  if (x >= samples.width) return;
  uint64* const out = is_left ? left : right;
  uint64* const mirrored_out = is_left ? mirrored_right : mirrored_left;
#pragma unroll
  for (int k = 0; k < census_rows; ++k) {
    if (first_y + k >= samples.height) return;
    const int64 row = static_cast<int64>(first_y + k) * samples.stride;
    const uint64 signature = static_cast<uint64>(high[k]) << 32 | low[k];
    out[row + x] = signature;
    if (mirrored_out != nullptr) mirrored_out[row + samples.width - 1 - x] = signature;
  }
}

// For each pair of pixels that lie opposite in a 9×7 window, whether the first one, row by row, is brighter.
// Grid as above.
PARALLAX_KERNEL __launch_bounds__(census_threads)
    census_of_opposites(CudaSamples samples, uint32* left, uint32* right) {
  __shared__ Window window;
  wait_for_previous();
  const int first_x = blockIdx.y * census_threads, first_y = blockIdx.x * census_rows;
  const bool is_left = blockIdx.z == 0;
  load_window((is_left ? samples.left : samples.right) + (samples.planes - 1) * samples.plane, samples, first_x,
              first_y, window);
  const int x = first_x + threadIdx.x;
  if (x >= samples.width) return;
  uint32 values[census_rows + 2 * reach_y][1 + 2 * reach_x];
#pragma unroll
  for (int j = 0; j < census_rows + 2 * reach_y; ++j) {
#pragma unroll
    for (int i = 0; i <= 2 * reach_x; ++i) values[j][i] = window.of[j][threadIdx.x + i];
  }
#pragma unroll
  for (int k = 0; k < census_rows; ++k) {
    if (first_y + k >= samples.height) return;
    const auto at = [&](int i, int j) { return values[k + reach_y + j][reach_x + i]; };
    uint32 bits = 0;
#pragma unroll
    for (int j = -reach_y; j <= 0; ++j) {
#pragma unroll
      // The sign of the difference enters at the lowest bit.
      for (int i = -reach_x; i <= (j < 0 ? reach_x : -1); ++i)
        bits = __funnelshift_l(at(-i, -j) - at(i, j), bits, 1);
    }
    (is_left ? left : right)[static_cast<int64>(first_y + k) * samples.stride + x] = bits;
  }
}

namespace {

// Birchfield & Tomasi 1998: the lowest and the highest of a value and of those half a pixel before and after
// it, in the low and the high half of a word.
__device__ uint32 range_of(uint32 before, uint32 here, uint32 after) {
  const uint32 half_before = (before + here + 1) / 2, half_after = (here + after + 1) / 2;
  return min(here, min(half_before, half_after)) | max(here, max(half_before, half_after)) << 16;
}

__device__ uint32 range_of(const uint16* row, int x, int width) {
  return range_of(row[clamped(x - 1, width)], row[x], row[clamped(x + 1, width)]);
}

}  // namespace

// grid.z = 2.
PARALLAX_KERNEL half_pixel_range(CudaSamples samples, uint32* left, uint32* right) {
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x, y = blockIdx.x;
  if (x >= samples.width) return;
  const uint16* row = (blockIdx.z == 0 ? samples.left : samples.right) +
                      (samples.planes - 1) * samples.plane + static_cast<int64>(y) * samples.stride;
  (blockIdx.z == 0 ? left : right)[static_cast<int64>(y) * samples.stride + x] =
      range_of(row, x, samples.width);
}

// Horizontal Sobel gradients, cut at ±15 gray levels, which are then added; none at the borders of a row.
// grid.z = 2.
PARALLAX_KERNEL gradients(CudaSamples samples, CudaGradient* left, CudaGradient* right) {
  constexpr int steepest = 15 * per_level;
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x, y = blockIdx.x, width = samples.width;
  if (x >= width) return;
  const uint16* gray =
      (blockIdx.z == 0 ? samples.left : samples.right) + (samples.planes - 1) * samples.plane;
  const auto row = [&](int v) {
    return gray + static_cast<int64>(clamped(v, samples.height)) * samples.stride;
  };
  const auto gradient = [&](int u) -> uint32 {
    if (u <= 0 || u >= width - 1) return steepest;
    const auto difference = [&](int v) { return row(v)[u + 1] - row(v)[u - 1]; };
    const int sum = difference(y - 1) + 2 * difference(y) + difference(y + 1);
    return min(max(sum, -steepest), steepest) + steepest;
  };
  const uint32 here = gradient(x);
  (blockIdx.z == 0 ? left : right)[static_cast<int64>(y) * samples.stride + x] = CudaGradient{
      here, range_of(gradient(max(x - 1, 0)), here, gradient(min(x + 1, width - 1))),
      range_of(row(y), x, width)};
}

namespace {

// The mean of up to four children, rounded.
__device__ uint16 mean_of_children(const uint16* fine, int width, int height, int stride, int x, int y) {
  const int columns = min(2, width - 2 * x), rows = min(2, height - 2 * y);
  int sum = 0;
  for (int j = 0; j < rows; ++j)
    for (int i = 0; i < columns; ++i) sum += fine[static_cast<int64>(2 * y + j) * stride + 2 * x + i];
  const int children = rows * columns;
  return static_cast<uint16>((sum + children / 2) / children);
}

}  // namespace

// The gray image of a coarser level.
PARALLAX_KERNEL average(const uint16* fine, int fine_width, int fine_height, int fine_stride, uint16* coarse,
                        int stride) {
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x, y = blockIdx.x;
  if (2 * x >= fine_width) return;
  coarse[static_cast<int64>(y) * stride + x] =
      mean_of_children(fine, fine_width, fine_height, fine_stride, x, y);
}

// Both images and their validity at a coarser scale. grid.z = 2.
PARALLAX_KERNEL halve(CudaSamples fine, CudaValidity fine_valid, CudaSamples coarse, CudaValidity coarse_valid) {
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x, y = blockIdx.x;
  const bool is_left = blockIdx.z == 0, inside = x < coarse.width;
  bool valid = false;
  if (inside) {
    const uint32* bits = is_left ? fine_valid.left : fine_valid.right;
    // Bits beyond the width are 0.
    for (int row = 2 * y; row < min(2 * y + 2, fine.height); ++row)
      valid = valid || (bits[static_cast<int64>(row) * fine_valid.words + x / 16] >> x % 16 * 2 & 3) != 0;
  }
  const uint32 word = __ballot_sync(all_lanes, valid);
  if (threadIdx.x % 32 == 0 && x / 32 < coarse_valid.words)
    (is_left ? coarse_valid.left : coarse_valid.right)[static_cast<int64>(y) * coarse_valid.words + x / 32] =
        word;
  if (inside)
    (is_left ? coarse.left : coarse.right)[static_cast<int64>(y) * coarse.stride + x] = mean_of_children(
        is_left ? fine.left : fine.right, fine.width, fine.height, fine.stride, x, y);
}
