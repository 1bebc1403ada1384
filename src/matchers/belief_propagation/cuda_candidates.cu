// SPDX-License-Identifier: Apache-2.0
// Belief propagation on CUDA for levels whose tiles consider only candidate labels (candidates.h); in bytes.
//
// A group, the four pixels of one colour in a row, is a row of a tile. The candidates of a tile are numbered
// from 0 on, in order: these numbers are its slots.
//
//   data costs   [colour][tile][slot][row of the tile]
//   messages     [colour][tile][slot][direction][row of the tile]
//
// with room for all labels. There are no groups outside the image: messages from beyond the border are 0.
//
// A warp works on a tile: a lane receives and sends the messages of one direction for a row, slot after slot.
//
// Specialised by LABELS, BOUND, EDGES, HAS_OUTSIDE, SUB_PIXEL, as in cuda_integer.cu; by
// CANDIDATE_BLOCK (threads) and CANDIDATE_LEAST_BLOCKS, like BLOCK and LEAST_BLOCKS there; by RANGES and
// SLACK (candidate_ranges, candidate_slack), SHARED_SLOTS (slots of a tile for which shared memory has room),
// SIDE (pixels of the image along a side of a pixel of the level for which sum_costs() is called); by
// EXISTENCE_BLOCK, SUM_BLOCK and OPEN_BLOCK (threads of find_existence(), sum_costs() and open_tiles()); and
// by the macros of cuda_groups.h.
#include "matchers/belief_propagation/cuda_groups.h"

using namespace parallax::belief_propagation;

namespace {

static_assert(BITS == 8);
constexpr int tile_side = 8;
constexpr int warp_lanes = 32, warps = CANDIDATE_BLOCK / warp_lanes;
// Words of a tile: data costs, and messages.
constexpr int64 tile_words = static_cast<int64>(LABELS) * tile_side,
                tile_message_words = static_cast<int64>(LABELS) * warp_lanes;
static_assert(directions * tile_side == warp_lanes);
// Sentinel above every value; sums with it cannot overflow.
constexpr uint32 nothing = 0x00FF00FFu;

// Ranges as they are stored: the first label, and in the upper half the label after the last. Unused ranges
// are empty, and begin at the end of the last one.
constexpr int stored_ranges = 4;
struct StoredRanges {
  uint32 of[stored_ranges];
};

// The slots of the labels in a tile's ranges.
struct Slots {
  int first[RANGES], labels[RANGES];
  int slot[RANGES];  // slot of the first label

  // The slot of a label; −1 if it is no candidate.
  __device__ __forceinline__ int of(int label) const {
    int found = -1;
#pragma unroll
    for (int i = 0; i < RANGES; ++i) {
      const int index = label - first[i];
      if (static_cast<uint32>(index) < static_cast<uint32>(labels[i])) found = slot[i] + index;
    }
    return found;
  }
  __device__ __forceinline__ int count() const {
    return slot[RANGES - 1] + labels[RANGES - 1];
  }
};

__device__ __forceinline__ Slots slots_of(const StoredRanges& ranges) {
  Slots slots;
  int count = 0;
#pragma unroll
  for (int i = 0; i < RANGES; ++i) {
    slots.first[i] = ranges.of[i] & 0xFFFF;
    slots.labels[i] = static_cast<int>(ranges.of[i] >> 16) - slots.first[i];
    slots.slot[i] = count;
    count += slots.labels[i];
  }
  return slots;
}

__device__ __forceinline__ StoredRanges ranges_of(const CudaCandidateLevel& level, int tile) {
  StoredRanges ranges;
  load<stored_ranges>(level.ranges + static_cast<int64>(tile) * stored_ranges, ranges.of);
  return ranges;
}

// Lanes

// The row and the direction of a lane.
struct Place {
  int tile, tile_x, row, y, direction;
  bool inside;
};

__device__ __forceinline__ Place find_place(const CudaCandidateLevel& level, int tile_x, int tile_y) {
  const int lane = threadIdx.x % warp_lanes;
  Place place;
  place.tile = tile_y * level.groups + tile_x;
  place.tile_x = tile_x;
  place.row = lane % tile_side;
  place.y = tile_y * tile_side + place.row;
  place.direction = lane / tile_side;
  place.inside = place.y < level.height;
  return place;
}

__device__ __forceinline__ uint32* messages_of(const CudaCandidateLevel& level, int colour, int tile) {
  return level.messages + (colour == 0 ? 0 : directions * level.plane_words) + tile * tile_message_words;
}

// Position of the messages in a slot.
__device__ __forceinline__ int message_at(int direction, int row) {
  return direction * tile_side + row;
}

// The slope and the truncation of a lane's edges, in the form in which weights() has them for all directions.
struct Edge {
  uint32 slope, truncation;
};

__device__ __forceinline__ Edge edge_of(const CudaCandidateLevel& level, const CudaSmoothness& alike,
                                        int colour, int y, int group, int direction) {
  if constexpr (!EDGES) return {alike.slope, alike.truncation};
  const int64 row = static_cast<int64>(colour) * level.height + min(y, level.height - 1);
  uint32 pair[2];
  load<2>(level.edges + ((row * level.groups + group) * directions + direction) * 2, pair);
  return {pair[0], pair[1]};
}

// The inputs of a lane: bytes of a word of its own tile, and of a word of the next tile in its direction.
struct Sources {
  const uint32 *own, *next, *data;  // addresses of slot 0
  Slots slots_of_next;
  // The next tile's message for labels that it does not consider: the bound of its edge.
  uint32 bound;
  uint32 bytes;  // for __byte_perm(own, next)
};

__device__ __forceinline__ Sources find_sources(const CudaCandidateLevel& level, int colour,
                                                const Place& place, uint32 truncation) {
  constexpr uint32 all_of_own = 0x3210, all_of_next = 0x7654, shifted_up = 0x2107, shifted_down = 0x4321;
  const bool odd = parity(place.y, colour) != 0, vertical = place.direction < left_side;
  const int step = place.direction % 2 == 0 ? -1 : 1;
  const int row = vertical ? place.row + step : place.row, y = vertical ? place.y + step : place.y;
  // The last of the pixels beside a group may be in the next tile.
  const bool beside = !vertical && odd == (place.direction == right_side);
  const bool beyond = vertical && (row < 0 || row >= tile_side || y >= level.height);
  const int next_x = place.tile_x + (beside ? step : 0);
  const bool has_next = place.inside && (beside || beyond) && y >= 0 && y < level.height && next_x >= 0 &&
                        next_x < level.groups;
  const int next = !has_next ? place.tile : place.tile + (vertical ? step * level.groups : step);
  // Out-of-range lanes load a valid address and discard the value.
  const int sent = message_at(place.direction ^ 1, !place.inside         ? 0
                                                   : beyond && !has_next ? place.row
                                                                         : row & (tile_side - 1));
  Sources from;
  from.own = messages_of(level, 1 - colour, place.tile) + sent;
  from.next = messages_of(level, 1 - colour, next) + sent;
  from.data = level.data + (colour == 0 ? 0 : level.plane_words) + place.tile * tile_words +
              (place.inside ? place.row : 0);
  from.slots_of_next = slots_of(has_next ? ranges_of(level, next) : StoredRanges{});
  from.bytes = beyond ? all_of_next : !beside ? all_of_own : odd ? shifted_down : shifted_up;
  from.bound = !has_next ? 0 : vertical ? truncation : odd ? truncation >> 3 * BITS : truncation << 3 * BITS;
  return from;
}

// The words of a slot, for a lane.
struct Received {
  uint32 own, next, data;

  __device__ __forceinline__ uint32 message(const Sources& from) const {
    return __byte_perm(own, next, from.bytes);
  }
  // The lanes of a row have one message each.
  __device__ __forceinline__ uint32 belief(uint32 message) const {
    uint32 sum = message;
#pragma unroll
    for (int step = tile_side; step < warp_lanes; step *= 2) sum += __shfl_xor_sync(all_lanes, sum, step);
    return sum + data;
  }
};

__device__ __forceinline__ Received receive(const Sources& from, int label, int slot) {
  const int slot_of_next = from.slots_of_next.of(label);
  Received received = {from.own[slot * warp_lanes], from.bound, from.data[slot * tile_side]};
  if (slot_of_next >= 0) received.next = from.next[slot_of_next * warp_lanes];
  return received;
}

// The labels of a tile's slots; each lane holds one of every 32. Slots beyond the last have its label.
class Labels {
 public:
  __device__ __forceinline__ Labels(const CudaCandidateLevel& level, int tile)
      : labels_(level.labels + tile * static_cast<int64>(LABELS)),
        count_(slots_of(ranges_of(level, tile)).count()) {
    fetch(0);
  }

  // Must be called before label() of slots from a multiple of 32 on.
  __device__ __forceinline__ void fetch(int first) {
    of_lane_ = labels_[min(first + static_cast<int>(threadIdx.x % warp_lanes), count_ - 1)];
  }
  __device__ __forceinline__ int label(int slot) const {
    return static_cast<int>(__shfl_sync(all_lanes, of_lane_, slot % warp_lanes));
  }
  __device__ __forceinline__ int count() const { return count_; }

 private:
  const uint16* labels_;
  int count_;
  uint32 of_lane_ = 0;
};

constexpr int at_once = 8;  // slots whose words are loaded together
static_assert(warp_lanes % at_once == 0);

// Calls action(label, slot, received) for all candidates of a tile in order, and for some slots beyond the
// last, because branches in between would make a lane wait for each word.
template <class Action>
__device__ __forceinline__ void for_each_candidate(const Sources& from, Labels& labels,
                                                   const Action& action) {
#pragma unroll 1
  for (int first = 0; first < labels.count(); first += at_once) {
    if (first > 0 && first % warp_lanes == 0) labels.fetch(first);
    int label[at_once];
    Received received[at_once];
#pragma unroll
    for (int j = 0; j < at_once; ++j) label[j] = labels.label(first + j);
#pragma unroll
    for (int j = 0; j < at_once; ++j)
      received[j] = receive(from, label[j], min(first + j, labels.count() - 1));
#pragma unroll
    for (int j = 0; j < at_once; ++j) action(label[j], first + j, received[j]);
  }
}

// Calls action(place, labels, sources, edge) for the tile of each warp, after waiting for the previous
// kernel. `candidates_are_new`: that kernel found the candidates. (Earlier kernels have ended when this one
// begins.)
template <class Action>
__device__ __forceinline__ void in_tile(const CudaCandidateLevel& level, const CudaSmoothness& alike,
                                        int colour, bool candidates_are_new, const Action& action) {
  const int tile_x = blockIdx.x * warps + threadIdx.x / warp_lanes;
  if (candidates_are_new) wait_for_previous();
  if (tile_x < level.groups) {
    const Place place = find_place(level, tile_x, blockIdx.y);
    const Edge edge = edge_of(level, alike, colour, place.y, place.tile_x, place.direction);
    Labels labels(level, place.tile);
    const Sources from = find_sources(level, colour, place, edge.truncation);
    if (!candidates_are_new) wait_for_previous();
    action(place, labels, from, edge);
  } else if (!candidates_are_new) {
    wait_for_previous();
  }
}

}  // namespace

#if CANDIDATE_LEAST_BLOCKS > 0
#define PARALLAX_UPDATE_BOUNDS __launch_bounds__(CANDIDATE_BLOCK, CANDIDATE_LEAST_BLOCKS)
#else
#define PARALLAX_UPDATE_BOUNDS __launch_bounds__(CANDIDATE_BLOCK)
#endif

// One iteration: the messages of one colour. `first`: the level's first iteration. The message of a label is
// the minimum of two envelopes; the one from below is kept in memory until the one from above is known.
PARALLAX_KERNEL PARALLAX_UPDATE_BOUNDS update_tiles(CudaCandidateLevel level, CudaSmoothness alike,
                                                    int colour, int first) {
  __shared__ uint32 shared[warps][SHARED_SLOTS][warp_lanes];
  static_assert(BOUND * LABELS + (nothing & 0xFFFF) < 0x10000);
  in_tile(level, alike, colour, first != 0,
          [&](const Place& place, Labels& labels, const Sources& from, const Edge& edge) {
            const int lane = threadIdx.x % warp_lanes, count = labels.count();
            uint32* to = messages_of(level, colour, place.tile) + lane;
            uint32* kept = count <= SHARED_SLOTS ? &shared[threadIdx.x / warp_lanes][0][lane] : to;
            const Split slope = split(edge.slope), truncation = split(edge.truncation);
            Split least = all_halves(nothing), reach = least;
            int previous = 0;
            for_each_candidate(from, labels, [&](int label, int slot, const Received& received) {
              const uint32 message = received.message(from);
              const bool exists = slot < count;
              const uint32 belief = received.belief(message);
              const Split h = split(exists ? belief - message : ~0u);
#pragma unroll
              for (int i = 0; i < halves; ++i) {
                least.half[i] = __vminu2(least.half[i], h.half[i]);
                reach.half[i] =
                    __viaddmin_u16x2(reach.half[i], slope.half[i] * (label - previous), h.half[i]);
              }
              previous = label;
              if (exists) kept[slot * warp_lanes] = join(reach);
            });
            const uint32 mask =
                place.inside ? inside_mask(pixels_in(level.width, place.y, colour), place.tile_x) : 0;
            Split highest;
#pragma unroll
            for (int i = 0; i < halves; ++i) highest.half[i] = least.half[i] + truncation.half[i];
            reach = highest;
#pragma unroll 1
            for (int first = (count - 1) / at_once * at_once; first >= 0; first -= at_once) {
              if (count > warp_lanes) labels.fetch(first / warp_lanes * warp_lanes);
              uint32 words[at_once];
#pragma unroll
              for (int j = 0; j < at_once; ++j) words[j] = kept[min(first + j, count - 1) * warp_lanes];
#pragma unroll
              for (int j = at_once - 1; j >= 0; --j) {
                const bool exists = first + j < count;
                const Split from_below = split(exists ? words[j] : ~0u);
                const int label = labels.label(first + j);
                Split message;
#pragma unroll
                for (int i = 0; i < halves; ++i) {
                  reach.half[i] = __vminu2(
                      __viaddmin_u16x2(reach.half[i], slope.half[i] * (previous - label), from_below.half[i]),
                      highest.half[i]);
                  message.half[i] = reach.half[i] - least.half[i];
                }
                previous = label;
                if (exists && place.inside) to[(first + j) * warp_lanes] = join(message) & mask;
              }
            }
          });
}

// Decisions

namespace {

// The lane of direction i decides pixel i of a group.
__device__ __forceinline__ uint32 value_of_pixel(uint32 belief, const Place& place) {
  return element(belief, place.direction);
}

__device__ __forceinline__ int column_of(const Place& place, int colour) {
  return 2 * (place.tile_x * group_pixels + place.direction) + parity(place.y, colour);
}

constexpr uint32 no_belief = 0xFFFF;

__device__ __forceinline__ float as_float(uint32 belief) {
  return belief == no_belief ? no_value : static_cast<float>(belief);
}

// The beliefs of a pixel so far, in the order of labels. Ties go to the lowest label.
class Decision {
 public:
  __device__ __forceinline__ void take(int label, uint32 value) {
    const bool adjoins = label == last_label_ + 1;
    if (value < best_) {
      before_ = adjoins ? last_ : no_belief;
      best_ = value, label_ = label, after_ = no_belief;
    } else if (label == label_ + 1) {
      after_ = value;
    }
    last_ = value;
    last_label_ = label;
  }

  __device__ __forceinline__ Beliefs beliefs() const {
    return {label_, as_float(before_), as_float(best_), as_float(after_), no_value};
  }

 private:
  uint32 best_ = no_belief, before_ = no_belief, after_ = no_belief, last_ = no_belief;
  int label_ = -3, last_label_ = -3;
};

}  // namespace

// Finds the label of each pixel's lowest belief. Both colours: grid.z = 2.
PARALLAX_KERNEL __launch_bounds__(CANDIDATE_BLOCK)
    find_tile_labels(CudaCandidateLevel level, CudaSmoothness alike, CudaLabels labels) {
  const int colour = blockIdx.z;
  in_tile(level, alike, colour, false,
          [&](const Place& place, Labels& candidates, const Sources& from, const Edge&) {
            uint32 best = ~0u;  // with its label in the lower half
            for_each_candidate(from, candidates, [&](int label, int slot, const Received& received) {
              const uint32 value = value_of_pixel(received.belief(received.message(from)), place);
              best = min(best, slot < candidates.count() ? value << 16 | label : ~0u);
            });
            const int x = column_of(place, colour);
            if (place.inside && x < level.width)
              labels.of[static_cast<int64>(place.y) * labels.width + x] = best & 0xFFFF;
          });
}

// Both colours: grid.z = 2.
PARALLAX_KERNEL __launch_bounds__(CANDIDATE_BLOCK)
    decide_tiles(CudaCandidateLevel level, CudaSmoothness alike, CudaDecision to) {
  const int colour = blockIdx.z;
  in_tile(level, alike, colour, false,
          [&](const Place& place, Labels& candidates, const Sources& from, const Edge&) {
            Decision decision;
            for_each_candidate(from, candidates, [&](int label, int slot, const Received& received) {
              const uint32 value = value_of_pixel(received.belief(received.message(from)), place);
              const bool exists = slot < candidates.count();
              decision.take(exists ? label : -1, exists ? value : no_belief);
            });
            const int x = column_of(place, colour);
            if (!place.inside || x >= level.width) return;
            const uint8 status = to.from_start[static_cast<int64>(place.y) * to.from_start_stride + x];
            write_decision<SUB_PIXEL>(to, x, place.y, level.width, LABELS, status, decision.beliefs());
          });
}

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

// Begins a level: finds the candidates of a tile, its data costs, and the initial messages of colour 0; those
// of colour 1 are never read. One block per tile. `side`: pixels of the image along a side of a pixel of the
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
