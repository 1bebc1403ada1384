// SPDX-License-Identifier: Apache-2.0
// Block matching on CUDA: makes the disparity map from the best labels of images of bytes.
//
// Specialised by TEXTURE (whether there is a texture check), UNIQUENESS, SUB_PIXEL; and by the macros of
// cuda_common.h.
#include "decision/cuda_costs.h"
#include "decision/cuda_values.h"
#include "matchers/block/cuda_common.h"

using namespace parallax::block;
using namespace parallax::decision;

namespace {

__device__ bool is_valid(const CudaValidity& validity, int side, int x, int y) {
  return validity.of[side][static_cast<int64>(y) * validity.stride + x] != 0;
}

// Bytes of a row, in words. Contents beyond the bytes are ignored.
template <int bytes>
struct Bytes {
  static constexpr int words = (bytes + 3) / 4;
  uint32 of[words + 1];
};

// `row`: the word that contains the first byte, which may be at any position in the word.
template <int bytes>
__device__ __forceinline__ Bytes<bytes> load_bytes(const uint8* row, int x) {
  constexpr int read = (bytes + 3 + 3) / 4, words = Bytes<bytes>::words;
  const uint32* from = reinterpret_cast<const uint32*>(row);
  Bytes<bytes> result;
  uint32 word = from[0];
#pragma unroll
  for (int j = 0; j < words; ++j) {
    const uint32 next = j + 1 < read ? from[j + 1] : 0;
    result.of[j] = __funnelshift_r(word, next, 8 * (x & 3));
    word = next;
  }
  result.of[words] = 0;
  return result;
}

// The word that contains the first byte of the window of (x, y).
__device__ __forceinline__ const uint8* window_at(const void* image, int x, int y) {
  return static_cast<const uint8*>(image) + static_cast<int64>(y - radius) * PITCH + (x & ~3) - radius;
}

// Adds the costs of a word of a window's row.
__device__ __forceinline__ uint32 add_bytes(int word, uint32 left, uint32 right, uint32 sum) {
  const uint32 mask = bytes_between(0, WINDOW, word);
  return mask == ~0u ? add_all_costs(left, right, sum) : add_costs(left, right, mask, sum);
}

// Sums over the windows one label lower and one label higher: sums of costs or, for ZNCC, of products.
struct Neighbours {
  uint32 before, after;
};

__device__ Neighbours sums_beside(const CudaDecision& decision, int x, int y, int disparity) {
  Neighbours sum{};
  const int column = x - disparity - 1;
  const uint8 *from_left = window_at(decision.left, x, y), *from_right = window_at(decision.right, column, y);
#pragma unroll
  for (int j = 0; j < WINDOW; ++j) {
    const Bytes<WINDOW> left = load_bytes<WINDOW>(from_left + j * PITCH, x);
    // The window at disparity − 1 begins two bytes behind the window at disparity + 1.
    const Bytes<WINDOW + 2> right = load_bytes<WINDOW + 2>(from_right + j * PITCH, column);
#pragma unroll
    for (int i = 0; i < left.words; ++i) {
      const uint32 behind = __funnelshift_r(right.of[i], right.of[i + 1], 16);
      sum.after = add_bytes(i, left.of[i], right.of[i], sum.after);
      sum.before = add_bytes(i, left.of[i], behind, sum.before);
    }
  }
  return sum;
}

__device__ uint32 cost_of_sum(const CudaDecision& decision, uint32 sum, int x, int y, int disparity) {
  if constexpr (COST == zncc) {
    const int stride = decision.statistics_stride;
    return zncc_cost(sum, decision.left_statistics[statistics_at(stride, x, y)],
                     decision.right_statistics[statistics_at(stride, x - disparity, y)]);
  }
  return sum;
}

// Whether left (x, y), which is not masked, may match at this disparity.
__device__ bool is_candidate(const CudaDecision& decision, int x, int y, int disparity) {
  const int right = x - disparity;
  return right >= 0 && right < decision.frame.width && is_valid(decision.validity, 1, right, y);
}

__device__ float refined(const CudaDecision& decision, int x, int y, Key best) {
  const int label = label_of(best), disparity = decision.lowest + label;
  const bool inside = label > 0 && label + 1 < decision.labels &&
                      is_candidate(decision, x, y, disparity - 1) &&
                      is_candidate(decision, x, y, disparity + 1);
  if (SUB_PIXEL == 0 || !inside) return static_cast<float>(disparity);
  const Neighbours sums = sums_beside(decision, x, y, disparity);
  const int64 before = cost_of_sum(decision, sums.before, x, y, disparity - 1);
  const int64 after = cost_of_sum(decision, sums.after, x, y, disparity + 1);
  const int64 middle = cost_of(best);
  return static_cast<float>(disparity) + sub_pixel_offset<SUB_PIXEL>(before, middle, after);
}

__device__ bool is_textureless(const CudaDecision& decision, int x, int y) {
  const uint32 flat = 0x01010101u * decision.cap;
  uint32 sum = 0;
  const uint8* from = window_at(decision.responses, x, y);
#pragma unroll
  for (int j = 0; j < WINDOW; ++j) {
    const Bytes<WINDOW> row = load_bytes<WINDOW>(from + j * PITCH, x);
#pragma unroll
    for (int i = 0; i < row.words; ++i)
      sum = __dp4a(__vabsdiffu4(row.of[i], flat), 0x01010101u & bytes_between(0, WINDOW, i), sum);
  }
  return sum < decision.texture_threshold;
}

// Reads the rival and resets it for the next run.
__device__ Key take_rival(const CudaDecision& decision, int x, int y) {
  if (decision.found.rivals == nullptr) return no_key;
  Key& at = static_cast<Key*>(decision.found.rivals)[static_cast<int64>(y) * BEST_STRIDE + x];
  const Key rival = at;
  at = no_key;
  return rival;
}

__device__ bool is_ambiguous(Key best, Key rival) {
  if (UNIQUENESS == 0 || rival == no_key) return false;
  const uint32 cost = cost_of(best);
  return cost_of(rival) <= cost + static_cast<uint32>(static_cast<uint64>(cost) * UNIQUENESS / 100);
}

__device__ uint8 status_of(const CudaDecision& decision, int x, int y, Key best, Key rival) {
  if (!is_valid(decision.validity, 0, x, y)) return input_masked;
  if (best == no_key) return out_of_range;
  if (TEXTURE && is_textureless(decision, x, y)) return textureless;
  if (is_ambiguous(best, rival)) return ambiguous;
  return matched;
}

}  // namespace

// One thread per pixel: grid.x = rows, grid.y = blocks of a row, grid.z = the left map, and the right map if
// wanted.
PARALLAX_KERNEL decide(const __grid_constant__ CudaDecision decision) {
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x, y = blockIdx.x;
  if (x >= decision.frame.width) return;
  const Key best =
      static_cast<const Key*>(decision.found.best[blockIdx.z])[static_cast<int64>(y) * BEST_STRIDE + x];
  if (blockIdx.z == 1) {
    const int disparity = decision.lowest + label_of(best);
    decision.right_disparity[static_cast<int64>(y) * decision.right_stride + x] =
        best == no_key || !is_valid(decision.validity, 1, x, y) ? no_value : static_cast<float>(disparity);
    return;
  }
  const Key rival = take_rival(decision, x, y);
  const uint8 status = status_of(decision, x, y, best, rival);
  decision.status[static_cast<int64>(y) * decision.status_stride + x] = status;
  decision.disparity[static_cast<int64>(y) * decision.stride + x] =
      status == matched ? refined(decision, x, y, best) : no_value;
  if (decision.confidence != nullptr)
    decision.confidence[static_cast<int64>(y) * decision.confidence_stride + x] =
        status == input_masked || status == out_of_range
            ? 0.0f
            : confidence<int64>(cost_of(best), rival != no_key, cost_of(rival));
}
