// SPDX-License-Identifier: Apache-2.0
// Steps of parallax/refine.h on CUDA, compiled together because most plans take several of them.
//
// Specialised by WARPS per block, and as cuda_confidence.h says.
#include "devices/cuda/pair.h"
#include "refine/cuda_confidence.h"
#include "refine/cuda_fill.h"
#include "refine/cuda_median.h"
#include "refine/cuda_speckle.h"

using parallax::cuda::Image;

// Columns of a thread of some kernels, a block apart: several loads are on their way at once.
constexpr int columns = 4;

// The left-right check: the same result as left_right_check.cpp. grid.x = rows, grid.y = blocks of a row.
PARALLAX_KERNEL check_left_right(float* disparity, int64 stride, uint8* status, int64 status_stride,
                                 const float* right, int64 right_stride, int width, float tolerance) {
  wait_for_previous();
  const int first = blockIdx.y * columns * blockDim.x + threadIdx.x;
  const int64 y = blockIdx.x;
  float here[columns], there[columns];
#pragma unroll
  for (int i = 0; i < columns; ++i) {
    const int x = first + i * static_cast<int>(blockDim.x);
    here[i] = x < width ? disparity[y * stride + x] : no_value;
  }
#pragma unroll
  for (int i = 0; i < columns; ++i) {
    const float column = static_cast<float>(first + i * static_cast<int>(blockDim.x)) - ceilf(here[i] - 0.5f);
    const bool is_inside = has_value(here[i]) && column >= 0.0f && column < static_cast<float>(width);
    there[i] = is_inside ? right[y * right_stride + static_cast<int>(column)] : no_value;
  }
#pragma unroll
  for (int i = 0; i < columns; ++i) {
    if (!has_value(here[i]) || fabsf(there[i] - here[i]) <= tolerance) continue;
    const int x = first + i * static_cast<int>(blockDim.x);
    disparity[y * stride + x] = no_value;
    status[y * status_stride + x] = inconsistent;
  }
}

namespace {

// The column that a disparity leads to; −1 outside the image, and without a value.
__device__ __forceinline__ int right_column(int x, float disparity, int width) {
  const float column = static_cast<float>(x) - ceilf(disparity - 0.5f);
  return column >= 0.0f && column < static_cast<float>(width) ? static_cast<int>(column) : -1;
}

// Integers in the order of the floats; the same turns them back.
__device__ __forceinline__ int in_order(int bits) {
  return bits ^ (bits >> 31 & 0x7FFFFFFF);
}

}  // namespace

// The occlusion check: the same result as occlusion_check.cpp. One block per row. `highest` has an element
// for each pixel: the highest disparity that leads to it, as an integer.
PARALLAX_KERNEL check_occlusions(float* disparity, int64 stride, uint8* status, int64 status_stride,
                                 int* highest, int width, float tolerance) {
  wait_for_previous();
  const int64 y = blockIdx.x;
  float* row = disparity + y * stride;
  int* taken = highest + y * width;
  const int step = static_cast<int>(blockDim.x), first = static_cast<int>(threadIdx.x);
  for (int x = first; x < width; x += step) taken[x] = static_cast<int>(0x80000000u);
  __syncthreads();
  for (int x = first; x < width; x += step) {
    const int column = right_column(x, row[x], width);
    if (column >= 0) atomicMax(&taken[column], in_order(__float_as_int(row[x])));
  }
  __syncthreads();
  for (int x = first; x < width; x += step) {
    const float here = row[x];
    if (!has_value(here)) continue;
    const int column = right_column(x, here, width);
    if (column >= 0 && __int_as_float(in_order(taken[column])) - here <= tolerance) continue;
    row[x] = no_value;
    status[y * status_stride + x] = inconsistent;
  }
}

namespace {

template <class Value>
__device__ __forceinline__ void take_pixel(const Image& image, int x, int y, uint8& gray, uint32& colour) {
  const Value* row =
      reinterpret_cast<const Value*>(static_cast<const char*>(image.data) + y * image.stride_bytes);
  const Value* pixel = row + static_cast<int64>(x) * image.channels;
  constexpr int dropped_bits = 8 * sizeof(Value) - 8;
  const bool is_gray = image.channels == 1;
  const uint32 red = pixel[0], green = is_gray ? red : pixel[1], blue = is_gray ? red : pixel[2];
  gray = (is_gray ? red : (9797u * red + 19234u * green + 3737u * blue) >> 15) >> dropped_bits;
  colour = red >> dropped_bits | green >> dropped_bits << 8 | blue >> dropped_bits << 16;
}

}  // namespace

// The guide, as guide.h, and the colours for superpixels, which may be null. One thread per pixel: grid.x =
// rows, grid.y = blocks of a row.
PARALLAX_KERNEL take_guide(Image image, int width, uint8* guide, int stride, uint32* colours,
                           int colour_stride) {
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x;
  const int64 y = blockIdx.x;
  if (x >= width) return;
  uint8 gray;
  uint32 colour;
  if (image.bits == 16)
    take_pixel<uint16>(image, x, y, gray, colour);
  else
    take_pixel<uint8>(image, x, y, gray, colour);
  guide[y * stride + x] = gray;
  if (colours != nullptr) colours[y * colour_stride + x] = colour;
}

// grid.x = rows, grid.y = blocks of a row.
PARALLAX_KERNEL copy_disparity(const float* from, int64 stride, float* to, int64 to_stride, int width) {
  wait_for_previous();
  const int first = blockIdx.y * columns * blockDim.x + threadIdx.x;
  const int64 y = blockIdx.x;
  float values[columns];
#pragma unroll
  for (int i = 0; i < columns; ++i) {
    const int x = first + i * static_cast<int>(blockDim.x);
    if (x < width) values[i] = from[y * stride + x];
  }
#pragma unroll
  for (int i = 0; i < columns; ++i) {
    const int x = first + i * static_cast<int>(blockDim.x);
    if (x < width) to[y * to_stride + x] = values[i];
  }
}
