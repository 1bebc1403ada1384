// SPDX-License-Identifier: Apache-2.0
// Belief propagation on CUDA in integer arithmetic: edges, data costs, how a level begins, and decisions.
//
// Specialised by LABELS, BOUND of a message, HAS_OUTSIDE (a cost), SUB_PIXEL; and by the macros of
// cuda_integer.h and cuda_common.h.
#include "data_cost/cuda_spans.h"
#include "matchers/belief_propagation/cuda_integer.h"

using namespace parallax::belief_propagation;
using parallax::cuda::over_lanes;

// The initial messages of a colour, for a level without updates.
PARALLAX_KERNEL __launch_bounds__(BLOCK) start(CudaIntegerLevel level, CudaIntegerLevel coarser, int colour) {
  const Place place = find_place(level);
  const int64 offset = group_offset(level, place.y, place.group);
  wait_for_previous();
#pragma unroll
  for (int direction = 0; direction < directions; ++direction) {
    const Words words = start_words(level, coarser, colour, direction, place.y, place.group);
    if (place.inside) store_words(words, messages(level, colour, direction) + offset);
  }
}

// Data costs of coarser levels: sums over up to four children, all of which have their parent's column when
// the columns of a colour are counted. A thread computes both colours of its words.
PARALLAX_KERNEL __launch_bounds__(BLOCK) add_up(CudaIntegerLevel fine, CudaIntegerLevel coarse) {
  const Place place = find_place(coarse);
  wait_for_previous();
  // Sums of two groups of the finer level; for each, the pixels of even and of odd columns of the coarser
  // level.
  Split sum[2][PER_LANE];
#pragma unroll
  for (int part = 0; part < 2; ++part) {
#pragma unroll
    for (int k = 0; k < PER_LANE; ++k) sum[part][k] = all_halves(0);
    const int group = 2 * place.group + part;
    if (group >= fine.groups) continue;
#pragma unroll
    for (int row = 0; row < 2; ++row) {
#pragma unroll
      for (int colour = 0; colour < 2; ++colour) {
        const int64 offset = group_offset(fine, 2 * place.y + row, group);
        const Words words = load_words(fine.data + colour * fine.plane_words + offset);
#pragma unroll
        for (int k = 0; k < PER_LANE; ++k) {
          const Split values = split(words.of[k]);
#pragma unroll
          for (int i = 0; i < halves; ++i) sum[part][k].half[i] += values.half[i];
        }
      }
    }
  }
  const auto settle = [&](uint32(&values)[PER_LANE]) {
    uint32 least = values[0];
#pragma unroll
    for (int k = 1; k < PER_LANE; ++k) least = __vminu2(least, values[k]);
    least = min_over_lanes(least);
#pragma unroll
    for (int k = 0; k < PER_LANE; ++k) values[k] = __vminu2(values[k] - least, both(data_bound));
  };
  const int64 offset = group_offset(coarse, place.y, place.group);
  Words even, odd;
  if constexpr (halves == 2) {
    // half[0] of both parts: pixels of even columns, in order; half[1]: pixels of odd columns.
    uint32 values[2][2][PER_LANE];
#pragma unroll
    for (int part = 0; part < 2; ++part) {
#pragma unroll
      for (int i = 0; i < halves; ++i) {
#pragma unroll
        for (int k = 0; k < PER_LANE; ++k) values[part][i][k] = sum[part][k].half[i];
        settle(values[part][i]);
      }
    }
#pragma unroll
    for (int k = 0; k < PER_LANE; ++k) {
      even.of[k] = __byte_perm(values[0][0][k], values[1][0][k], 0x6420);
      odd.of[k] = __byte_perm(values[0][1][k], values[1][1][k], 0x6420);
    }
  } else {
    uint32 values[2][PER_LANE];
#pragma unroll
    for (int part = 0; part < 2; ++part) {
#pragma unroll
      for (int k = 0; k < PER_LANE; ++k) values[part][k] = sum[part][k].half[0];
      settle(values[part]);
    }
#pragma unroll
    for (int k = 0; k < PER_LANE; ++k) {
      even.of[k] = __byte_perm(values[0][k], values[1][k], 0x5410);
      odd.of[k] = __byte_perm(values[0][k], values[1][k], 0x7632);
    }
  }
  if (!place.inside) return;
  const int colour_of_even = parity(place.y, 0);
  store_words(even, coarse.data + colour_of_even * coarse.plane_words + offset);
  store_words(odd, coarse.data + (1 - colour_of_even) * coarse.plane_words + offset);
}

// Slopes and truncations of all levels: one thread per group, direction and colour. `tables` holds those of
// each difference, slopes first. Grid: rows of all levels and colours, blocks of a row of the image.
PARALLAX_KERNEL __launch_bounds__(BLOCK)
    find_edges(const __grid_constant__ CudaEdges levels, const uint16* tables, int table_size) {
  wait_for_previous();
  int row = blockIdx.x, index = 0;
  while (row >= 2 * levels.of[index].height) row -= 2 * levels.of[index++].height;
  const CudaEdges::Level& level = levels.of[index];
  const int thread = blockIdx.y * BLOCK + threadIdx.x, group = thread / directions,
            direction = thread % directions;
  if (group >= level.groups) return;
  const int colour = row >= level.height, y = row - colour * level.height;
  const int step_x = direction == right_side ? 1 : direction == left_side ? -1 : 0;
  const int step_y = direction == below ? 1 : direction == above ? -1 : 0;
  uint32 slope = 0, truncation = 0;
  for (int p = 0; p < group_pixels; ++p) {
    const int x = 2 * (group * group_pixels + p) + parity(y, colour);
    const int u = x + step_x, v = y + step_y;
    int edge = 0;  // no edges beyond the border
    if (x < level.width && u >= 0 && u < level.width && v >= 0 && v < level.height) {
      const int here = level.gray[static_cast<int64>(y) * level.stride + x],
                there = level.gray[static_cast<int64>(v) * level.stride + u];
      edge = (abs(here - there) + 128) / 256;
    }
    slope |= static_cast<uint32>(tables[edge]) << p * BITS;
    truncation |= static_cast<uint32>(tables[table_size + edge]) << p * BITS;
  }
  const uint32 pair[] = {slope, truncation};
  store<2>(pair,
           level.edges + ((static_cast<int64>(row) * level.groups + group) * directions + direction) * 2);
}

// Data costs

// A thread's part of a group: pixels of one colour.
using GroupSpan = Span<group_pixels, 2>;

// Data costs of the image, and the initial status of its pixels. Both colours: grid.y = 2.
PARALLAX_KERNEL __launch_bounds__(BLOCK) find_costs(CudaIntegerLevel level, CudaCosts costs) {
  __shared__ float table[TABLE_SIZE];
  wait_for_previous();
  if constexpr (TABLE) {
    for (int i = threadIdx.x; i < TABLE_SIZE; i += BLOCK) table[i] = costs.table[i];
    __syncthreads();
  }
  const int colour = blockIdx.y;
  const Place place = find_place(level);
  const GroupSpan at(costs, 2 * place.group * group_pixels + parity(place.y, colour), place.y, place.lane);
  const uint64 left_valid = valid_bits(costs.validity.left, costs.validity.words, at.y, at.x);
  const uint64 right_valid = at.right_valid(costs);

  float cost[group_pixels][PER_LANE];
  at.for_each_cost<0, 0>(
      costs, table, [](float units) { return units; },
      [&](int p, int k, float value) {
        cost[p][k] = (right_valid >> at.index_of(p, k) & 1) != 0 ? value : costs.outside;
      });
  const GroupSpan::Existence exists = at.existence(right_valid);
  Split packed[PER_LANE];
#pragma unroll
  for (int k = 0; k < PER_LANE; ++k) packed[k] = all_halves(0);
  uint8 status[group_pixels];
  const auto beyond_labels = [&](int k) { return padded_labels > LABELS && at.first_label + k >= LABELS; };
#pragma unroll
  for (int p = 0; p < group_pixels; ++p) {
    float least = 3e38f;
#pragma unroll
    for (int k = 0; k < PER_LANE; ++k)
      if (!beyond_labels(k)) least = fminf(least, cost[p][k]);
    least = __uint_as_float(over_lanes(__float_as_uint(least), [](uint32 a, uint32 b) {
      return __float_as_uint(fminf(__uint_as_float(a), __uint_as_float(b)));
    }));
    const bool valid = (left_valid >> 2 * p & 1) != 0;
    const bool in_image = at.x + 2 * p < level.width;
    const bool has_data = in_image && valid && (HAS_OUTSIDE || exists.all(p));
    status[p] = !valid ? input_masked : exists.any(p) ? matched : out_of_range;
#pragma unroll
    for (int k = 0; k < PER_LANE; ++k) {
      float kept = has_data ? fminf(cost[p][k] - least, static_cast<float>(data_bound)) : 0.0f;
      if (beyond_labels(k)) kept = in_image ? static_cast<float>(data_bound) : 0.0f;
      const uint32 units = static_cast<uint32>(kept);
      packed[k].half[halves == 1 ? 0 : p % 2] |= units << 16 * (halves == 1 ? p : p / 2);
    }
  }
  if (!place.inside) return;
  Words words_of_group;
#pragma unroll
  for (int k = 0; k < PER_LANE; ++k) words_of_group.of[k] = join(packed[k]);
  store_words(words_of_group,
              level.data + colour * level.plane_words + group_offset(level, place.y, place.group));
#pragma unroll
  for (int p = 0; p < group_pixels; ++p)
    if (place.lane == p % LANES && at.x + 2 * p < level.width)
      costs.status[static_cast<int64>(place.y) * costs.samples.stride + at.x + 2 * p] = status[p];
}

namespace {

__device__ __forceinline__ uint32 min_value(uint32 value) {
  return over_lanes(value, [](uint32 a, uint32 b) { return min(a, b); });
}

// The lowest belief of a pixel, with its label in the lower half: ties go to the lowest label.
__device__ __forceinline__ uint32 min_belief(const Words& belief, int first_label, int p) {
  uint32 best = ~0u;
#pragma unroll
  for (int k = 0; k < PER_LANE; ++k) best = min(best, element(belief.of[k], p) << 16 | (first_label + k));
  return min_value(best);
}

__device__ __forceinline__ Beliefs find_best(const Words& belief, int first_label, int p) {
  const uint32 best = min_belief(belief, first_label, p);
  Beliefs found = {static_cast<int>(best & 0xFFFF), 0, static_cast<float>(best >> 16), 0, no_value};
  constexpr uint32 none = 0xFFFF;
  uint32 before = none, after = none;
#pragma unroll
  for (int k = 0; k < PER_LANE; ++k) {
    const int label = first_label + k, distance = label - found.label;
    const uint32 value = element(belief.of[k], p);
    if (distance == -1) before = value;
    if (distance == 1) after = value;
  }
  found.before = static_cast<float>(min_value(before));
  found.after = static_cast<float>(min_value(after));
  return found;
}

}  // namespace

// Both colours: grid.y = 2.
PARALLAX_KERNEL __launch_bounds__(BLOCK) decide(CudaIntegerLevel level, CudaDecision to) {
  const int colour = blockIdx.y;
  const Place place = find_place(level);
  wait_for_previous();
  const Incoming words = incoming(level, colour, place);
  const Words belief = beliefs(data_of(level, colour, place), words);
#pragma unroll
  for (int p = 0; p < group_pixels; ++p) {
    const Beliefs found = find_best(belief, place.lane * PER_LANE, p);
    const int x = 2 * (place.group * group_pixels + p) + parity(place.y, colour);
    if (!place.inside || place.lane != p % LANES || x >= level.width) continue;
    const uint8 status = to.from_start[static_cast<int64>(place.y) * to.from_start_stride + x];
    write_decision<SUB_PIXEL>(to, x, place.y, level.width, LABELS, status, found);
  }
}

// Finds the label of each pixel's lowest belief. Both colours: grid.y = 2.
PARALLAX_KERNEL __launch_bounds__(BLOCK) find_labels(CudaIntegerLevel level, CudaLabels labels) {
  const int colour = blockIdx.y;
  const Place place = find_place(level);
  wait_for_previous();
  const Words belief = beliefs(data_of(level, colour, place), incoming(level, colour, place));
#pragma unroll
  for (int p = 0; p < group_pixels; ++p) {
    const int label = static_cast<int>(min_belief(belief, place.lane * PER_LANE, p) & 0xFFFF);
    const int x = 2 * (place.group * group_pixels + p) + parity(place.y, colour);
    if (place.inside && place.lane == p % LANES && x < level.width)
      labels.of[static_cast<int64>(place.y) * labels.width + x] = label;
  }
}
