// SPDX-License-Identifier: Apache-2.0
// Copy a finished map to the caller's memory.
#include "devices/cuda/kernel.h"

namespace {

// Columns of a thread, a block apart: several loads are on their way at once.
constexpr int columns = 4;

// Copies a row of a plane from column `first` on.
template <class Value>
__device__ __forceinline__ void copy_columns(const Value* from, Value* to, int first, int width) {
  Value values[columns];
#pragma unroll
  for (int i = 0; i < columns; ++i) {
    const int x = first + i * static_cast<int>(blockDim.x);
    if (x < width) values[i] = from[x];
  }
#pragma unroll
  for (int i = 0; i < columns; ++i) {
    const int x = first + i * static_cast<int>(blockDim.x);
    if (x < width) to[x] = values[i];
  }
}

}  // namespace

// grid.x = rows, grid.y = blocks of a row. Confidence and row offset are null if the caller does not want them.
PARALLAX_KERNEL copy_map(const float* disparity, const uint8* status, const float* confidence,
                         const float* row_offset, int width, int64 stride, int64 status_stride, float* to_disparity, int64 to_disparity_stride,
                         uint8* to_status, int64 to_status_stride, float* to_confidence,
                         int64 to_confidence_stride, float* to_row_offset, int64 to_row_offset_stride) {
  wait_for_previous();
  const int first = blockIdx.y * columns * blockDim.x + threadIdx.x;
  const int64 y = blockIdx.x, from = y * stride;
  copy_columns(disparity + from, to_disparity + y * to_disparity_stride, first, width);
  copy_columns(status + y * status_stride, to_status + y * to_status_stride, first, width);
  if (to_confidence != nullptr)
    copy_columns(confidence + from, to_confidence + y * to_confidence_stride, first, width);
  if (to_row_offset != nullptr)
    copy_columns(row_offset + from, to_row_offset + y * to_row_offset_stride, first, width);
}

// One thread per pixel, grid as above: a map without infinities, in pixels or in 16ths of a pixel. One of the targets is null.
PARALLAX_KERNEL copy_finite_map(const float* disparity, int64 stride, int width, int none, short* to_fixed,
                                int64 to_fixed_stride, float* to_disparity, int64 to_disparity_stride) {
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x;
  const int64 y = blockIdx.x;
  if (x >= width) return;
  const float found = disparity[y * stride + x];
  const float finite = found <= 3.0e38f ? found : static_cast<float>(none);
  if (to_disparity != nullptr) to_disparity[y * to_disparity_stride + x] = finite;
  if (to_fixed == nullptr) return;
  const float fixed = floorf(finite * 16.0f + 0.5f);
  to_fixed[y * to_fixed_stride + x] = static_cast<short>(fminf(fmaxf(fixed, -32768.0f), 32767.0f));
}
