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
// The distance between the sums of neighbours, which puts them in different banks.
constexpr int pitch = padded_labels + 2;

__device__ __forceinline__ Costs add_up_paths(const CudaVolumes& volumes, int64 pixel) {
  Costs sum = {};
#pragma unroll
  for (int path = 0; path < PATHS; ++path) {
    const Costs costs = unpack(load_lane(volumes.paths + path * volumes.words, pixel));
#pragma unroll
    for (int k = 0; k < half_labels; ++k) sum.of[k] += costs.of[k];
  }
  return sum;
}

// The lowest sum, with its label in the lower half: ties go to the lowest label.
__device__ __forceinline__ uint32 find_best(const Costs& sums) {
  uint32 best = none << 16;
  for_each_label(sums, [&](int k, uint32 sum) {
    if (!beyond_labels(k)) best = min(best, sum << 16 | k);
  });
  return min_over_lanes(best + lane_of_pixel() * PER_LANE);
}

// The lowest sum of labels more than one away from `label`.
__device__ __forceinline__ uint32 find_rival(const Costs& sums, int label) {
  const int first = lane_of_pixel() * PER_LANE;
  uint32 rival = none;
  for_each_label(sums, [&](int k, uint32 sum) {
    if (abs(first + k - label) > 1 && !beyond_labels(k)) rival = min(rival, sum);
  });
  return min_over_lanes(rival);
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

}  // namespace

// grid.x = rows, grid.y = blocks of a row.
PARALLAX_KERNEL __launch_bounds__(BLOCK)
    decide(CudaVolumes volumes, CudaDecision to, CudaRight right, int wants_rival, int uniqueness) {
  __shared__ __align__(16) uint16 sums_of_block[SEGMENT][pitch];
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
    uint16* const kept = segment.sums[shown];
    if (p < segment.pixels) keep(sums, status, kept);
    __syncwarp();
    const uint32 best = find_best(sums);
    const int label = static_cast<int>(best & 0xFFFF);
    uint32 rival = none;
    if (wants_rival) rival = find_rival(sums, label);
    if (lane_of_pixel() != 0 || p >= segment.pixels) continue;
    const Beliefs found{label, static_cast<float>(kept[max(label - 1, 0)]), static_cast<float>(best >> 16),
                        static_cast<float>(kept[label + 1]), rival == none ? no_value : static_cast<float>(rival)};
    write_decision<SUB_PIXEL>(to, x, y, width, LABELS, status, found);
    if (uniqueness > 0 && status == matched && is_ambiguous(found, uniqueness)) {
      to.disparity[static_cast<int64>(y) * to.stride + x] = no_value;
      to.status[static_cast<int64>(y) * to.status_stride + x] = ambiguous;
    }
    if (WINNERS && right.lowest != nullptr && status == matched)
      offer(right, x - to.min_disparity - label, y, width, best);
  }
  if (WINNERS || right.lowest == nullptr) return;
  __syncthreads();
  offer_sums(right, segment, width, to.min_disparity);
}

// The right map, from the best offers; a masked pixel has none. One thread per pixel, grid as above.
PARALLAX_KERNEL __launch_bounds__(BLOCK) write_right(CudaRight right, CudaRightMap to) {
  wait_for_previous();
  const int x = blockIdx.y * BLOCK + threadIdx.x, y = blockIdx.x;
  if (x >= to.width) return;
  const uint32 best = right.lowest[static_cast<int64>(y) * to.width + x];
  const bool is_valid = (to.validity[static_cast<int64>(y) * to.validity_words + x / 32] >> x % 32 & 1) != 0;
  to.disparity[static_cast<int64>(y) * to.stride + x] =
      best == ~0u || !is_valid ? no_value
                               : static_cast<float>(to.min_disparity + static_cast<int>(best & 0xFFFF));
}
