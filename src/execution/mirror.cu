// SPDX-License-Identifier: Apache-2.0
// Mirror rows of pixels.
#include "devices/cuda/kernel.h"

// One thread per pixel: grid.x = rows, grid.y = blocks of a row. Strides are in bytes.
PARALLAX_KERNEL mirror_rows(const uint8* from, int64 from_stride, uint8* to, int64 to_stride, int width,
                            int pixel_bytes) {
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x;
  const int64 y = blockIdx.x;
  if (x >= width) return;
  const uint8* pixel = from + y * from_stride + static_cast<int64>(x) * pixel_bytes;
  uint8* target = to + y * to_stride + static_cast<int64>(width - 1 - x) * pixel_bytes;
  for (int i = 0; i < pixel_bytes; ++i) target[i] = pixel[i];
}

// One thread per pixel of the left half, which changes places with its mirror image.
PARALLAX_KERNEL mirror_in_place(uint8* data, int64 stride, int width, int pixel_bytes) {
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x;
  const int64 y = blockIdx.x;
  if (x >= width / 2) return;
  uint8* left = data + y * stride + static_cast<int64>(x) * pixel_bytes;
  uint8* right = data + y * stride + static_cast<int64>(width - 1 - x) * pixel_bytes;
  for (int i = 0; i < pixel_bytes; ++i) {
    const uint8 value = left[i];
    left[i] = right[i];
    right[i] = value;
  }
}
