// SPDX-License-Identifier: Apache-2.0
// Copies a finished map to the caller's memory without infinities, in pixels or in 16ths of a pixel.
#include "devices/cuda/kernel.h"

// One thread per pixel: grid.x = rows, grid.y = blocks of a row. One of the targets is null.
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
