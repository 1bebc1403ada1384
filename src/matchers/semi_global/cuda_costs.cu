// SPDX-License-Identifier: Apache-2.0
// Semi-global matching on CUDA: the data costs of all pixels, and their sums over windows.
//
// Specialised by TABLE (1 = differences are integer gray levels or bits), TABLE_SIZE, PER_DIFFERENCE (the
// cost of one of these if costs are proportional to them; else 0), HAS_OUTSIDE (a cost), WINDOW (its side),
// BLOCK (threads); and by the macros of data_cost/cuda_costs.h and cuda_common.h.
#include "data_cost/cuda_costs.h"
#include "matchers/semi_global/cuda_common.h"
#include "decision/cuda_decision.h"

using namespace parallax::semi_global;
using namespace parallax::data_cost;
namespace refine = parallax::refine;

namespace {

// A thread computes the costs of its labels for neighbours in a row, which reach mostly the same right
// pixels: the span of columns `first_right`, first_right + 1, …
constexpr int pixels = 4;
constexpr int span = PER_LANE + pixels - 1;
static_assert(span <= 64);

// The index in the span of label k of pixel p.
__device__ __forceinline__ constexpr int in_span(int p, int k) {
  return p + PER_LANE - 1 - k;
}

struct Place {
  int x, y, first_right;  // x of pixel 0
};

// Calls action(p, k, difference) for each pixel and label.
template <class Value, class Distance, class Action>
__device__ __forceinline__ void for_each_in_span(const CudaSamples& samples, const Place& at,
                                                 const Value* left, const Value* right,
                                                 const Distance& distance, const Action& action) {
  const Value *left_row = row_of(left, samples, at.y), *right_row = row_of(right, samples, at.y);
  Value reached[span];
#pragma unroll
  for (int i = 0; i < span; ++i) reached[i] = right_row[column_inside(at.first_right + i, samples.width)];
#pragma unroll
  for (int p = 0; p < pixels; ++p) {
    const Value here = left_row[column_inside(at.x + p, samples.width)];
#pragma unroll
    for (int k = 0; k < PER_LANE; ++k) action(p, k, distance(here, reached[in_span(p, k)]));
  }
}

template <class Action>
__device__ __forceinline__ void for_each_difference(const CudaCosts& costs, const Place& at,
                                                    const Action& action) {
  const CudaSamples& samples = costs.samples;
  if constexpr (COST == census_distance) {
    for_each_in_span(
        samples, at, static_cast<const uint64*>(costs.left_features),
        static_cast<const uint64*>(costs.right_features),
        [](uint64 l, uint64 r) { return __popcll(l ^ r) * 256; }, action);
  } else if constexpr (COST == census_of_opposites) {
    for_each_in_span(
        samples, at, static_cast<const uint32*>(costs.left_features),
        static_cast<const uint32*>(costs.right_features),
        [](uint32 l, uint32 r) { return __popc(l ^ r) * 256; }, action);
  } else if constexpr (COST == absolute_difference) {
    for_each_in_span(
        samples, at, samples.left, samples.right, [](int l, int r) { return abs(l - r); }, action);
  } else {
#pragma unroll
    for (int p = 0; p < pixels; ++p) {
#pragma unroll
      for (int k = 0; k < PER_LANE; ++k)
        action(p, k,
               difference(costs, at.y, column_inside(at.x + p, samples.width),
                          column_inside(at.first_right + in_span(p, k), samples.width)));
    }
  }
}

__device__ __forceinline__ uint32 units(float cost) {
  return static_cast<uint32>(fmaxf(cost, 0.0f));
}

// Calls action(p, k, cost) for each pixel and label, without regard to the right pixel's validity.
template <class Action>
__device__ __forceinline__ void for_each_cost(const CudaCosts& costs, const Place& at, const uint32* table,
                                              const Action& action) {
  if constexpr (COST == volume) {
    const int width = costs.samples.width;
#pragma unroll
    for (int p = 0; p < pixels; ++p) {
#pragma unroll
      for (int k = 0; k < PER_LANE; ++k) {
        const int x = costs.mirrored ? width - 1 - (at.first_right + in_span(p, k)) : at.x + p;
        const int label = min(lane_of_pixel() * PER_LANE + k, LABELS - 1);
        action(p, k, units(floorf(volume_cost(costs, at.y, column_inside(x, width), label, LABELS) + 0.5f)));
      }
    }
  } else {
    for_each_difference(costs, at, [&](int p, int k, int difference) {
      if constexpr (PER_DIFFERENCE > 0)
        action(p, k, static_cast<uint32>(difference / 256) * PER_DIFFERENCE);
      else if constexpr (TABLE)
        action(p, k, table[difference / 256]);
      else
        action(
            p, k,
            units(floorf(static_cast<float>(min(difference, costs.differences)) * costs.cost_scale + 0.5f)));
    });
  }
}

// Which pixels have a label whose right pixel exists, and which have one whose right pixel does not.
struct Existence {
  uint32 some, some_not;
  __device__ __forceinline__ bool any(int p) const { return (some >> p & 1) != 0; }
  __device__ __forceinline__ bool all(int p) const { return (some_not >> p & 1) == 0; }
};

__device__ __forceinline__ Existence existence(uint64 right_valid) {
  constexpr int apart = 16;
  const int labels = min(max(LABELS - lane_of_pixel() * PER_LANE, 0), PER_LANE);
  const uint64 of_pixel_0 = ((1ull << labels) - 1) << (PER_LANE - labels);
  uint32 flags = 0;
#pragma unroll
  for (int p = 0; p < pixels; ++p) {
    const uint64 wanted = of_pixel_0 << p, found = right_valid & wanted;
    if (found != 0) flags |= 1u << p;
    if (found != wanted) flags |= 1u << (apart + p);
  }
  flags = over_lanes(flags, [](uint32 a, uint32 b) { return a | b; });
  return {flags & 0xFFFF, flags >> apart};
}

}  // namespace

// Computes the data costs of pixels, and their initial status. grid.x = rows, grid.y = blocks of a row.
PARALLAX_KERNEL __launch_bounds__(BLOCK)
    find_costs(CudaCosts costs, uint32* volume_of_costs, CudaRight right) {
  __shared__ uint32 table[TABLE_SIZE];
  wait_for_previous();
  if constexpr (TABLE && PER_DIFFERENCE == 0) {
    for (int i = threadIdx.x; i < TABLE_SIZE; i += BLOCK) table[i] = units(costs.table[i]);
    __syncthreads();
  }
  const uint32 outside = units(costs.outside);
  const int width = costs.samples.width, lane = lane_of_pixel();
  Place at;
  at.x = static_cast<int>((blockIdx.y * BLOCK + threadIdx.x) / LANES) * pixels;
  at.y = blockIdx.x;
  at.first_right = at.x - costs.min_disparity - lane * PER_LANE - (PER_LANE - 1);
  const int words = costs.validity.words;
  const uint64 left_valid = valid_bits(costs.validity.left, words, at.y, at.x);
  // A volume's labels correspond to no right pixels.
  const bool everywhere = COST == volume && !costs.mirrored;
  const uint64 right_valid =
      everywhere ? ~0ull : valid_bits(costs.validity.right, words, at.y, at.first_right);
  const Existence exists = existence(right_valid);

  constexpr uint32 padding = WINDOW == 1 ? PAD : 0, all_pixels = (1u << pixels) - 1;
  Packed packed[pixels] = {};
  const auto put = [&](int p, int k, uint32 cost) {
    packed[p].of[word_of(k)] += (beyond_labels(k) ? padding : cost) << shift_of(k);
  };
  // False at the borders and near masked pixels.
  const bool all_exist = (left_valid & all_pixels) == all_pixels && exists.some_not == 0;
  if (__all_sync(all_lanes, all_exist)) {
    for_each_cost(costs, at, table, put);
  } else {
    for_each_cost(costs, at, table, [&](int p, int k, uint32 cost) {
      const bool has_data = (left_valid >> p & 1) != 0 && (HAS_OUTSIDE || exists.all(p));
      const bool right_exists = (right_valid >> in_span(p, k) & 1) != 0;
      put(p, k, !has_data ? 0 : right_exists ? cost : outside);
    });
  }
#pragma unroll
  for (int p = 0; p < pixels; ++p) {
    const int x = at.x + p;
    if (x >= width) return;
    const int64 pixel = static_cast<int64>(at.y) * width + x;
    store_lane(packed[p], volume_of_costs, pixel);
    if (lane != p % LANES) continue;
    costs.status[static_cast<int64>(at.y) * costs.samples.stride + x] =
        (left_valid >> p & 1) == 0 ? refine::input_masked
        : exists.any(p)            ? refine::matched
                                   : refine::out_of_range;
    if (right.lowest != nullptr) right.lowest[pixel] = ~0u;
  }
}

// Sums over a window, first along rows (step_x = 1), then along columns. LANES threads per pixel; grid as
// above.
PARALLAX_KERNEL __launch_bounds__(BLOCK)
    add_window(const uint32* from, uint32* to, int width, int height, int step_x, int step_y) {
  constexpr int reach = WINDOW / 2;
  wait_for_previous();
  const int x = (blockIdx.y * BLOCK + threadIdx.x) / LANES, y = blockIdx.x;
  if (x >= width) return;
  Costs sum = {};
  for (int i = -reach; i <= reach; ++i) {
    const int u = column_inside(x + i * step_x, width), v = column_inside(y + i * step_y, height);
    const Costs costs = unpack(load_lane(from, static_cast<int64>(v) * width + u));
#pragma unroll
    for (int k = 0; k < half_labels; ++k) sum.of[k] += costs.of[k];
  }
  if (step_y != 0) set_padding(sum, PAD);
  store_lane(pack(sum), to, static_cast<int64>(y) * width + x);
}
