// SPDX-License-Identifier: Apache-2.0
// Block matching on CUDA: makes the filtered, extended images that are compared from the caller's images.
//
// Specialised by GRAY_BITS and FILTERED_BITS of a value (8, 16), X_SOBEL (the filter).
#include "matchers/block/cuda_types.h"
#include "devices/cuda/kernel.h"

using namespace parallax::block;
using parallax::cuda::Image;
using parallax::cuda::Mask;

namespace {

// Columns per thread: four bytes are one word, the fastest access.
constexpr int columns = 4;

template <int bits>
struct Values;
template <>
struct Values<8> {
  using One = uint8;
  using Four = uchar4;
};
template <>
struct Values<16> {
  using One = uint16;
  using Four = ushort4;
};
using Gray = Values<GRAY_BITS>;
using Filtered = Values<FILTERED_BITS>;

__device__ bool aligned(const void* rows, int64 stride_bytes, int bytes) {
  return ((reinterpret_cast<uint64>(rows) | static_cast<uint64>(stride_bytes)) & (bytes - 1)) == 0;
}

__device__ uint32 gray(const Gray::One* row, int x, int channels) {
  if (channels == 1) return row[x];
  const Gray::One* pixel = row + static_cast<int64>(x) * 3;
  return (9797u * pixel[0] + 19234u * pixel[1] + 3737u * pixel[2]) >> 15;
}

__device__ void take_gray(const Image& image, int width, int x, int y, Gray::One* to) {
  const auto* row =
      reinterpret_cast<const Gray::One*>(static_cast<const char*>(image.data) + y * image.stride_bytes);
  if (image.channels == 1 && x + columns <= width &&
      aligned(image.data, image.stride_bytes, sizeof(Gray::Four))) {
    *reinterpret_cast<Gray::Four*>(to + x) = *reinterpret_cast<const Gray::Four*>(row + x);
    return;
  }
  for (int u = x; u < min(x + columns, width); ++u)
    to[u] = static_cast<Gray::One>(gray(row, u, image.channels));
}

__device__ void take_validity(const Mask& mask, int width, int x, int y, uint8* to) {
  const uint8* row = mask.data + y * mask.stride;
  for (int u = x; u < min(x + columns, width); ++u) to[u] = mask.data == nullptr || row[u] != 0;
}

__device__ int clamped(int value, int end) {
  return min(max(value, 0), end - 1);
}

// A gray image extended without limit by repeating its border pixels.
struct Extended {
  const Gray::One* data;
  int width, height, stride;

  __device__ int at(int x, int y) const {
    return data[static_cast<int64>(clamped(y, height)) * stride + clamped(x, width)];
  }
  // The vertically smoothed value; the Sobel filter subtracts two of them.
  __device__ int smoothed(int x, int y) const { return at(x, y - 1) + 2 * at(x, y) + at(x, y + 1); }
};

// Horizontal Sobel response in 8-bit gray levels, rounded, clipped to ±cap, plus cap.
__device__ int response(int left, int right, int cap) {
  const int slope = GRAY_BITS == 8 ? right - left : (right - left + 128) >> 8;
  return min(max(slope, -cap), cap) + cap;
}

__device__ Filtered::Four pack(const int (&values)[columns]) {
  const auto value = [&](int i) { return static_cast<Filtered::One>(values[i]); };
  return {value(0), value(1), value(2), value(3)};
}

__device__ Filtered::Four gray_values(const Extended& image, int x, int y) {
  const int values[] = {image.at(x, y), image.at(x + 1, y), image.at(x + 2, y), image.at(x + 3, y)};
  return pack(values);
}

#if GRAY_BITS == 8 && FILTERED_BITS == 8

// Six neighbours in a row, smoothed or unsmoothed, as halves of words.
struct Six {
  uint32 of[3];
};

__device__ Six load_six(const uint8* row, int x) {
  const uint32* words = reinterpret_cast<const uint32*>(row + (x & ~3));
  const int shift = 8 * (x & 3);
  const uint32 first = __funnelshift_r(words[0], words[1], shift),
               last = __funnelshift_r(words[1], words[2], shift);
  return {__byte_perm(first, 0, 0x4140), __byte_perm(first, 0, 0x4342), __byte_perm(last, 0, 0x4140)};
}

__device__ Filtered::Four responses_inside(const Extended& image, int x, int y, int cap) {
  const auto row = [&](int v) {
    return load_six(image.data + static_cast<int64>(clamped(v, image.height)) * image.stride, x - 1);
  };
  const Six above = row(y - 1), middle = row(y), below = row(y + 1);
  uint32 smoothed[3], differences[2];
#pragma unroll
  for (int i = 0; i < 3; ++i) smoothed[i] = above.of[i] + 2 * middle.of[i] + below.of[i];
  // This offset keeps the halves positive.
  constexpr uint32 offset = 1024;
  const uint32 lowest = (offset - cap) * 0x10001u, highest = (offset + cap) * 0x10001u;
#pragma unroll
  for (int i = 0; i < 2; ++i)
    differences[i] =
        __vminu2(__vmaxu2(smoothed[i + 1] + offset * 0x10001u - smoothed[i], lowest), highest) - lowest;
  const uint32 word = __byte_perm(differences[0], differences[1], 0x6420);
  return *reinterpret_cast<const Filtered::Four*>(&word);
}

#else

__device__ Filtered::Four responses_inside(const Extended& image, int x, int y, int cap) {
  int smoothed[columns + 2], values[columns];
#pragma unroll
  for (int i = 0; i < columns + 2; ++i) smoothed[i] = image.smoothed(x - 1 + i, y);
#pragma unroll
  for (int i = 0; i < columns; ++i) values[i] = response(smoothed[i], smoothed[i + 2], cap);
  return pack(values);
}

#endif

// The response at a repeated border pixel is the response at the border.
__device__ Filtered::Four responses(const Extended& image, int x, int y, int cap) {
  y = clamped(y, image.height);
  if (x > 0 && x + columns < image.width) return responses_inside(image, x, y, cap);
  int values[columns];
  for (int i = 0; i < columns; ++i) {
    const int u = clamped(x + i, image.width);
    values[i] = response(image.smoothed(u - 1, y), image.smoothed(u + 1, y), cap);
  }
  return pack(values);
}

// Clears the search's results for four pixels.
__device__ void forget(const CudaFound& found, int side, int x, int y) {
  const int64 at = static_cast<int64>(y) * found.stride + x;
  if (found.best[side] == nullptr) return;
  uint4* keys = reinterpret_cast<uint4*>(static_cast<char*>(found.best[side]) + at * found.key_bytes);
  for (int i = 0; i < found.key_bytes / 4; ++i) keys[i] = {~0u, ~0u, ~0u, ~0u};
}

}  // namespace

// One thread per four columns: grid.x = rows, grid.y = blocks of a row, grid.z = 2 images.
PARALLAX_KERNEL take(const __grid_constant__ CudaTake take) {
  wait_for_previous();
  const int x = columns * (blockIdx.y * blockDim.x + threadIdx.x), y = blockIdx.x, side = blockIdx.z;
  if (x >= take.width) return;
  take_gray(take.images[side], take.width, x, y,
            static_cast<Gray::One*>(take.gray[side]) + static_cast<int64>(y) * take.gray_stride);
  take_validity(take.masks[side], take.width, x, y,
                take.validity.of[side] + static_cast<int64>(y) * take.validity.stride);
  if (x == 0 && y == 0) take.validity.masked[side] = take.masks[side].data != nullptr;
  forget(take.found, side, x, y);
}

// The same, including the extension.
PARALLAX_KERNEL filter(const __grid_constant__ CudaFilter filter) {
  wait_for_previous();
  const CudaFrame& frame = filter.frame;
  const int index = blockIdx.y * blockDim.x + threadIdx.x, side = blockIdx.z;
  const int x = columns * index - frame.before, y = static_cast<int>(blockIdx.x) - frame.radius;
  if (columns * index >= frame.pitch) return;
  const Extended gray{static_cast<const Gray::One*>(filter.gray[side]), frame.width, frame.height,
                      filter.gray_stride};
  const auto store = [&](const Filtered::Four& values, void* image) {
    const int64 at = static_cast<int64>(y) * frame.pitch + x;
    *reinterpret_cast<Filtered::Four*>(static_cast<Filtered::One*>(image) + at) = values;
  };
  store(X_SOBEL ? responses(gray, x, y, filter.cap) : gray_values(gray, x, y), filter.filtered[side]);
  if (side == 0 && filter.responses != nullptr) store(responses(gray, x, y, filter.cap), filter.responses);
}
