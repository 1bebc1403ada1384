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
// rows of costs.validity.words words. Begins to count slots. Grid: rows, blocks of a row.
PARALLAX_KERNEL __launch_bounds__(existence_threads)
    find_existence(CudaCosts costs, uint32* has_data, CudaSlots slots) {
  wait_for_previous();
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *slots.used = 0;
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

// The candidates of the tile of a warp. The widest gaps between best labels separate ranges; of equal gaps,
// the one at higher labels.
__device__ __forceinline__ StoredRanges candidates_of(const CudaLabels& best, int tile_x, int tile_y) {
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

constexpr int open_threads = OPEN_BLOCK, open_warps = open_threads / warp_lanes;
constexpr int open_blocks = 1024 / open_threads;  // least number resident on a multiprocessor

// The data costs of slots_at_once slots of a tile, in bytes: [slot][row][colour][pixel].
constexpr int tile_bytes = tile_side * tile_side;
struct SlotData {
  uint8 of[slots_at_once * tile_bytes];
};

// Finds the data costs of a tile for the label of each lane's slot: sums over side × side pixels of the
// image. A lane has a column, so that neighbouring lanes read neighbours. The warp must have read the last
// data.
template <int side>
__device__ __forceinline__ void find_data(const CudaCosts& costs, const uint32* has_data,
                                          const CostTable& table, int tile_x, int tile_y, int label,
                                          SlotData& data) {
  static_assert(slots_at_once * tile_side == warp_lanes);
  const CudaSamples& samples = costs.samples;
  const int lane = threadIdx.x % warp_lanes, column = lane % tile_side, slot = lane / tile_side;
  const int first_x = tile_x * tile_side * side, first_y = tile_y * tile_side * side;
  const int shift = costs.min_disparity + label, words = costs.validity.words;
  // Which pixels of the lane's row, and right pixels of its slot, have values.
  uint32 has[side], exists[side];
  bool all = true;
#pragma unroll
  for (int r = 0; r < side; ++r) {
    const int y = min(first_y + lane % tile_side * side + r, samples.height - 1);
    constexpr uint32 every = (1u << tile_side * side) - 1;
    has[r] = valid_bits(has_data, words, y, first_x) & every;
    exists[r] = valid_bits(costs.validity.right, words, y, first_x - shift) & every;
    all = all && (has[r] & exists[r]) == every;
  }
  all = __all_sync(all_lanes, all) != 0;
#pragma unroll
  for (int row = 0; row < tile_side; ++row) {
    uint32 sum = 0;
#pragma unroll
    for (int r = 0; r < side; ++r) {
      const int y = first_y + row * side + r, read_y = min(y, samples.height - 1);
      // Rows of features are padded to whole tiles; no other memory is read.
      const int x = first_x + column * side;
      const uint64* left = row_of(static_cast<const uint64*>(costs.left_features), samples, read_y) + x;
      const uint64* right =
          row_of(static_cast<const uint64*>(costs.right_features), samples, read_y) + x - shift;
      uint32 has_here = ~0u, exists_here = ~0u;
      if (!all) {
        has_here = __shfl_sync(all_lanes, has[r], slot * tile_side + row) >> column * side;
        exists_here = __shfl_sync(all_lanes, exists[r], slot * tile_side + row) >> column * side;
      }
#pragma unroll
      for (int i = 0; i < side; ++i) {
        const bool is_there = (exists_here >> i & 1) != 0;
        const int offset =
            ((has_here >> i & 1) != 0 ? 0 : costs_of_pixel) + (is_there ? 0 : signature_counts);
        const uint32 cost = table[offset + __popcll(left[i] ^ (is_there ? right[i] : 0))];
        sum += y < samples.height ? cost : 0;
      }
    }
    const int colour = (column + row) & 1;  // a tile begins in an even row
    data.of[slot * tile_bytes + row * tile_side + colour * group_pixels + column / 2] = sum;
  }
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

// Finds the candidates of the tile of each warp, and takes slots for them. Grid: blocks of a row of tiles,
// rows of tiles.
PARALLAX_KERNEL __launch_bounds__(open_threads) find_candidates(CudaCandidateLevel level, CudaLabels best) {
  __shared__ uint32 counts[open_warps], first_of_block;
  wait_for_previous();
  const int warp = threadIdx.x / warp_lanes, tile_x = blockIdx.x * open_warps + warp, tile_y = blockIdx.y;
  const bool is_there = tile_x < level.groups, is_first_lane = threadIdx.x % warp_lanes == 0;
  const StoredRanges found = candidates_of(best, min(tile_x, level.groups - 1), tile_y);
  const uint32 count =
      is_there ? (slots_of(found).count() + slots_at_once - 1) / slots_at_once * slots_at_once : 0;
  if (is_first_lane) counts[warp] = count;
  __syncthreads();
  uint32 before = 0, all = 0;
#pragma unroll
  for (int i = 0; i < open_warps; ++i) {
    if (i == warp) before = all;
    all += counts[i];
  }
  if (threadIdx.x == 0) first_of_block = atomicAdd(level.slots.used, all);
  __syncthreads();
  if (!is_first_lane || !is_there) return;
  const int64 tile = static_cast<int64>(tile_y) * level.groups + tile_x;
  const uint32 span[] = {first_of_block + before, count};
  store<4>(found.of, level.ranges + tile * stored_ranges);
  store<2>(span, level.spans + tile * 2);
}

// Begins a level: writes the labels and links of the slots of each warp's tile, their data costs, and the
// initial messages of colour 0; those of colour 1 are never read. Grid: blocks of a row of
// tiles, rows of tiles, and warps that share the slots of a tile. `side`: pixels of the image along a side of
// a pixel of the level; 0 = `all` has the data costs of all labels. `coarser`: the next level if it considers
// all labels, else `coarser_tiles`.
PARALLAX_KERNEL __launch_bounds__(open_threads, open_blocks)
    open_tiles(CudaCandidateLevel level, CudaIntegerLevel all, CudaIntegerLevel coarser,
               CudaCandidateLevel coarser_tiles, CudaCosts costs, const uint32* has_data, int side,
               CudaSmoothness alike) {
  __shared__ CostTable table;
  __shared__ __align__(8) SlotData data_of_warps[open_warps];
  fill_table(costs, table);
  wait_for_previous();
  const int warp = threadIdx.x / warp_lanes, lane = threadIdx.x % warp_lanes;
  const int tile_x = blockIdx.x * open_warps + warp, tile_y = blockIdx.y;
  const Place place = find_place(level, min(tile_x, level.groups - 1), tile_y);
  const Span span = span_of(level, place.tile);
  const Slots slots = slots_of(ranges_of(level, place.tile));
  // For every four slots, the first 16 lanes each find a link,
  const int link_direction = lane % directions;
  const int next_x = tile_x + (link_direction == left_side ? -1 : link_direction == right_side ? 1 : 0);
  const int next_y = tile_y + (link_direction == above ? -1 : link_direction == below ? 1 : 0);
  const bool has_next =
      next_x >= 0 && next_x < level.groups && next_y >= 0 && next_y * tile_side < level.height;
  const Slots slots_of_next =
      slots_of(has_next ? ranges_of(level, next_y * level.groups + next_x) : StoredRanges{});
  // each lane the initial messages of a row in a direction,
  const uint32 mask = place.inside ? inside_mask(pixels_in(level.width, place.y, 0), tile_x) : 0;
  const int parent_row = min(place.y, level.height - 1) / 2, parent_group = place.tile_x / 2;
  const bool parents_are_tiles = coarser_tiles.slots.words != nullptr;
  const int parent_tile = parents_are_tiles ? tile_y / 2 * coarser_tiles.groups + parent_group : 0;
  const Slots slots_of_parents = parents_are_tiles ? slots_of(ranges_of(coarser_tiles, parent_tile)) : slots;
  const uint32 first_of_parents = parents_are_tiles ? span_of(coarser_tiles, parent_tile).first : 0;
  // and the data costs of one slot in a column.
  const int own_slot = lane / tile_side;
  __syncthreads();
  const int count = tile_x < level.groups ? static_cast<int>(span.count) : 0;
  const int begin = blockIdx.z * slots_at_once;

  for (int first = begin; first < count; first += gridDim.z * slots_at_once) {
    if (lane < slots_at_once * directions) {
      const int slot = first + lane / directions, label = slots.label(slot);
      level.slots.links[static_cast<int64>(span.first + slot) * directions + link_direction] =
          slots_of_next.of(label);
      if (link_direction == 0) level.slots.labels[span.first + slot] = label;
    }

    const int label = slots.label(first + own_slot), parent_slot = slots_of_parents.of(label);
    uint32 start[slots_at_once];
#pragma unroll
    for (int j = 0; j < slots_at_once; ++j) {
      const int label_here = __shfl_sync(all_lanes, label, j * tile_side),
                parent_slot_here = __shfl_sync(all_lanes, parent_slot, j * tile_side);
      start[j] = start_word(parent_row, tile_x, [&](int colour) {
        if (!parents_are_tiles)
          return messages(
              coarser, colour,
              place.direction)[group_offset(coarser, parent_row, parent_group) + label_offset(label_here)];
        if (parent_slot_here >= 0)
          return words_of(coarser_tiles, first_of_parents + parent_slot_here,
                          colour)[message_at(place.direction, parent_row % tile_side)];
        return edge_of(coarser_tiles, alike, colour, parent_row, parent_group, place.direction).truncation;
      });
    }

    uint2 found;
    if (side > 0) {
      SlotData& data = data_of_warps[warp];
      __syncwarp();
      if (side == 1)
        find_data<1>(costs, has_data, table, tile_x, tile_y, label, data);
      else
        find_data<2>(costs, has_data, table, tile_x, tile_y, label, data);
      __syncwarp();
      found = *reinterpret_cast<const uint2*>(&data.of[own_slot * tile_bytes + place.row * tile_side]);
    } else {
      const int64 at = group_offset(all, min(place.y, level.height - 1), tile_x) + label_offset(label);
      found = make_uint2(all.data[at], all.data[all.plane_words + at]);
    }

    uint32* words = words_of(level, span.first + first, 0);
#pragma unroll
    for (int j = 0; j < slots_at_once; ++j)
      if (place.inside) words[j * slot_words + lane] = start[j] & mask;
    uint32* data = words + own_slot * slot_words + warp_lanes + place.row;
    data[0] = found.x;
    data[colour_words] = found.y;
  }
}
