// SPDX-License-Identifier: Apache-2.0
// SAD of bytes, one thread per pixel, every window summed separately, a byte at a time. The results are those
// of find_best in src/matchers/block/cuda_search.cu.
//
// Specialised by BASE_IN_CONSTANT_MEMORY, with BAND_ROWS (which it holds, with the windows'), or
// DEVICE_LAUNCH, with SERIAL_MINIMUM (a thread finds the least cost of a pixel, instead of all its threads
// together); and by the macros of cuda_common.h.
#include "matchers/block/cuda_common.h"

using namespace parallax::block;

namespace {

constexpr int block_columns = 128;

// Shifts of the search range that lead into the image.
struct Range {
  int first, last;
};

__device__ Range range_of(const CudaSearch& search, int x) {
  return {max(search.first_shift, x - (search.frame.width - 1)), min(search.last_shift, x)};
}

// `base` and `other` are the first bytes of the windows.
__device__ uint32 window_cost(const uint8* base, int base_pitch, const uint8* other, int other_pitch) {
  uint32 sum = 0;
  for (int j = 0; j < WINDOW; ++j)
    for (int i = 0; i < WINDOW; ++i) sum += abs(base[j * base_pitch + i] - other[j * other_pitch + i]);
  return sum;
}

__device__ Key key_at(const CudaSearch& search, int shift, uint32 cost) {
  return make_key(cost, search.label_offset + search.label_step * shift);
}

// The first byte of a pixel's window.
__device__ const uint8* window_at(const void* image, int x, int y) {
  return static_cast<const uint8*>(image) + static_cast<int64>(y - radius) * PITCH + x - radius;
}

__device__ Key* best_at(const CudaSearch& search, int x, int y) {
  return static_cast<Key*>(search.best) + static_cast<int64>(y) * BEST_STRIDE + x;
}

}  // namespace

#if !DEVICE_LAUNCH

#if BASE_IN_CONSTANT_MEMORY
extern "C" {
// Rows of the base image, laid out as in memory, from the first window of a band on.
__constant__ uint8 base_band[BAND_ROWS * PITCH];
}
#endif

// The window of a pixel in row `band_row` of the band.
__device__ const uint8* base_window(const CudaSearch& search, int x, int y, int band_row) {
#if BASE_IN_CONSTANT_MEMORY
  return base_band + band_row * PITCH + search.frame.before - radius + x;
#else
  return window_at(search.base, x, y);
#endif
}

// The other image is in global memory. Bands of rows: grid.x = rows from `first_row` on, grid.y = blocks of a
// row.
PARALLAX_KERNEL find_in_global_memory(CudaSearch search, int first_row) {
  wait_for_previous();
  const int x = blockIdx.y * block_columns + threadIdx.x, y = first_row + blockIdx.x;
  if (x >= search.frame.width) return;
  const uint8* base = base_window(search, x, y, blockIdx.x);
  const Range range = range_of(search, x);
  Key best = no_key;
  for (int shift = range.first; shift <= range.last; ++shift) {
    const uint32 cost = window_cost(base, PITCH, window_at(search.other, x - shift, y), PITCH);
    best = min(best, key_at(search, shift, cost));
  }
  *best_at(search, x, y) = best;
}

// The other image is in shared memory, and so is the base image, unless that is in constant memory. The same
// grid.
PARALLAX_KERNEL find_in_shared_memory(CudaSearch search, int first_row) {
  // Shifts whose columns are in shared memory at once.
  constexpr int chunk = 128;
  constexpr int base_columns = block_columns + WINDOW - 1, other_columns = base_columns + chunk - 1;
  __shared__ uint8 other[WINDOW][other_columns];
  wait_for_previous();
  const int first = blockIdx.y * block_columns, x = first + threadIdx.x, y = first_row + blockIdx.x;
  const auto inside = [&](int column) { return min(max(column, 0), search.frame.width + 2 * radius - 1); };
#if BASE_IN_CONSTANT_MEMORY
  constexpr int base_pitch = PITCH;
  const uint8* base = base_window(search, min(x, search.frame.width - 1), y, blockIdx.x);
#else
  constexpr int base_pitch = base_columns;
  __shared__ uint8 base_rows[WINDOW][base_columns];
  for (int j = 0; j < WINDOW; ++j)
    for (int i = threadIdx.x; i < base_columns; i += block_columns)
      base_rows[j][i] = *window_at(search.base, inside(first + i), y + j);
  const uint8* base = base_rows[0] + threadIdx.x;
#endif
  const Range range = range_of(search, x);
  const int lowest = range_of(search, first).first,
            highest = min(search.last_shift, first + block_columns - 1);
  Key best = no_key;
  for (int begin = lowest; begin <= highest; begin += chunk) {
    // The first column of the window of the first pixel at the last of these shifts.
    const int first_other = first - (begin + chunk - 1);
    __syncthreads();
    for (int j = 0; j < WINDOW; ++j)
      for (int i = threadIdx.x; i < other_columns; i += block_columns)
        other[j][i] = *window_at(search.other, inside(first_other + i), y + j);
    __syncthreads();
    for (int shift = max(begin, range.first); shift <= min(begin + chunk - 1, range.last); ++shift) {
      const uint32 cost = window_cost(base, base_pitch, other[0] + (x - shift - first_other), other_columns);
      best = min(best, key_at(search, shift, cost));
    }
  }
  if (x < search.frame.width) *best_at(search, x, y) = best;
}

#else

__device__ Key key_of_pixel(const CudaSearch& search, int shift, int x, int y) {
  const uint32 cost =
      window_cost(window_at(search.base, x, y), PITCH, window_at(search.other, x - shift, y), PITCH);
  return key_at(search, shift, cost);
}

// One block per pixel, one thread per label: finds the least of their keys. grid.x = columns, grid.y = rows.
PARALLAX_KERNEL find_at_pixel(CudaSearch search, int first_row) {
  __shared__ Key keys[block_columns];
  const int x = blockIdx.x, y = first_row + blockIdx.y, thread = threadIdx.x;
  const Range range = range_of(search, x);
  Key best = no_key;
#if SERIAL_MINIMUM
  // One thread compares the keys of all threads.
  for (int begin = range.first; begin <= range.last; begin += block_columns) {
    const int shift = begin + thread;
    keys[thread] = shift <= range.last ? key_of_pixel(search, shift, x, y) : no_key;
    __syncthreads();
    if (thread == 0)
      for (int i = 0; i < block_columns; ++i) best = min(best, keys[i]);
    __syncthreads();
  }
#else
  for (int shift = range.first + thread; shift <= range.last; shift += block_columns)
    best = min(best, key_of_pixel(search, shift, x, y));
  keys[thread] = best;
  for (int step = block_columns / 2; step > 0; step /= 2) {
    __syncthreads();
    if (thread < step) keys[thread] = min(keys[thread], keys[thread + step]);
  }
  best = keys[0];
#endif
  if (thread == 0) *best_at(search, x, y) = best;
}

// Each thread launches the blocks of `rows` rows.
PARALLAX_KERNEL launch_pixels(CudaSearch search, int rows) {
  wait_for_previous();
  const int y = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) * rows;
  if (y >= search.frame.height) return;
  const dim3 grid(search.frame.width, min(rows, search.frame.height - y));
  // clang-format off
  find_at_pixel<<<grid, block_columns>>>(search, y);
  // clang-format on
}

#endif
