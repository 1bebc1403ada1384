// SPDX-License-Identifier: Apache-2.0
// Block matching on CUDA for images of 16-bit values: written directly from block.h, like the reference.
//
// Specialised by WINDOW, COST (a BlockCost), UNIQUENESS, TEXTURE (whether there is a threshold), SUB_PIXEL.
#include "decision/cuda_costs.h"
#include "decision/cuda_values.h"
#include "devices/cuda/kernel.h"
#include "matchers/block/cuda_types.h"

using namespace parallax::block;
using namespace parallax::decision;

namespace {

constexpr int sad = 0, ssd = 1;
constexpr int radius = WINDOW / 2;
constexpr int64 window_pixels = WINDOW * WINDOW;

struct Best {
  int disparity;
  int64 cost;  // negative = no candidate
};

// Queries about one pair of images.
class Matching {
 public:
  __device__ explicit Matching(const CudaDecision& decision) : decision_(decision) {}

  __device__ bool is_valid(int side, int x, int y) const {
    if (x < 0 || x >= decision_.frame.width) return false;
    return decision_.validity.of[side][static_cast<int64>(y) * decision_.validity.stride + x] != 0;
  }

  // Whether left (x, y) may match right (x − d, y).
  __device__ bool is_candidate(int x, int y, int d) const {
    return is_valid(0, x, y) && is_valid(1, x - d, y);
  }

  // The candidate of the lowest cost, ties to the lowest; with `from_right`, for the right pixel (x, y).
  __device__ Best find_best(int x, int y, bool from_right) const {
    Best best{0, -1};
    for (int d = lowest(x, from_right); d <= highest(x, from_right); ++d) {
      const int left = from_right ? x + d : x;
      if (!is_candidate(left, y, d)) continue;
      const int64 c = cost(left, y, d);
      if (best.cost < 0 || c < best.cost) best = {d, c};
    }
    return best;
  }

  __device__ bool is_textureless(int x, int y) const {
    const uint16* responses = at(decision_.responses, x, y);
    return window_sum([&](int i, int j) -> int64 {
             return abs(responses[j * static_cast<int64>(decision_.frame.pitch) + i] - decision_.cap);
           }) < decision_.texture_threshold;
  }

  // The lowest cost of a label that is not next to the best; negative if there is none.
  __device__ int64 find_rival(int x, int y, const Best& best) const {
    int64 rival = -1;
    for (int d = lowest(x, false); d <= highest(x, false); ++d) {
      if (abs(d - best.disparity) <= 1 || !is_candidate(x, y, d)) continue;
      const int64 c = cost(x, y, d);
      if (rival < 0 || c < rival) rival = c;
    }
    return rival;
  }

  __device__ float refined(int x, int y, const Best& best) const {
    const int d = best.disparity;
    const bool inside = d > decision_.lowest && d + 1 < decision_.lowest + decision_.labels &&
                        is_candidate(x, y, d - 1) && is_candidate(x, y, d + 1);
    if (SUB_PIXEL == 0 || !inside) return static_cast<float>(d);
    const int64 before = cost(x, y, d - 1), after = cost(x, y, d + 1);
    return static_cast<float>(d) + sub_pixel_offset<SUB_PIXEL>(before, best.cost, after);
  }

 private:
  // Disparities of the search range that lead into the image.
  __device__ int lowest(int x, bool from_right) const {
    return max(decision_.lowest, from_right ? -x : x - (decision_.frame.width - 1));
  }
  __device__ int highest(int x, bool from_right) const {
    return min(decision_.lowest + decision_.labels - 1, from_right ? decision_.frame.width - 1 - x : x);
  }

  __device__ const uint16* at(const void* image, int x, int y) const {
    return static_cast<const uint16*>(image) + static_cast<int64>(y) * decision_.frame.pitch + x;
  }

  template <class Term>
  __device__ static int64 window_sum(const Term& term) {
    int64 sum = 0;
    for (int j = -radius; j <= radius; ++j)
      for (int i = -radius; i <= radius; ++i) sum += term(i, j);
    return sum;
  }

  __device__ static double inverse_root(int64 variance) {
    return variance > 0 ? 1.0 / sqrt(static_cast<double>(variance)) : 0.0;
  }

  __device__ int64 cost(int x, int y, int d) const {
    const uint16 *left = at(decision_.left, x, y), *right = at(decision_.right, x - d, y);
    const int pitch = decision_.frame.pitch;
    const auto l = [&](int i, int j) -> int64 { return left[j * static_cast<int64>(pitch) + i]; };
    const auto r = [&](int i, int j) -> int64 { return right[j * static_cast<int64>(pitch) + i]; };
    if constexpr (COST == sad) return window_sum([&](int i, int j) { return abs(l(i, j) - r(i, j)); });
    if constexpr (COST == ssd)
      return window_sum([&](int i, int j) { return (l(i, j) - r(i, j)) * (l(i, j) - r(i, j)); });
    int64 sum_l = 0, sum_r = 0, sum_ll = 0, sum_rr = 0, sum_lr = 0;
    for (int j = -radius; j <= radius; ++j)
      for (int i = -radius; i <= radius; ++i) {
        sum_l += l(i, j);
        sum_r += r(i, j);
        sum_ll += l(i, j) * l(i, j);
        sum_rr += r(i, j) * r(i, j);
        sum_lr += l(i, j) * r(i, j);
      }
    constexpr double unit = 1 << 20;
    const double correlation = static_cast<double>(window_pixels * sum_lr - sum_l * sum_r) *
                               inverse_root(window_pixels * sum_ll - sum_l * sum_l) *
                               inverse_root(window_pixels * sum_rr - sum_r * sum_r);
    return static_cast<int64>(floor((1.0 - fmin(fmax(correlation, -1.0), 1.0)) * unit + 0.5));
  }

  const CudaDecision& decision_;
};

__device__ uint8 status_of(const CudaDecision& decision, const Matching& matching, int x, int y,
                           const Best& best, int64 rival) {
  if (!matching.is_valid(0, x, y)) return input_masked;
  if (best.cost < 0) return out_of_range;
  if (TEXTURE && matching.is_textureless(x, y)) return textureless;
  if (UNIQUENESS > 0 && rival >= 0 && rival <= best.cost + best.cost * UNIQUENESS / 100) return ambiguous;
  return matched;
}

}  // namespace

// One thread per pixel: grid.x = rows, grid.y = blocks of a row, grid.z = the left map, and the right map if
// wanted.
PARALLAX_KERNEL match(CudaDecision decision) {
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x, y = blockIdx.x;
  if (x >= decision.frame.width) return;
  const Matching matching(decision);
  const Best best = matching.find_best(x, y, blockIdx.z == 1);
  if (blockIdx.z == 1) {
    decision.right_disparity[static_cast<int64>(y) * decision.right_stride + x] =
        best.cost < 0 ? no_value : static_cast<float>(best.disparity);
    return;
  }
  const bool tells_confidence = decision.confidence != nullptr;
  const bool has_best = best.cost >= 0 && matching.is_valid(0, x, y);
  const int64 rival = has_best && (UNIQUENESS > 0 || tells_confidence) ? matching.find_rival(x, y, best) : -1;
  const uint8 status = status_of(decision, matching, x, y, best, rival);
  decision.status[static_cast<int64>(y) * decision.status_stride + x] = status;
  decision.disparity[static_cast<int64>(y) * decision.stride + x] =
      status == matched ? matching.refined(x, y, best) : no_value;
  if (tells_confidence)
    decision.confidence[static_cast<int64>(y) * decision.confidence_stride + x] =
        has_best ? confidence(best.cost, rival >= 0, rival) : 0.0f;
}
