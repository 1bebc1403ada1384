// SPDX-License-Identifier: Apache-2.0
// Belief propagation on CUDA for levels whose tiles consider only candidate labels: messages and decisions.
//
// A warp works on a tile: a lane receives and sends the messages of one direction for a row, slot after slot.
//
// Specialised by LABELS, BOUND, EDGES, SUB_PIXEL, as in cuda_integer.cu and cuda_updates.cu; by
// CANDIDATE_BLOCK (threads) and CANDIDATE_LEAST_BLOCKS, like BLOCK and LEAST_BLOCKS there; by SHARED_SLOTS
// (slots of a tile for which shared memory has room); and by the macros of cuda_tiles.h.
#include "matchers/belief_propagation/cuda_tiles.h"

using namespace parallax::belief_propagation;

namespace {

constexpr int warps = CANDIDATE_BLOCK / warp_lanes;
// Sentinel above every value; sums with it cannot overflow.
constexpr uint32 nothing = 0x00FF00FFu;

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
