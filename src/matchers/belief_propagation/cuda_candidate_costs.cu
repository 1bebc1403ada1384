// SPDX-License-Identifier: Apache-2.0
// Belief propagation on CUDA for levels whose tiles consider only candidate labels: data costs, and how a
// level begins.
//
// Specialised by LABELS, BOUND, EDGES, HAS_OUTSIDE, as in cuda_integer.cu and cuda_updates.cu; by SLACK
// (candidate_slack); by SIDE (pixels of the image along a side of a pixel of the level for which sum_costs()
// is called); by EXISTENCE_BLOCK, SUM_BLOCK and OPEN_BLOCK (threads of find_existence(), sum_costs() and
// open_tiles()); and by the macros of cuda_tiles.h.
#include "matchers/belief_propagation/cuda_tiles.h"

using namespace parallax::belief_propagation;

// Data costs

constexpr int existence_threads = EXISTENCE_BLOCK;

// Finds each pixel's status before matching, and a bit that tells whether it has data costs, 32 per word, in
// rows of costs.validity.words words. Grid: rows, blocks of a row.
PARALLAX_KERNEL __launch_bounds__(existence_threads) find_existence(CudaCosts costs, uint32* has_data) {
  wait_for_previous();
  const int y = blockIdx.x, x = blockIdx.y * existence_threads + threadIdx.x, words = costs.validity.words;
  bool some = false, all = true;  // whether right pixels of the labels exist
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

// Size of a table of costs by the number of bits in which signatures differ; behind them is the cost of a
// missing right pixel, and last the cost for a left pixel without data costs: 0.
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

constexpr int sum_threads = SUM_BLOCK, sum_pixels = 2 * group_pixels, label_lanes = sum_threads / sum_pixels;
// Labels of a thread; labels of all threads.
constexpr int sum_labels = LABELS >= 8 * label_lanes ? 8 : (LABELS + label_lanes - 1) / label_lanes,
              labels_at_once = label_lanes * sum_labels;
constexpr int left_columns = sum_pixels * SIDE, right_columns = left_columns + labels_at_once - 1;
// Spreads the columns, so that lanes that read every sum_labels-th column use all banks.
__device__ __forceinline__ constexpr int apart(int column) {
  return sum_labels % 2 == 1 ? column : column + column / sum_labels;
}

}  // namespace

// Data costs of a level for all labels: sums over the costs of SIDE × SIDE pixels of the image, which are
// never stored. A block per group computes both colours.
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

constexpr int max_parents = (tile_side / 2 + 2) * (tile_side / 2 + 2);
static_assert(max_parents <= 2 * warp_lanes);

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

// A warp finds the candidates of a tile. The widest gaps between best labels separate ranges; of equal gaps,
// the one at higher labels.
__device__ __forceinline__ StoredRanges find_candidates(const CudaLabels& best, int tile_x, int tile_y) {
  constexpr int none = 0xFFFF;
  const int left = max(0, tile_x * tile_side / 2 - 1), top = max(0, tile_y * tile_side / 2 - 1);
  const int columns = min(best.width, (tile_x + 1) * tile_side / 2 + 1) - left,
            rows = min(best.height, (tile_y + 1) * tile_side / 2 + 1) - top;
  const int parents = columns * rows, lane = threadIdx.x % warp_lanes;
  int own[2], next[2] = {none, none};
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int parent = min(lane + i * warp_lanes, parents - 1);  // some are read more than once
    own[i] = best.of[static_cast<int64>(top + parent / columns) * best.width + left + parent % columns];
  }
  const int lowest = over_warp(min(own[0], own[1]), [](int a, int b) { return min(a, b); }),
            highest = highest_of_warp(max(own[0], own[1]));
  // The maximum distance of neighbouring best labels that share a range.
  constexpr int reach = 2 * SLACK + 1;
  int below[RANGES], above[RANGES];  // best labels around each separating gap, from the widest on
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
    int gap[2];  // its width, with the best label below it in the lower half
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

constexpr int open_threads = OPEN_BLOCK, open_warps = open_threads / warp_lanes,
              open_slots = open_threads / tile_side;

// The data costs of a tile's row for a label, for both colours: sums over side × side pixels of the image.
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
    // Rows of features are padded to whole tiles; no other memory is read.
    const uint64* left = row_of(static_cast<const uint64*>(costs.left_features), samples, image_y) + first_x;
    const uint64* right =
        row_of(static_cast<const uint64*>(costs.right_features), samples, image_y) + first_right;
    constexpr uint32 every = (1u << tile_side * side) - 1;
    const uint32 data_bits = valid_bits(has_data, words, image_y, first_x) & every,
                 right_bits = valid_bits(costs.validity.right, words, image_y, first_right) & every;
    if ((data_bits & right_bits) == every) {
#pragma unroll
      for (int i = 0; i < tile_side * side; ++i) sum[i / side] += table[__popcll(left[i] ^ right[i])];
      continue;
    }
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

// The initial messages of a group's four pixels: the messages of their parents, which are two neighbours of
// each colour. `fetch(colour)` returns the word of all parents of a colour.
template <class Fetch>
__device__ __forceinline__ uint32 start_word(int parent_row, int group, const Fetch& fetch) {
  const int even = parent_row & 1;  // colour of the even columns in that row
  const uint32 first = fetch(even), second = fetch(1 - even);
  return __byte_perm(first, second, group % 2 == 0 ? 0x5140 : 0x7362);
}

}  // namespace

// Begins a level: finds the candidates of a tile, its data costs, and the initial messages of colour 0; colour
// 1 needs none, because nothing reads them. One block per tile. `side`: pixels of the image along a side of a pixel of the
// level; 0 = `all` has the data costs of all labels. `coarser`: the next level if it considers all labels,
// else `coarser_tiles`.
PARALLAX_KERNEL __launch_bounds__(open_threads)
    open_tiles(CudaCandidateLevel level, CudaIntegerLevel all, CudaIntegerLevel coarser,
               CudaCandidateLevel coarser_tiles, CudaLabels best, CudaCosts costs, const uint32* has_data,
               int side, CudaSmoothness alike) {
  __shared__ CostTable table;
  __shared__ StoredRanges ranges;
  __shared__ uint32 sums[2][open_slots][tile_side];
  __shared__ uint16 labels[LABELS];  // [slot]
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
  const Slots slots = slots_of(ranges);
  const int count = slots.count();
#pragma unroll
  for (int i = 0; i < RANGES; ++i)
    for (int k = thread; k < slots.labels[i]; k += open_threads)
      labels[slots.slot[i] + k] = slots.first[i] + k;
  __syncthreads();
  for (int slot = thread; slot < count; slot += open_threads)
    level.labels[tile * static_cast<int64>(LABELS) + slot] = labels[slot];

  const Place place = find_place(level, tile_x, tile_y);
  const uint32 mask = place.inside ? inside_mask(pixels_in(level.width, place.y, 0), tile_x) : 0;
  const int parent_row = place.y / 2, parent_group = tile_x / 2;
  const bool parents_are_tiles = coarser_tiles.messages != nullptr;
  const int parent_tile = parents_are_tiles ? tile_y / 2 * coarser_tiles.groups + parent_group : 0;
  const Slots slots_of_parents = parents_are_tiles ? slots_of(ranges_of(coarser_tiles, parent_tile)) : slots;
  for (int slot = thread / warp_lanes; slot < count && place.inside; slot += open_warps) {
    const int label = labels[slot], parent_slot = slots_of_parents.of(label);
    const uint32 word = start_word(parent_row, tile_x, [&](int colour) {
      if (!parents_are_tiles)
        return messages(
            coarser, colour,
            place.direction)[group_offset(coarser, parent_row, parent_group) + label_offset(label)];
      if (parent_slot >= 0)
        return messages_of(
            coarser_tiles, colour,
            parent_tile)[parent_slot * warp_lanes + message_at(place.direction, parent_row % tile_side)];
      return edge_of(coarser_tiles, alike, colour, parent_row, parent_group, place.direction).truncation;
    });
    messages_of(level, 0, tile)[slot * warp_lanes + thread % warp_lanes] = word & mask;
  }
  const int64 offset = tile * tile_words;
  if (side == 0) {
    const int row = thread % tile_side, y = tile_y * tile_side + row;
    for (int slot = thread / tile_side; slot < count && y < level.height; slot += open_slots) {
#pragma unroll
      for (int colour = 0; colour < 2; ++colour)
        level.data[colour * level.plane_words + offset + slot * tile_side + row] =
            all.data[colour * all.plane_words + group_offset(all, y, tile_x) + label_offset(labels[slot])];
    }
    return;
  }

  // Neighbouring threads have neighbouring labels, and therefore neighbouring right pixels.
  const int cost_y = tile_y * tile_side + thread / open_slots, slot_lane = thread % open_slots;
  const int row = thread % tile_side;
  for (int first_slot = 0; first_slot < count; first_slot += open_slots) {
    const int label = labels[min(first_slot + slot_lane, count - 1)];
    const uint2 words = side == 1 ? data_of_row<1>(costs, has_data, table, tile_x, cost_y, label)
                                  : data_of_row<2>(costs, has_data, table, tile_x, cost_y, label);
    sums[0][slot_lane][thread / open_slots] = words.x;
    sums[1][slot_lane][thread / open_slots] = words.y;
    __syncthreads();
    const int slot = first_slot + thread / tile_side;
    if (slot < count) {
#pragma unroll
      for (int colour = 0; colour < 2; ++colour)
        level.data[colour * level.plane_words + offset + slot * tile_side + row] =
            sums[colour][thread / tile_side][row];
    }
    __syncthreads();
  }
}
