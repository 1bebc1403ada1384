// SPDX-License-Identifier: Apache-2.0
// Belief propagation on CUDA where tiles consider only candidate labels (candidates.h); in bytes.
//
// A group, the four pixels of one colour in a row, is a row of a tile. A tile numbers its candidates from 0
// on, in order: these are its slots.
//
//   plane of one colour   [tile][slot][row of the tile]
//
// with room for all labels. No group surrounds the image: what comes from beyond the border is 0.
//
// A warp updates the messages of a tile. Its lanes are rows, times parts of the slots: four parts where they
// have room for all slots (PER_PART each), else twice as many or more; then the warp passes over the tile
// several times, for some rows each.
//
// Specialised by LABELS, BOUND, EDGES, HAS_OUTSIDE, CONFIDENCE, SUB_PIXEL, as cuda_integer.cu; by
// CANDIDATE_BLOCK (threads) and CANDIDATE_LEAST_BLOCKS, as BLOCK and LEAST_BLOCKS there; by RANGES and SLACK
// (candidate_ranges, candidate_slack), PER_PART, SIDE (pixels of the image along a side of a pixel of the level
// for which sum_costs() is called); and by the macros of cuda_groups.h.
#include "matchers/belief_propagation/cuda_groups.h"

using namespace parallax::belief_propagation;

namespace {

static_assert(BITS == 8);
constexpr int tile_side = 8;
constexpr int warp_lanes = 32, warps = CANDIDATE_BLOCK / warp_lanes;
constexpr int least_parts = warp_lanes / tile_side;
static_assert(warp_lanes * PER_PART >= LABELS);
constexpr int64 tile_words = static_cast<int64>(LABELS) * tile_side;
// More than any value, and little enough for sums.
constexpr uint32 nothing = 0x00FF00FFu;

// The labels that a tile considers.
struct Candidates {
  int first[RANGES], labels[RANGES];
  int slot[RANGES];  // of the first label

  __device__ __forceinline__ int slots() const { return slot[RANGES - 1] + labels[RANGES - 1]; }
  // Slots beyond the last have the labels that follow.
  __device__ __forceinline__ int label_of(int of) const {
    int shift = first[0];
#pragma unroll
    for (int i = 1; i < RANGES; ++i)
      if (of >= slot[i]) shift = first[i] - slot[i];
    return of + shift;
  }
  // -1: the label is no candidate.
  __device__ __forceinline__ int slot_of(int label) const {
    int found = -1;
#pragma unroll
    for (int i = 0; i < RANGES; ++i) {
      const int index = label - first[i];
      if (static_cast<uint32>(index) < static_cast<uint32>(labels[i])) found = slot[i] + index;
    }
    return found;
  }
};

// As they are stored: each range's first label, and in the upper half the one after its last. Unused ranges
// are empty, and begin where the last one ends.
constexpr int stored_ranges = 4;
struct StoredRanges {
  uint32 of[stored_ranges];
};

__device__ __forceinline__ Candidates unpacked(const StoredRanges& ranges) {
  Candidates candidates;
  int slots = 0;
#pragma unroll
  for (int i = 0; i < RANGES; ++i) {
    candidates.first[i] = ranges.of[i] & 0xFFFF;
    candidates.labels[i] = static_cast<int>(ranges.of[i] >> 16) - candidates.first[i];
    candidates.slot[i] = slots;
    slots += candidates.labels[i];
  }
  return candidates;
}

__device__ __forceinline__ Candidates candidates_of(const CudaCandidateLevel& level, int tile) {
  StoredRanges ranges;
  load<stored_ranges>(level.ranges + static_cast<int64>(tile) * stored_ranges, ranges.of);
  return unpacked(ranges);
}

__device__ __forceinline__ int tiles_of(const CudaCandidateLevel& level) {
  return level.groups * ((level.height + tile_side - 1) / tile_side);
}

// How the lanes of a warp share a tile.
struct Sharing {
  int parts;     // a power of two
  int per_part;  // slots, at most PER_PART
  __device__ __forceinline__ int rows() const { return warp_lanes / parts; }
  __device__ __forceinline__ int passes() const { return parts / least_parts; }
};

__device__ __forceinline__ Sharing share(int slots) {
  int parts = least_parts;
  while (parts * PER_PART < slots) parts *= 2;
  return {parts, (slots + parts - 1) / parts};
}

// The group of a lane, and its part of the slots.
struct Place {
  int tile, tile_x, row, y, part;
  bool inside;
};

__device__ __forceinline__ Place find_place(const CudaCandidateLevel& level, int tile, const Sharing& sharing,
                                            int pass) {
  const int lane = threadIdx.x % warp_lanes, tile_y = tile / level.groups;
  Place place;
  place.tile = tile;
  place.tile_x = tile - tile_y * level.groups;
  place.row = pass * sharing.rows() + lane % sharing.rows();
  place.part = lane / sharing.rows();
  place.y = tile_y * tile_side + place.row;
  place.inside = place.y < level.height;
  return place;
}

// A block's warps share the passes over its tiles. Calls action(tile, pass) after waiting for the previous
// kernel. `candidates_are_new`: that kernel found the candidates. (Kernels before it have ended when this one
// begins.)
template <class Action>
__device__ __forceinline__ void for_each_pass(const CudaCandidateLevel& level, bool candidates_are_new,
                                              const Action& action) {
  if (candidates_are_new) wait_for_previous();
  const int lane = threadIdx.x % warp_lanes, first_tile = blockIdx.x * warps;
  int passes = 0;
  if (lane < warps && first_tile + lane < tiles_of(level))
    passes = share(candidates_of(level, first_tile + lane).slots()).passes();
  if (!candidates_are_new) wait_for_previous();
  for (int i = 0, pass = threadIdx.x / warp_lanes; i < warps;) {
    const int of_tile = __shfl_sync(all_lanes, passes, i);
    if (pass < of_tile) {
      action(first_tile + i, pass);
      pass += warps;
    } else {
      pass -= of_tile;
      ++i;
    }
  }
}

// Messages

// The four messages to a group, and the sum of them and the data cost, for the slots of a lane's part. There
// is no data cost, and no message, in slots beyond the last: all bits of their belief are set.
struct Incoming {
  uint32 from[directions][PER_PART], belief[PER_PART];
};

__device__ __forceinline__ Incoming incoming(const CudaCandidateLevel& level, int colour, const Place& place,
                                             const Candidates& candidates, const Sharing& sharing,
                                             const Weights& weight) {
  const int odd = parity(place.y, colour);
  const bool first_row = place.row == 0, last_row = place.row == tile_side - 1;
  const bool has_above = place.y > 0, has_below = place.y + 1 < level.height;
  const bool has_beside = odd ? place.tile_x + 1 < level.groups : place.tile_x > 0;
  // The tiles that send from above or below, and from the side; or this one.
  const int tile_beyond = first_row && has_above  ? place.tile - level.groups
                          : last_row && has_below ? place.tile + level.groups
                                                  : place.tile;
  const int tile_beside = !has_beside ? place.tile : odd ? place.tile + 1 : place.tile - 1;
  const Candidates beyond = candidates_of(level, tile_beyond), beside = candidates_of(level, tile_beside);
  const auto sent = [&](int direction, int tile, int row) {
    return messages(level, 1 - colour, direction) + tile * tile_words + (row & (tile_side - 1));
  };
  const uint32* from_above = sent(below, first_row ? tile_beyond : place.tile, place.row - 1);
  const uint32* from_below = sent(above, last_row ? tile_beyond : place.tile, place.row + 1);
  const uint32* from_left = sent(right_side, place.tile, place.row);
  const uint32* from_right = sent(left_side, place.tile, place.row);
  const uint32* from_beside = sent(odd ? left_side : right_side, tile_beside, place.row);
  const uint32* data = level.data + colour * level.plane_words + place.tile * tile_words + place.row;
  // At labels that a tile does not consider, its messages have the bound of their edge.
  const uint32 bound_beside =
      odd ? weight.truncation[right_side] >> 3 * BITS : weight.truncation[left_side] << 3 * BITS;

  Incoming words;
#pragma unroll
  for (int k = 0; k < PER_PART; ++k) {
    if (k >= sharing.per_part) continue;
    words.belief[k] = ~0u;
#pragma unroll
    for (int direction = 0; direction < directions; ++direction) words.from[direction][k] = 0;
    const int slot = place.part * sharing.per_part + k;
    if (!place.inside || slot >= candidates.slots()) continue;
    const int label = candidates.label_of(slot);
    const int slot_beyond = beyond.slot_of(label), slot_beside = beside.slot_of(label);
    const int slot_above = first_row ? slot_beyond : slot, slot_below = last_row ? slot_beyond : slot;
    const auto word = [&](const uint32* of, bool exists, int in_slot, uint32 bound) {
      return !exists ? 0 : in_slot < 0 ? bound : of[in_slot * tile_side];
    };
    const uint32 left = from_left[slot * tile_side], right = from_right[slot * tile_side];
    const uint32 next = word(from_beside, has_beside, slot_beside, bound_beside);
    words.from[above][k] = word(from_above, has_above, slot_above, weight.truncation[above]);
    words.from[below][k] = word(from_below, has_below, slot_below, weight.truncation[below]);
    words.from[left_side][k] = odd ? left : __funnelshift_l(next, left, BITS);
    words.from[right_side][k] = odd ? __funnelshift_r(right, next, BITS) : right;
    words.belief[k] = data[slot * tile_side] + words.from[above][k] + words.from[below][k] +
                      words.from[left_side][k] + words.from[right_side][k];
  }
  return words;
}

// Labels between a lane's slots and those of the lanes `step` parts before or after.
constexpr int most_steps = 5;
struct Distances {
  uint32 before[PER_PART + 1];  // from the previous slot; the last is that of the next part's first slot
  int first, last;              // labels of the part
};

template <class Value>
__device__ __forceinline__ Value of_part_before(Value value, int step, const Sharing& sharing) {
  return __shfl_up_sync(all_lanes, value, step * sharing.rows());
}
template <class Value>
__device__ __forceinline__ Value of_part_after(Value value, int step, const Sharing& sharing) {
  return __shfl_down_sync(all_lanes, value, step * sharing.rows());
}

__device__ __forceinline__ Distances distances(const Candidates& candidates, const Sharing& sharing,
                                               int part) {
  const int first_slot = part * sharing.per_part;
  const int first = candidates.label_of(first_slot),
            last = candidates.label_of(first_slot + sharing.per_part - 1);
  Distances result;
  result.first = first;
  result.last = last;
  int label = candidates.label_of(first_slot - 1);
#pragma unroll
  for (int k = 0; k <= PER_PART; ++k) {
    if (k > sharing.per_part) continue;
    const int next = candidates.label_of(first_slot + k);
    result.before[k] = next - label;
    label = next;
  }
  return result;
}

// The message of a lane's slots, as in cuda_integer.cu, except that neighbouring slots may be several labels
// apart. A slope is at most the bound, so no sum exceeds 16 bits.
__device__ __forceinline__ void message(uint32 (&words)[PER_PART], uint32 slopes, uint32 truncations,
                                        const Distances& distance, const Sharing& sharing, int part) {
  static_assert(BOUND * (LABELS + warp_lanes) + (nothing & 0xFFFF) < 0x10000);
  const Split slope = split(slopes), truncation = split(truncations);
  uint32 h[halves][PER_PART], least[halves], last[halves];
#pragma unroll
  for (int i = 0; i < halves; ++i) least[i] = last[i] = nothing;
#pragma unroll
  for (int k = 0; k < PER_PART; ++k) {
    if (k >= sharing.per_part) continue;
    const Split unpacked = split(words[k]);
#pragma unroll
    for (int i = 0; i < halves; ++i) {
      h[i][k] = unpacked.half[i];
      least[i] = __vminu2(least[i], h[i][k]);
      last[i] = __viaddmin_u16x2(last[i], slope.half[i] * distance.before[k], h[i][k]);
    }
  }
#pragma unroll
  for (int i = 0; i < most_steps; ++i) {
    const int step = 1 << i;
    if (step >= sharing.parts) continue;
    const uint32 way = distance.last - of_part_before(distance.last, step, sharing);
#pragma unroll
    for (int j = 0; j < halves; ++j) {
      least[j] = __vminu2(least[j], __shfl_xor_sync(all_lanes, least[j], step * sharing.rows()));
      const uint32 other = of_part_before(last[j], step, sharing);
      last[j] = __viaddmin_u16x2(part >= step ? other : nothing, slope.half[j] * way, last[j]);
    }
  }
  uint32 carry[halves];
#pragma unroll
  for (int i = 0; i < halves; ++i) {
    const uint32 other = of_part_before(last[i], 1, sharing);
    carry[i] = part > 0 ? other : nothing;
#pragma unroll
    for (int k = 0; k < PER_PART; ++k)
      if (k < sharing.per_part)
        h[i][k] = carry[i] = __viaddmin_u16x2(carry[i], slope.half[i] * distance.before[k], h[i][k]);
    carry[i] = nothing;
#pragma unroll
    for (int k = PER_PART - 1; k >= 0; --k)
      if (k < sharing.per_part)
        carry[i] = __viaddmin_u16x2(carry[i], slope.half[i] * distance.before[k + 1], h[i][k]);
  }
#pragma unroll
  for (int i = 0; i < most_steps; ++i) {
    const int step = 1 << i;
    if (step >= sharing.parts) continue;
    const uint32 way = of_part_after(distance.first, step, sharing) - distance.first;
#pragma unroll
    for (int j = 0; j < halves; ++j) {
      const uint32 other = of_part_after(carry[j], step, sharing);
      carry[j] =
          __viaddmin_u16x2(part + step < sharing.parts ? other : nothing, slope.half[j] * way, carry[j]);
    }
  }
#pragma unroll
  for (int i = 0; i < halves; ++i) {
    const uint32 other = of_part_after(carry[i], 1, sharing);
    carry[i] = part + 1 < sharing.parts ? other : nothing;
    const uint32 highest = least[i] + truncation.half[i];
#pragma unroll
    for (int k = PER_PART - 1; k >= 0; --k) {
      if (k >= sharing.per_part) continue;
      carry[i] = __viaddmin_u16x2(carry[i], slope.half[i] * distance.before[k + 1], h[i][k]);
      h[i][k] = __vminu2(carry[i], highest) - least[i];
    }
  }
#pragma unroll
  for (int k = 0; k < PER_PART; ++k)
    if (k < sharing.per_part) words[k] = h[0][k] | h[1][k] << 8;
}

__device__ __forceinline__ Weights weights(const CudaCandidateLevel& level, const CudaSmoothness& alike,
                                           int colour, const Place& place) {
  return weights(level, alike, colour, min(place.y, level.height - 1), place.tile_x);
}

}  // namespace

#if CANDIDATE_LEAST_BLOCKS > 0
#define PARALLAX_UPDATE_BOUNDS __launch_bounds__(CANDIDATE_BLOCK, CANDIDATE_LEAST_BLOCKS)
#else
#define PARALLAX_UPDATE_BOUNDS __launch_bounds__(CANDIDATE_BLOCK)
#endif

// One iteration: the messages of one colour. `first`: of the level.
PARALLAX_KERNEL PARALLAX_UPDATE_BOUNDS update_tiles(CudaCandidateLevel level, CudaSmoothness alike,
                                                    int colour, int first) {
  for_each_pass(level, first != 0, [&](int tile, int pass) {
    const Candidates candidates = candidates_of(level, tile);
    const Sharing sharing = share(candidates.slots());
    const Place place = find_place(level, tile, sharing, pass);
    const Weights weight = weights(level, alike, colour, place);
    const Incoming words = incoming(level, colour, place, candidates, sharing, weight);
    const Distances distance = distances(candidates, sharing, place.part);
    const uint32 mask = inside_mask(pixels_in(level.width, place.y, colour), place.tile_x);
#pragma unroll
    for (int direction = 0; direction < directions; ++direction) {
      uint32 h[PER_PART];
#pragma unroll
      for (int k = 0; k < PER_PART; ++k)
        if (k < sharing.per_part) h[k] = words.belief[k] - words.from[direction][k];
      message(h, weight.slope[direction], weight.truncation[direction], distance, sharing, place.part);
      uint32* to = messages(level, colour, direction) + tile * tile_words + place.row;
#pragma unroll
      for (int k = 0; k < PER_PART; ++k) {
        const int slot = place.part * sharing.per_part + k;
        if (k < sharing.per_part && place.inside && slot < candidates.slots())
          to[slot * tile_side] = h[k] & mask;
      }
    }
  });
}

// Decisions

namespace {

template <class Combine>
__device__ __forceinline__ uint32 over_parts(uint32 value, const Sharing& sharing, const Combine& combine) {
#pragma unroll
  for (int i = 0; i < most_steps; ++i)
    if (1 << i < sharing.parts)
      value = combine(value, __shfl_xor_sync(all_lanes, value, (1 << i) * sharing.rows()));
  return value;
}

// The lowest belief of each pixel of a group, and in the lower half its label: ties go to the lowest label.
struct Best {
  uint32 of[group_pixels];
};

__device__ __forceinline__ Best least_beliefs(const Incoming& words, const Candidates& candidates,
                                              const Sharing& sharing, int part) {
  Best best;
#pragma unroll
  for (int p = 0; p < group_pixels; ++p) {
    best.of[p] = ~0u;
#pragma unroll
    for (int k = 0; k < PER_PART; ++k) {
      const int slot = part * sharing.per_part + k;
      if (k < sharing.per_part && slot < candidates.slots())
        best.of[p] = min(best.of[p], element(words.belief[k], p) << 16 | candidates.label_of(slot));
    }
    best.of[p] = over_parts(best.of[p], sharing, [](uint32 a, uint32 b) { return min(a, b); });
  }
  return best;
}

__device__ __forceinline__ float as_float(uint32 belief) {
  return belief == 0xFFFF ? __uint_as_float(0x7F800000u) : static_cast<float>(belief);
}

// What the decision of pixel p needs, from its lowest belief.
__device__ __forceinline__ Beliefs beliefs_around(uint32 best, const Incoming& words,
                                                  const Candidates& candidates, const Sharing& sharing,
                                                  int part, int p) {
  const int found = best & 0xFFFF;
  uint32 neighbours = ~0u, rival = 0xFFFF;  // before, and in the upper half after
#pragma unroll
  for (int k = 0; k < PER_PART; ++k) {
    const int slot = part * sharing.per_part + k;
    if (k >= sharing.per_part || slot >= candidates.slots()) continue;
    const int distance = candidates.label_of(slot) - found;
    const uint32 value = element(words.belief[k], p);
    if (distance == -1) neighbours = __vminu2(neighbours, 0xFFFF0000u | value);
    if (distance == 1) neighbours = __vminu2(neighbours, 0xFFFFu | value << 16);
    if (distance < -1 || distance > 1) rival = min(rival, value);
  }
  neighbours = over_parts(neighbours, sharing, [](uint32 a, uint32 b) { return __vminu2(a, b); });
  rival = over_parts(rival, sharing, [](uint32 a, uint32 b) { return min(a, b); });
  return {found, as_float(neighbours & 0xFFFF), static_cast<float>(best >> 16), as_float(neighbours >> 16),
          as_float(rival)};
}

// Calls action(place, x, p, best, beliefs()) in all lanes, for each pixel of a colour.
template <class Action>
__device__ __forceinline__ void for_each_decision(const CudaCandidateLevel& level,
                                                  const CudaSmoothness& alike, int colour,
                                                  const Action& action) {
  for_each_pass(level, false, [&](int tile, int pass) {
    const Candidates candidates = candidates_of(level, tile);
    const Sharing sharing = share(candidates.slots());
    const Place place = find_place(level, tile, sharing, pass);
    const Incoming words =
        incoming(level, colour, place, candidates, sharing, weights(level, alike, colour, place));
    const Best best = least_beliefs(words, candidates, sharing, place.part);
#pragma unroll
    for (int p = 0; p < group_pixels; ++p) {
      const int x = 2 * (place.tile_x * group_pixels + p) + parity(place.y, colour);
      const bool writes = place.inside && place.part == p && x < level.width;
      action(x, place.y, writes, best.of[p],
             [&] { return beliefs_around(best.of[p], words, candidates, sharing, place.part, p); });
    }
  });
}

// Actions of for_each_decision(). Not lambdas, because NVRTC takes generic lambdas in a kernel for host functions.
struct StoreLabel {
  CudaLabels labels;

  template <class Find>
  __device__ __forceinline__ void operator()(int x, int y, bool writes, uint32 best, const Find&) const {
    if (writes) labels.of[static_cast<int64>(y) * labels.width + x] = best & 0xFFFF;
  }
};

struct StoreDecision {
  CudaDecision to;
  int width;

  template <class Find>
  __device__ __forceinline__ void operator()(int x, int y, bool writes, uint32, const Find& find_beliefs) const {
    const Beliefs found = find_beliefs();
    if (!writes) return;
    const uint8 status = to.from_start[static_cast<int64>(y) * to.from_start_stride + x];
    write_decision<CONFIDENCE, SUB_PIXEL>(to, x, y, width, LABELS, status, found);
  }
};

}  // namespace

// The label that each pixel believes most. Both colours: grid.y = 2.
PARALLAX_KERNEL __launch_bounds__(CANDIDATE_BLOCK)
    find_tile_labels(CudaCandidateLevel level, CudaSmoothness alike, CudaLabels labels) {
  for_each_decision(level, alike, blockIdx.y, StoreLabel{labels});
}

// Both colours: grid.y = 2.
PARALLAX_KERNEL __launch_bounds__(CANDIDATE_BLOCK)
    decide_tiles(CudaCandidateLevel level, CudaSmoothness alike, CudaDecision to) {
  for_each_decision(level, alike, blockIdx.y, StoreDecision{to, level.width});
}

// Data costs

constexpr int existence_threads = 128;

// Each pixel's status before matching, and a bit that says whether it has data costs, 32 a word, in rows of
// costs.validity.words words. Grid: rows, blocks of a row.
PARALLAX_KERNEL __launch_bounds__(existence_threads) find_existence(CudaCosts costs, uint32* has_data) {
  wait_for_previous();
  const int y = blockIdx.x, x = blockIdx.y * existence_threads + threadIdx.x, words = costs.validity.words;
  bool some = false, all = true;  // of the labels' right pixels exist
  constexpr int at_once = 64;
  for (int first = 0; first < LABELS; first += at_once) {
    const int count = min(LABELS - first, at_once);
    const uint64 wanted = ~0ull >> (at_once - count);
    const int column = x - costs.min_disparity - first - (count - 1);
    const uint64 found = valid_bits(costs.validity.right, words, y, column) & wanted;
    some = some || found != 0;
    all = all && found == wanted;
  }
  const bool valid = (valid_bits(costs.validity.left, words, y, x) & 1) != 0;
  const bool inside = x < costs.samples.width;
  const uint32 bits = __ballot_sync(all_lanes, inside && valid && (HAS_OUTSIDE || all));
  const int word = x / warp_lanes;
  if (threadIdx.x % warp_lanes == 0 && word < words) has_data[static_cast<int64>(y) * words + word] = bits;
  if (inside)
    costs.status[static_cast<int64>(y) * costs.samples.stride + x] = !valid ? input_masked
                                                                     : some ? matched
                                                                            : out_of_range;
}

namespace {

// Costs by the number of bits in which signatures differ; behind them, those of a right pixel that does not
// exist; behind both, those of a left pixel without data costs: 0.
constexpr int signature_counts = 65, costs_of_pixel = 2 * signature_counts;
using CostTable = uint32[2 * costs_of_pixel];

__device__ __forceinline__ void fill_table(const CudaCosts& costs, CostTable& table) {
  for (int i = threadIdx.x; i < 2 * costs_of_pixel; i += blockDim.x)
    table[i] = i >= costs_of_pixel     ? 0
               : i >= signature_counts ? static_cast<uint32>(costs.outside)
                                       : static_cast<uint32>(costs.table[i]);
}

__device__ __forceinline__ bool bit_of(const uint32* plane, int words, int y, int x) {
  return x >= 0 && x < 32 * words && (plane[static_cast<int64>(y) * words + (x >> 5)] >> (x & 31) & 1) != 0;
}

constexpr int sum_threads = 128, sum_pixels = 2 * group_pixels, label_lanes = sum_threads / sum_pixels;
// Labels of a thread, and of all.
constexpr int sum_labels = LABELS >= 8 * label_lanes ? 8 : (LABELS + label_lanes - 1) / label_lanes,
              labels_at_once = label_lanes * sum_labels;
constexpr int left_columns = sum_pixels * SIDE, right_columns = left_columns + labels_at_once - 1;
// Lanes that read every sum_labels-th column use all banks.
__device__ __forceinline__ constexpr int apart(int column) {
  return sum_labels % 2 == 1 ? column : column + column / sum_labels;
}

}  // namespace

// Data costs of a level, for all labels: sums over the costs of SIDE × SIDE pixels of the image, which are
// never stored. A block for each group makes both colours.
PARALLAX_KERNEL __launch_bounds__(sum_threads)
    sum_costs(CudaIntegerLevel level, CudaCosts costs, const uint32* has_data) {
  __shared__ CostTable table;
  __shared__ uint64 left[SIDE][left_columns], right[SIDE][apart(right_columns) + 1];
  __shared__ uint16 left_costs[SIDE][left_columns], right_costs[SIDE][apart(right_columns) + 1];
  __shared__ uint16 sums[sum_pixels][LABELS];
  __shared__ uint32 least[sum_pixels];
  wait_for_previous();
  const int y = blockIdx.x / level.groups, group = blockIdx.x - y * level.groups, thread = threadIdx.x;
  const CudaSamples& samples = costs.samples;
  const int first_x = group * left_columns;
  const int rows = min(SIDE, samples.height - y * SIDE), words = costs.validity.words;
  fill_table(costs, table);
  if (thread < sum_pixels) least[thread] = ~0u;
  for (int i = thread; i < rows * left_columns; i += sum_threads) {
    const int row = i / left_columns, column = i % left_columns, image_y = y * SIDE + row;
    const auto* features = row_of(static_cast<const uint64*>(costs.left_features), samples, image_y);
    left[row][column] = features[column_inside(first_x + column, samples.width)];
    left_costs[row][column] = bit_of(has_data, words, image_y, first_x + column) ? 0 : costs_of_pixel;
  }
  const int pixel = thread / label_lanes, label_lane = thread % label_lanes;
  for (int first_label = 0; first_label < LABELS; first_label += labels_at_once) {
    __syncthreads();
    const int first_right = first_x - costs.min_disparity - first_label - (labels_at_once - 1);
    for (int i = thread; i < rows * right_columns; i += sum_threads) {
      const int row = i / right_columns, column = i % right_columns, image_y = y * SIDE + row;
      const auto* features = row_of(static_cast<const uint64*>(costs.right_features), samples, image_y);
      right[row][apart(column)] = features[column_inside(first_right + column, samples.width)];
      right_costs[row][apart(column)] =
          bit_of(costs.validity.right, words, image_y, first_right + column) ? 0 : signature_counts;
    }
    __syncthreads();
    uint32 sum[sum_labels] = {};
    // The column of the last label of the leftmost pixel.
    const int first_column = pixel * SIDE + (label_lanes - 1 - label_lane) * sum_labels;
    for (int row = 0; row < rows; ++row) {
      uint64 here[SIDE];
      const uint32* costs_here[SIDE];
#pragma unroll
      for (int p = 0; p < SIDE; ++p) {
        here[p] = left[row][pixel * SIDE + p];
        costs_here[p] = table + left_costs[row][pixel * SIDE + p];
      }
#pragma unroll
      for (int i = 0; i < SIDE + sum_labels - 1; ++i) {
        const int column = apart(first_column + i);
        const uint64 there = right[row][column];
        const uint32 costs_there = right_costs[row][column];
#pragma unroll
        for (int p = 0; p < SIDE; ++p) {
          const int k = p + sum_labels - 1 - i;
          if (k < 0 || k >= sum_labels) continue;
          sum[k] += costs_here[p][costs_there + __popcll(here[p] ^ there)];
        }
      }
    }
    uint32 lowest = ~0u;
#pragma unroll
    for (int k = 0; k < sum_labels; ++k) {
      const int label = first_label + label_lane * sum_labels + k;
      if (label >= LABELS) continue;
      sums[pixel][label] = sum[k];
      lowest = min(lowest, sum[k]);
    }
    atomicMin(&least[pixel], lowest);
  }
  __syncthreads();
  const int64 offset = group_offset(level, y, group);
  for (int label = thread; label < padded_labels; label += sum_threads) {
#pragma unroll
    for (int colour = 0; colour < 2; ++colour) {
      uint32 word = 0;
#pragma unroll
      for (int p = 0; p < group_pixels; ++p) {
        const int i = 2 * p + parity(y, colour);
        if (group * sum_pixels + i >= level.width) continue;
        const uint32 units = label < LABELS ? min(sums[i][label] - least[i], data_bound) : data_bound;
        word |= units << p * BITS;
      }
      level.data[colour * level.plane_words + offset + label_offset(label)] = word;
    }
  }
}

namespace {

// Candidates

constexpr int most_parents = (tile_side / 2 + 2) * (tile_side / 2 + 2);
static_assert(most_parents <= 2 * warp_lanes);

template <class Combine>
__device__ __forceinline__ int over_warp(int value, const Combine& combine) {
#pragma unroll
  for (int step = warp_lanes / 2; step > 0; step /= 2)
    value = combine(value, __shfl_xor_sync(all_lanes, value, step));
  return value;
}
__device__ __forceinline__ int highest_of_warp(int value) {
  return over_warp(value, [](int a, int b) { return max(a, b); });
}

// The candidates of a tile, found by a warp. The widest gaps between best labels separate ranges; of equal
// ones, those of higher labels.
__device__ __forceinline__ StoredRanges find_candidates(const CudaLabels& best, int tile_x, int tile_y) {
  constexpr int none = 0xFFFF;
  const int left = max(0, tile_x * tile_side / 2 - 1), top = max(0, tile_y * tile_side / 2 - 1);
  const int columns = min(best.width, (tile_x + 1) * tile_side / 2 + 1) - left,
            rows = min(best.height, (tile_y + 1) * tile_side / 2 + 1) - top;
  const int parents = columns * rows, lane = threadIdx.x % warp_lanes;
  int own[2], next[2] = {none, none};
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int parent = min(lane + i * warp_lanes, parents - 1);  // some more than once
    own[i] = best.of[static_cast<int64>(top + parent / columns) * best.width + left + parent % columns];
  }
  const int lowest = over_warp(min(own[0], own[1]), [](int a, int b) { return min(a, b); }),
            highest = highest_of_warp(max(own[0], own[1]));
  // Labels between two best labels that both are in one range, at most.
  constexpr int reach = 2 * SLACK + 1;
  int below[RANGES], above[RANGES];  // the best labels around each gap that separates ranges, from the widest
#pragma unroll
  for (int i = 0; i < RANGES; ++i) below[i] = above[i] = none;
  if (RANGES > 1 && highest - lowest > reach) {
    for (int i = 0; i < min(parents, warp_lanes); ++i) {
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const int other = __shfl_sync(all_lanes, own[j], i);
#pragma unroll
        for (int k = 0; k < 2; ++k)
          if (other > own[k]) next[k] = min(next[k], other);
      }
    }
    int gap[2];  // its width, then the best label below it
#pragma unroll
    for (int k = 0; k < 2; ++k)
      gap[k] = next[k] != none && next[k] - own[k] > reach ? (next[k] - own[k]) << 16 | own[k] : 0;
#pragma unroll
    for (int i = 0; i < RANGES - 1; ++i) {
      const int widest = highest_of_warp(max(gap[0], gap[1]));
      if (widest != 0) below[i] = widest & 0xFFFF, above[i] = below[i] + (widest >> 16);
#pragma unroll
      for (int k = 0; k < 2; ++k)
        if (gap[k] == widest) gap[k] = 0;
    }
  }
  // The gaps in the order of their labels; `none` comes last.
#pragma unroll
  for (int i = 0; i + 1 < RANGES; ++i) {
#pragma unroll
    for (int j = i + 1; j + 1 < RANGES; ++j) {
      const bool swap = below[j] < below[i];
      const int b = below[i], a = above[i];
      if (swap) below[i] = below[j], above[i] = above[j], below[j] = b, above[j] = a;
    }
  }
  const int end = min(LABELS, highest + SLACK + 1);
  StoredRanges ranges;
  int first = max(0, lowest - SLACK);
#pragma unroll
  for (int i = 0; i < stored_ranges; ++i) {
    const bool ends_at_gap = i < RANGES - 1 && below[min(i, RANGES - 1)] != none;
    const int last = ends_at_gap ? below[min(i, RANGES - 1)] + SLACK + 1 : end;
    ranges.of[i] = static_cast<uint32>(first) | static_cast<uint32>(last) << 16;
    first = ends_at_gap ? above[min(i, RANGES - 1)] - SLACK : end;
  }
  return ranges;
}

constexpr int open_threads = 128, open_slots = open_threads / tile_side;

// The data costs of a row of a tile and a label, of both colours: sums over side × side pixels of the image.
template <int side>
__device__ __forceinline__ uint2 data_of_row(const CudaCosts& costs, const uint32* has_data,
                                             const CostTable& table, int tile_x, int y, int label) {
  const CudaSamples& samples = costs.samples;
  const int first_x = tile_x * tile_side * side, words = costs.validity.words;
  const int first_right = first_x - costs.min_disparity - label;
  uint32 sum[tile_side] = {};
#pragma unroll
  for (int row = 0; row < side; ++row) {
    const int image_y = y * side + row;
    if (image_y >= samples.height) break;
    // Rows of features are padded to whole tiles; what is not there is not read.
    const uint64* left = row_of(static_cast<const uint64*>(costs.left_features), samples, image_y) + first_x;
    const uint64* right =
        row_of(static_cast<const uint64*>(costs.right_features), samples, image_y) + first_right;
    const auto data_bits = static_cast<uint32>(valid_bits(has_data, words, image_y, first_x)),
               right_bits =
                   static_cast<uint32>(valid_bits(costs.validity.right, words, image_y, first_right));
#pragma unroll
    for (int i = 0; i < tile_side * side; ++i) {
      const bool exists = (right_bits >> i & 1) != 0, has = (data_bits >> i & 1) != 0;
      const uint64 there = exists ? right[i] : 0;
      const uint32* costs_here = table + (has ? 0 : costs_of_pixel);
      sum[i / side] += costs_here[(exists ? 0 : signature_counts) + __popcll(left[i] ^ there)];
    }
  }
  const uint32 even = sum[0] | sum[2] << 8 | sum[4] << 16 | sum[6] << 24,
               odd = sum[1] | sum[3] << 8 | sum[5] << 16 | sum[7] << 24;
  return parity(y, 0) == 0 ? make_uint2(even, odd) : make_uint2(odd, even);
}

// The messages that the four pixels of a group start with: those of their parents, which are two neighbours
// of each colour. `fetch(colour)` gives the word of all parents of a colour.
template <class Fetch>
__device__ __forceinline__ uint32 start_word(int parent_row, int group, const Fetch& fetch) {
  const int even = parent_row & 1;  // the colour of even columns in that row
  const uint32 first = fetch(even), second = fetch(1 - even);
  return __byte_perm(first, second, group % 2 == 0 ? 0x5140 : 0x7362);
}

}  // namespace

// Begins a level: finds the candidates of a tile, its data costs, and the initial messages of colour 0, those
// of colour 1 are never read. A block for each tile. `side`: pixels of the image along a side of the level's;
// 0 = `all` has the data costs of all labels. `coarser`: the next level, if it considers all labels, else
// `coarser_tiles`.
PARALLAX_KERNEL __launch_bounds__(open_threads)
    open_tiles(CudaCandidateLevel level, CudaIntegerLevel all, CudaIntegerLevel coarser,
               CudaCandidateLevel coarser_tiles, CudaLabels best, CudaCosts costs, const uint32* has_data,
               int side, CudaSmoothness alike) {
  __shared__ CostTable table;
  __shared__ StoredRanges ranges;
  __shared__ uint32 sums[2][open_slots][tile_side];
  wait_for_previous();
  const int tile = blockIdx.x, tile_y = tile / level.groups, tile_x = tile - tile_y * level.groups;
  const int thread = threadIdx.x;
  fill_table(costs, table);
  if (thread < warp_lanes) {
    const StoredRanges found = find_candidates(best, tile_x, tile_y);
    if (thread == 0) {
      ranges = found;
      store<4>(found.of, level.ranges + static_cast<int64>(tile) * stored_ranges);
    }
  }
  __syncthreads();
  const Candidates candidates = unpacked(ranges);
  const int slots = candidates.slots();
  const int row = thread % tile_side, y = tile_y * tile_side + row;
  const bool inside = y < level.height;
  const int64 offset = tile * tile_words;

  const uint32 mask = inside_mask(pixels_in(level.width, y, 0), tile_x);
  const int parent_row = y / 2, parent_group = tile_x / 2;
  const int parent_tile =
      coarser_tiles.messages == nullptr ? 0 : tile_y / 2 * coarser_tiles.groups + parent_group;
  Candidates of_parents = candidates;
  if (coarser_tiles.messages != nullptr) of_parents = candidates_of(coarser_tiles, parent_tile);
  for (int slot = thread / tile_side; slot < slots; slot += open_slots) {
    if (!inside) continue;
    const int label = candidates.label_of(slot), parent_slot = of_parents.slot_of(label);
#pragma unroll
    for (int direction = 0; direction < directions; ++direction) {
      const uint32 word = start_word(parent_row, tile_x, [&](int colour) {
        if (coarser_tiles.messages == nullptr)
          return messages(coarser, colour,
                          direction)[group_offset(coarser, parent_row, parent_group) + label_offset(label)];
        if (parent_slot >= 0)
          return messages(
              coarser_tiles, colour,
              direction)[parent_tile * tile_words + parent_slot * tile_side + parent_row % tile_side];
        return weights(coarser_tiles, alike, colour, parent_row, parent_group).truncation[direction];
      });
      messages(level, 0, direction)[offset + slot * tile_side + row] = word & mask;
    }
    if (side > 0) continue;
#pragma unroll
    for (int colour = 0; colour < 2; ++colour)
      level.data[colour * level.plane_words + offset + slot * tile_side + row] =
          all.data[colour * all.plane_words + group_offset(all, y, tile_x) + label_offset(label)];
  }
  if (side == 0) return;

  // Neighbouring threads have neighbouring labels, and so neighbouring right pixels.
  const int cost_row = thread / open_slots, slot_lane = thread % open_slots;
  for (int first_slot = 0; first_slot < slots; first_slot += open_slots) {
    const int label = candidates.label_of(min(first_slot + slot_lane, slots - 1));
    const int cost_y = tile_y * tile_side + cost_row;
    const uint2 words = side == 1 ? data_of_row<1>(costs, has_data, table, tile_x, cost_y, label)
                                  : data_of_row<2>(costs, has_data, table, tile_x, cost_y, label);
    sums[0][slot_lane][cost_row] = words.x;
    sums[1][slot_lane][cost_row] = words.y;
    __syncthreads();
    const int slot = first_slot + thread / tile_side;
    if (slot < slots) {
#pragma unroll
      for (int colour = 0; colour < 2; ++colour)
        level.data[colour * level.plane_words + offset + slot * tile_side + row] =
            sums[colour][thread / tile_side][row];
    }
    __syncthreads();
  }
}
