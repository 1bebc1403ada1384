// SPDX-License-Identifier: Apache-2.0
// Belief propagation on CUDA in integer arithmetic: bytes (fixed8) or 16 bits (fixed16).
//
// A word holds the values of neighbours of one colour in a row: four bytes, or two times 16 bits; these
// pixels are a "group". LANES neighbouring threads share a group; each has PER_LANE of its labels in
// registers, so a pass over the labels is a loop and a few shuffles. Labels are padded to LANES · PER_LANE
// with data costs at the bound, which neither win nor change a message: see belief_propagation.h.
//
//   plane of one colour   [row + 1][group + 1][piece][lane][VECTOR words]
//
// where label lane · PER_LANE + piece · VECTOR + i is word i: the lanes of a group, and neighbouring groups,
// are one contiguous access. The rows and groups around the image, and pixels beyond the width, send zeros.
//
// Specialised by BITS of a value (8, 16), LABELS, LANES, PER_LANE, VECTOR, BOUND of a message, REACH (lanes
// that a message travels until it reaches its bound), EDGES (0 = the same everywhere), HAS_OUTSIDE (a cost),
// SUB_PIXEL, BLOCK (threads), LEAST_BLOCKS (of updates, minimum number resident on a
// multiprocessor; 0 = no minimum), CANDIDATES (whether finer levels have candidate labels, see cuda_tiles.h),
// UPDATES (whether this is the program of the iterations, or that of all other kernels: both are compiled at
// once); and by the macros of cuda_common.h.
#include "data_cost/cuda_spans.h"
#include "matchers/belief_propagation/cuda_groups.h"

using namespace parallax::belief_propagation;
using parallax::cuda::over_lanes;

namespace {

struct Words {
  uint32 of[PER_LANE];
};

// Loads a thread's part of a group.
__device__ __forceinline__ Words load_words(const uint32* group) {
  const int lane = threadIdx.x % LANES;
  Words words;
#pragma unroll
  for (int k = 0; k < PER_LANE; k += VECTOR) load<VECTOR>(group + k * LANES + lane * VECTOR, words.of + k);
  return words;
}

__device__ __forceinline__ void store_words(const Words& words, uint32* group) {
  const int lane = threadIdx.x % LANES;
#pragma unroll
  for (int k = 0; k < PER_LANE; k += VECTOR) store<VECTOR>(words.of + k, group + k * LANES + lane * VECTOR);
}

// The group and lane of a thread.
struct Place {
  int y, group, lane;
  bool inside;
};

// Threads beyond the last group repeat it, because all take part in shuffles, but do not store.
__device__ __forceinline__ Place find_place(const CudaIntegerLevel& level) {
  const uint32 groups = level.groups, last = groups * level.height - 1;
  const uint32 index = (blockIdx.x * BLOCK + threadIdx.x) / LANES;
  const uint32 shown = min(index, last);
  const uint32 y = shown / groups;
  return {static_cast<int>(y), static_cast<int>(shown - y * groups), static_cast<int>(threadIdx.x % LANES),
          index <= last};
}

__device__ __forceinline__ uint32 min_over_lanes(uint32 halves_of_word) {
  return over_lanes(halves_of_word, [](uint32 a, uint32 b) { return __vminu2(a, b); });
}

// Messages

// The columns of a colour, halved, count 0, 1, 2, … in each row. The neighbours of a group's pixels, some
// columns to the left or right, are therefore the pixels of the same number, or of the next one before or
// after. In the latter case all but one lie in the group, and that one is the last of the previous group or
// the first of the next. `steps` is −1, 0 or 1.
template <class Fetch>
__device__ __forceinline__ Words stepped(int steps, int group, const Fetch& fetch) {
  const Words here = fetch(group);
  if (steps == 0) return here;
  const Words next = fetch(group + steps);
  Words words;
#pragma unroll
  for (int k = 0; k < PER_LANE; ++k)
    words.of[k] = steps < 0 ? __funnelshift_l(next.of[k], here.of[k], BITS)
                            : __funnelshift_r(here.of[k], next.of[k], BITS);
  return words;
}

// Group steps from columns of this parity to the columns `columns` away.
__device__ __forceinline__ int steps_to(int columns, int odd) {
  return (columns + odd) >> 1;
}

// The initial messages of a colour on a level, which are those of the pixels (x/2, y/2) of the coarser level,
// without storing them first. The columns of a colour, halved, count 0, 1, 2, … without a gap.
__device__ __forceinline__ Words start_words(const CudaIntegerLevel& level, const CudaIntegerLevel& coarser,
                                             int colour, int direction, int y, int group) {
  Words words = {};
  const bool coarsest = coarser.messages == nullptr;
  if (coarsest || y < 0 || y >= level.height || group < 0 || group >= level.groups) return words;
  const uint32 mask = inside_mask(pixels_in(level.width, y, colour), group);
  const int row = y / 2, even = row & 1;  // colour of the even columns in that row
  const int64 offset = group_offset(coarser, row, group / 2);
  const Words first = load_words(messages(coarser, even, direction) + offset);
  const Words second = load_words(messages(coarser, 1 - even, direction) + offset);
  const uint32 low = halves == 1 ? 0x5410 : 0x5140, high = halves == 1 ? 0x7632 : 0x7362;
  const uint32 selector = group % 2 == 0 ? low : high;
#pragma unroll
  for (int k = 0; k < PER_LANE; ++k) words.of[k] = __byte_perm(first.of[k], second.of[k], selector) & mask;
  return words;
}

struct Incoming {
  Words from[directions];
};

// The four messages to the pixels of a group.
template <class Fetch>
__device__ __forceinline__ Incoming incoming(int y, int colour, int group, const Fetch& fetch) {
  const int odd = parity(y, colour);
  Incoming words;
  words.from[above] = fetch(below, y - 1, group);
  words.from[below] = fetch(above, y + 1, group);
  words.from[left_side] = stepped(steps_to(-1, odd), group, [&](int g) { return fetch(right_side, y, g); });
  words.from[right_side] = stepped(steps_to(1, odd), group, [&](int g) { return fetch(left_side, y, g); });
  return words;
}

__device__ __forceinline__ Words beliefs(const Words& data, const Incoming& words) {
  Words sum;
#pragma unroll
  for (int k = 0; k < PER_LANE; ++k)
    sum.of[k] = data.of[k] + words.from[above].of[k] + words.from[below].of[k] + words.from[left_side].of[k] +
                words.from[right_side].of[k];
  return sum;
}

// The lowest values that the previous (or next) lanes' labels allow at this lane's first (or last) label; no
// limit at the ends.
template <bool upwards>
__device__ __forceinline__ uint32 carried(uint32 last, uint32 slope) {
  constexpr uint32 nothing = 0x7FFF7FFFu;
  const int lane = threadIdx.x % LANES;
  const auto neighbour = [&](uint32 value, int step) {
    const uint32 other = upwards ? __shfl_up_sync(all_lanes, value, step, LANES)
                                 : __shfl_down_sync(all_lanes, value, step, LANES);
    return (upwards ? lane >= step : lane + step < LANES) ? other : nothing;
  };
#pragma unroll
  for (int step = 1; step <= REACH && step < LANES; step *= 2) {
    // A slope whose sum over the distance exceeds 15 bits has no effect at its end.
    constexpr bool may_overflow = BOUND * PER_LANE * REACH > 0x7FFF;
    const uint32 steepest = both(0x7FFF / (PER_LANE * step));
    const uint32 way = (may_overflow ? __vminu2(slope, steepest) : slope) * (PER_LANE * step);
    last = __viaddmin_u16x2(neighbour(last, step), way, last);
  }
  return neighbour(last, 1);
}

// The message of a group: the lower envelope of h, limited to its minimum plus the truncation, minus its
// minimum.
__device__ __forceinline__ Words message(const Words& all_of_h, const Split& slope, const Split& truncation) {
  uint32 h[halves][PER_LANE];
  uint32 least[halves], last[halves];
#pragma unroll
  for (int k = 0; k < PER_LANE; ++k) {
    const Split words = split(all_of_h.of[k]);
#pragma unroll
    for (int i = 0; i < halves; ++i) {
      h[i][k] = words.half[i];
      least[i] = k == 0 ? h[i][k] : __vminu2(least[i], h[i][k]);
      last[i] = k == 0 ? h[i][k] : __viaddmin_u16x2(last[i], slope.half[i], h[i][k]);
    }
  }
#pragma unroll
  for (int i = 0; i < halves; ++i) {
    least[i] = min_over_lanes(least[i]);
    uint32 carry = carried<true>(last[i], slope.half[i]);
#pragma unroll
    for (int k = 0; k < PER_LANE; ++k) h[i][k] = carry = __viaddmin_u16x2(carry, slope.half[i], h[i][k]);
#pragma unroll
    for (int k = PER_LANE - 2; k >= 0; --k) carry = __viaddmin_u16x2(carry, slope.half[i], h[i][k]);
    carry = carried<false>(carry, slope.half[i]);
    const uint32 highest = least[i] + truncation.half[i];
#pragma unroll
    for (int k = PER_LANE - 1; k >= 0; --k) {
      carry = __viaddmin_u16x2(carry, slope.half[i], h[i][k]);
      h[i][k] = __vminu2(carry, highest) - least[i];
    }
  }
  Words words;
#pragma unroll
  for (int k = 0; k < PER_LANE; ++k) {
    Split result;
#pragma unroll
    for (int i = 0; i < halves; ++i) result.half[i] = h[i][k];
    words.of[k] = join(result);
  }
  return words;
}

__device__ __forceinline__ Words masked(Words words, uint32 mask) {
#pragma unroll
  for (int k = 0; k < PER_LANE; ++k) words.of[k] &= mask;
  return words;
}

// Sends the messages of a colour's pixels, computed from those that they received. With grid.y = 4, the
// blocks share the directions: more loads in total, but less time per thread.
__device__ __forceinline__ void send(const CudaIntegerLevel& level, int colour, const Place& place,
                                     const Words& data, const Weights& weight, const Incoming& words) {
  const Words belief = beliefs(data, words);
  const uint32 mask = inside_mask(pixels_in(level.width, place.y, colour), place.group);
#pragma unroll
  for (int direction = 0; direction < directions; ++direction) {
    if (gridDim.y == directions && direction != blockIdx.y) continue;
    Words h;
#pragma unroll
    for (int k = 0; k < PER_LANE; ++k) h.of[k] = belief.of[k] - words.from[direction].of[k];
    const Words sent = message(h, split(weight.slope[direction]), split(weight.truncation[direction]));
    if (place.inside)
      store_words(masked(sent, mask),
                  messages(level, colour, direction) + group_offset(level, place.y, place.group));
  }
}

// The messages that the other colour sent.
__device__ __forceinline__ Incoming incoming(const CudaIntegerLevel& level, int colour, const Place& place) {
  return incoming(place.y, colour, place.group, [&](int direction, int y, int group) {
    return load_words(messages(level, 1 - colour, direction) + group_offset(level, y, group));
  });
}

__device__ __forceinline__ Words data_of(const CudaIntegerLevel& level, int colour, const Place& place) {
  return load_words(level.data + colour * level.plane_words + group_offset(level, place.y, place.group));
}

}  // namespace

#if LEAST_BLOCKS > 0
#define PARALLAX_UPDATE_BOUNDS __launch_bounds__(BLOCK, LEAST_BLOCKS)
#else
#define PARALLAX_UPDATE_BOUNDS __launch_bounds__(BLOCK)
#endif

#if UPDATES

// One iteration: the messages of one colour. Data read before the wait was written before the previous kernel
// began; kernels before that one have ended by then.
PARALLAX_KERNEL PARALLAX_UPDATE_BOUNDS update(CudaIntegerLevel level, CudaSmoothness alike, int colour) {
  const Place place = find_place(level);
  const Words data = data_of(level, colour, place);
  const Weights weight = weights(level, alike, colour, place.y, place.group);
  wait_for_previous();
  send(level, colour, place, data, weight, incoming(level, colour, place));
}

// The first iteration of a level, from the messages of the coarser one.
PARALLAX_KERNEL PARALLAX_UPDATE_BOUNDS first_update(CudaIntegerLevel level, CudaIntegerLevel coarser,
                                                    CudaSmoothness alike, int colour) {
  const Place place = find_place(level);
  wait_for_previous();
  const Words data = data_of(level, colour, place);
  const Weights weight = weights(level, alike, colour, place.y, place.group);
  const Incoming words = incoming(place.y, colour, place.group, [&](int direction, int y, int group) {
    return start_words(level, coarser, 1 - colour, direction, y, group);
  });
  send(level, colour, place, data, weight, words);
}

#else

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
#if !CANDIDATES
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
  at.for_each_cost<0>(
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
#endif

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
#if !CANDIDATES
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
#endif

// Finds the label of each pixel's lowest belief. Both colours: grid.y = 2.
#if CANDIDATES
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
#endif

#endif
