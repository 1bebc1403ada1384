// SPDX-License-Identifier: Apache-2.0
// Semi-global matching on CUDA: from path costs to disparities.
//
// A block adds up the path costs of neighbours in a row, decides, and offers their sums, or only the decided
// ones, to the right pixels that labels lead to.
//
// Specialised by PATHS, SEGMENT (pixels of a block), WINNERS (1 = only the left pixels' decisions are
// offered), SUB_PIXEL, BLOCK (threads); and by the macros of cuda_common.h.
#include "matchers/semi_global/cuda_common.h"
#include "decision/cuda_decision.h"

using namespace parallax::semi_global;
using namespace parallax::decision;
namespace cuda = parallax::cuda;

namespace {

constexpr uint32 none = 0xFFFF;  // higher than all sums
constexpr uint32 highest_sum = PATHS * PAD;
// The distance between the sums of neighbours, which puts them in different banks.
constexpr int pitch = padded_labels + 2;

__device__ __forceinline__ Costs add_up_paths(const CudaVolumes& volumes, int64 pixel) {
  Costs sum = {};
#pragma unroll
  for (int path = 0; path < PATHS; ++path) {
    const Costs costs = unpack(load_lane<cuda::Streaming>(volumes.paths + path * volumes.words, pixel));
#pragma unroll
    for (int k = 0; k < half_labels; ++k) sum.of[k] += costs.of[k];
  }
  return sum;
}

// The lowest sum, with its label in the lower half: ties go to the lowest label.
__device__ __forceinline__ uint32 find_best(const Costs& sums) {
  uint32 best = none << 16;
#pragma unroll
  for (int k = 0; k < half_labels; ++k) {
    const uint32 low = sums.of[k] << 16 | k, high = (sums.of[k] & 0xFFFF0000u) | (k + half_labels);
    best = __vimin3_u32(best, beyond_labels(k) ? best : low, beyond_labels(k + half_labels) ? best : high);
  }
  return min_over_lanes(best + lane_of_pixel() * PER_LANE);
}

// A bit for each of a lane's labels that is padding, or at most one away from `label`: bit k of the lower half
// for label k, of the upper half for label k + half_labels.
__device__ __forceinline__ uint32 find_near(int label) {
  const int first = lane_of_pixel() * PER_LANE, away = label - first;
  uint64 near = away >= -1 && away <= PER_LANE ? (7ull << (away + 1)) >> 2 : 0;
  if (first + PER_LANE > LABELS) near |= ~0ull << max(LABELS - first, 0);
  constexpr uint32 half = (1u << half_labels) - 1;
  return (static_cast<uint32>(near) & half) | (static_cast<uint32>(near >> half_labels) & half) << 16;
}

// Word k of sums; those of labels whose bits are set are higher than all others.
__device__ __forceinline__ uint32 without(uint32 labels, const Costs& sums, int k) {
  if constexpr (highest_sum < 0x8000) return sums.of[k] | (labels << (15 - k) & both(0x8000));
  return sums.of[k] | (labels >> k & both(1)) * none;
}

// The lowest sum of labels more than one away from `label`.
__device__ __forceinline__ uint32 find_rival(const Costs& sums, int label) {
  const uint32 near = find_near(label);
  uint32 rival = both(none);
#pragma unroll
  for (int k = 0; k < half_labels; k += 2)
    rival = __vimin3_u16x2(rival, without(near, sums, k), without(near, sums, k + 1));
  rival = min_over_lanes(min(rival & 0xFFFF, rival >> 16));
  return rival > highest_sum ? none : rival;
}

__device__ __forceinline__ bool is_ambiguous(const Beliefs& sums, int uniqueness) {
  return sums.rival < no_value && sums.rival * static_cast<float>(100 - uniqueness) < sums.best * 100.0f;
}

// A row of sums of a block.
struct Segment {
  uint16 (*sums)[pitch];
  int first_x, pixels, y;
};

// A pixel without a decision offers no sums.
__device__ __forceinline__ void keep(const Costs& sums, uint8 status, uint16* of_pixel) {
  const auto keep_two = [&](int label, uint32 kept) {
    *reinterpret_cast<uint32*>(of_pixel + lane_of_pixel() * PER_LANE + label) =
        status == matched ? kept : both(none);
  };
#pragma unroll
  for (int k = 0; k < half_labels; k += 2) {
    keep_two(k, __byte_perm(sums.of[k], sums.of[k + 1], 0x5410));
    keep_two(k + half_labels, __byte_perm(sums.of[k], sums.of[k + 1], 0x7632));
  }
}

// Offers a sum and its label to a right pixel.
__device__ __forceinline__ void offer(const CudaRight& right, int right_x, int y, int width, uint32 offered) {
  if (right_x >= 0 && right_x < width)
    atomicMin(right.lowest + static_cast<int64>(y) * width + right_x, offered);
}

// The sums of the block that lead to the same right pixel lie on a diagonal.
__device__ __forceinline__ void offer_sums(const CudaRight& right, const Segment& segment, int width,
                                           int min_disparity) {
  const int first_right = segment.first_x - min_disparity - (LABELS - 1);
  for (int i = threadIdx.x; i < segment.pixels + LABELS - 1; i += BLOCK) {
    const int first = max(0, i - (LABELS - 1)), end = min(segment.pixels, i + 1);
    const uint16* sum = &segment.sums[first][first + LABELS - 1 - i];
    uint32 best = ~0u;
#pragma unroll 8
    for (int p = 0; p < end - first; ++p)
      best = min(best, static_cast<uint32>(sum[p * (pitch + 1)]) << 16 | p);
    if (best < none << 16) offer(right, first_right + i, segment.y, width, best + (first + LABELS - 1 - i));
  }
}

// The lowest sum of a pixel, with its label, and the lowest of other labels.
struct Found {
  uint32 best, rival;
};

__device__ __forceinline__ void write_pixel(const CudaDecision& to, const CudaRight& right,
                                            const Segment& segment, int p, const Found& found, int width,
                                            int uniqueness) {
  const int x = segment.first_x + p, y = segment.y, label = static_cast<int>(found.best & 0xFFFF);
  const uint8 status = to.from_start[static_cast<int64>(y) * to.from_start_stride + x];
  const uint16* const kept = segment.sums[p];
  const Beliefs beliefs{label, static_cast<float>(kept[max(label - 1, 0)]),
                        static_cast<float>(found.best >> 16), static_cast<float>(kept[label + 1]),
                        found.rival == none ? no_value : static_cast<float>(found.rival)};
  write_decision<SUB_PIXEL>(to, x, y, width, LABELS, status, beliefs);
  if (uniqueness > 0 && status == matched && is_ambiguous(beliefs, uniqueness)) {
    to.disparity[static_cast<int64>(y) * to.stride + x] = no_value;
    to.status[static_cast<int64>(y) * to.status_stride + x] = ambiguous;
  }
  if (WINNERS && right.lowest != nullptr && status == matched)
    offer(right, x - to.min_disparity - label, y, width, found.best);
}

}  // namespace

// grid.x = rows, grid.y = blocks of a row.
PARALLAX_KERNEL __launch_bounds__(BLOCK)
    decide(CudaVolumes volumes, CudaDecision to, CudaRight right, int wants_rival, int uniqueness) {
  __shared__ __align__(16) uint16 sums_of_block[SEGMENT][pitch];
  __shared__ Found found[SEGMENT];
  const int width = volumes.width;
  const Segment segment{sums_of_block, static_cast<int>(blockIdx.y) * SEGMENT,
                        min(SEGMENT, width - static_cast<int>(blockIdx.y) * SEGMENT),
                        static_cast<int>(blockIdx.x)};
  wait_for_previous();
  constexpr int at_once = BLOCK / LANES;
  for (int first = 0; first < segment.pixels; first += at_once) {
    const int p = first + static_cast<int>(threadIdx.x) / LANES, shown = min(p, segment.pixels - 1);
    const int x = segment.first_x + shown, y = segment.y;
    const Costs sums = add_up_paths(volumes, static_cast<int64>(y) * width + x);
    const uint8 status = to.from_start[static_cast<int64>(y) * to.from_start_stride + x];
    if (p < segment.pixels) keep(sums, status, segment.sums[shown]);
    const uint32 best = find_best(sums);
    uint32 rival = none;
    if (wants_rival) rival = find_rival(sums, static_cast<int>(best & 0xFFFF));
    if (lane_of_pixel() == 0) found[shown] = {best, rival};
  }
  __syncthreads();
  for (int p = threadIdx.x; p < segment.pixels; p += BLOCK)
    write_pixel(to, right, segment, p, found[p], width, uniqueness);
  if (!WINNERS && right.lowest != nullptr) offer_sums(right, segment, width, to.min_disparity);
}

// The right map, from the best offers; a masked pixel has none. grid.x = rows, grid.y = blocks of a row.
PARALLAX_KERNEL __launch_bounds__(BLOCK) write_right(CudaRight right, CudaRightMap to) {
  constexpr int pixels = 4;
  wait_for_previous();
  const int y = blockIdx.x, first_x = blockIdx.y * pixels * BLOCK + threadIdx.x;
  const uint32* const lowest = right.lowest + static_cast<int64>(y) * to.width;
  const uint32* const validity = to.validity + static_cast<int64>(y) * to.validity_words;
#pragma unroll
  for (int i = 0; i < pixels; ++i) {
    const int x = first_x + i * BLOCK;
    if (x >= to.width) return;
    const uint32 best = lowest[x];
    const bool is_valid = (validity[x / 32] >> x % 32 & 1) != 0;
    to.disparity[static_cast<int64>(y) * to.stride + x] =
        best == ~0u || !is_valid ? no_value
                                 : static_cast<float>(to.min_disparity + static_cast<int>(best & 0xFFFF));
  }
}
