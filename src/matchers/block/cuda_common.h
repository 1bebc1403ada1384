// SPDX-License-Identifier: Apache-2.0
// Functions that the search over bytes and the decision share.
//
// Specialised by WINDOW, COST (a BlockCost), PITCH of the extended images, BEST_STRIDE (row stride of the
// keys), KEY_BITS (32, 64) of a key, LABEL_BITS of a key's label.
#pragma once

#include "devices/cuda/kernel.h"
#include "matchers/block/cuda_types.h"

namespace parallax::block {

// Values of BlockCost.
constexpr int sad = 0, ssd = 1, zncc = 2;

constexpr int radius = WINDOW / 2;
constexpr int window_pixels = WINDOW * WINDOW;

// A cost and its label: the lowest key has the lowest cost; ties go to the lowest label.
#if KEY_BITS == 32
using Key = uint32;
#else
using Key = uint64;
#endif
constexpr Key no_key = ~Key{0};

__device__ __forceinline__ Key make_key(uint32 cost, uint32 label) {
  return static_cast<Key>(cost) << LABEL_BITS | label;
}

__device__ __forceinline__ uint32 cost_of(Key key) {
  return static_cast<uint32>(key >> LABEL_BITS);
}

__device__ __forceinline__ int label_of(Key key) {
  return static_cast<int>(key & ((Key{1} << LABEL_BITS) - 1));
}

// A mask for the bytes [first, end) of a row in its word `index`.
__device__ constexpr uint32 bytes_between(int first, int end, int index) {
  uint32 mask = 0;
  for (int byte = 0; byte < 4; ++byte)
    if (4 * index + byte >= first && 4 * index + byte < end) mask |= 0xFFu << 8 * byte;
  return mask;
}

// Adds the costs (for ZNCC, the products) of the pixels in `mask`, out of four. `scale`: scale of SAD.
__device__ __forceinline__ uint32 add_costs(uint32 left, uint32 right, uint32 mask, uint32 sum,
                                            uint32 scale = 1) {
  if constexpr (COST == zncc) return __dp4a(left & mask, right, sum);
  const uint32 difference = __vabsdiffu4(left, right);
  return __dp4a(difference, (COST == sad ? 0x01010101u * scale : difference) & mask, sum);
}

// The same for all four pixels. For SAD, this is one instruction on most architectures.
__device__ __forceinline__ uint32 add_all_costs(uint32 left, uint32 right, uint32 sum) {
#if !defined(PARALLAX_EMULATED) && __CUDA_ARCH__ < 1200
  if constexpr (COST == sad) {
    uint32 result;
    asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(result) : "r"(left), "r"(right), "r"(sum));
    return result;
  }
#endif
  return add_costs(left, right, ~0u, sum);
}

// The index of a pixel's statistics. Columns are interleaved by four, so that neighbouring threads, whose
// columns are four apart, read contiguous memory.
__device__ __forceinline__ int64 statistics_at(int stride, int x, int y) {
  const int column = x + statistics_margin;
  return static_cast<int64>(y) * stride + (column & 3) * (stride >> 2) + (column >> 2);
}

// The cost from ΣLR and both windows' statistics.
__device__ __forceinline__ uint32 zncc_cost(uint32 products, const CudaStatistics& left,
                                            const CudaStatistics& right) {
  constexpr double unit = 1 << 20;
  // Exact, because the integers are below 2⁵³.
  const double covariance = static_cast<double>(window_pixels) * products - left.sum * right.sum;
  const double correlation = covariance * left.scale * right.scale;
  // Rounding can raise it to at most 1 + 2⁻⁵⁰, which costs the same as 1.
  return __double2uint_rd((1.0 - correlation) * unit + 0.5);
}

}  // namespace parallax::block
