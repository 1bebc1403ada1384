// SPDX-License-Identifier: Apache-2.0
// Semi-global matching on CUDA: the data costs of all pixels, and their sums over windows.
//
// Specialised by TABLE (1 = differences are integer gray levels or bits), TABLE_SIZE, PER_DIFFERENCE (the
// cost of one of these if costs up to HIGHEST are proportional to them; else 0), HIGHEST (0 = differences are
// not truncated), HAS_OUTSIDE (a cost), PIXELS (of a thread), WINDOW (its
// side), BLOCK (threads); and by the macros of data_cost/cuda_costs.h and cuda_common.h.
#include "data_cost/cuda_spans.h"
#include "matchers/semi_global/cuda_common.h"
#include "decision/cuda_decision.h"

using namespace parallax::semi_global;
using namespace parallax::data_cost;
namespace decision = parallax::decision;

namespace {

// A thread computes the costs of its labels for neighbours in a row.
constexpr int pixels = PIXELS;
using RowSpan = Span<pixels, 1>;

__device__ __forceinline__ uint32 units(float cost) {
  return static_cast<uint32>(fmaxf(cost, 0.0f));
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
  const RowSpan at(costs, static_cast<int>((blockIdx.y * BLOCK + threadIdx.x) / LANES) * pixels, blockIdx.x,
                   lane);
  const uint64 left_valid = valid_bits(costs.validity.left, costs.validity.words, at.y, at.x);
  const uint64 right_valid = at.right_valid(costs);
  const RowSpan::Existence exists = at.existence(right_valid);

  constexpr uint32 padding = WINDOW == 1 ? PAD : 0, all_pixels = (1u << pixels) - 1;
  Packed packed[pixels] = {};
  const auto put = [&](int p, int k, uint32 cost) {
    packed[p].of[word_of(k)] += (beyond_labels(k) ? padding : cost) << shift_of(k);
  };
  const auto in_units = [](float cost) { return units(cost); };
  // False at the borders and near masked pixels.
  const bool all_exist = (left_valid & all_pixels) == all_pixels && exists.some_not == 0;
  if (__all_sync(all_lanes, all_exist)) {
    at.for_each_cost<PER_DIFFERENCE, HIGHEST>(costs, table, in_units, put);
  } else {
    at.for_each_cost<PER_DIFFERENCE, HIGHEST>(costs, table, in_units, [&](int p, int k, uint32 cost) {
      const bool has_data = (left_valid >> p & 1) != 0 && (HAS_OUTSIDE || exists.all(p));
      const bool right_exists = (right_valid >> at.index_of(p, k) & 1) != 0;
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
        (left_valid >> p & 1) == 0 ? decision::input_masked
        : exists.any(p)            ? decision::matched
                                   : decision::out_of_range;
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
