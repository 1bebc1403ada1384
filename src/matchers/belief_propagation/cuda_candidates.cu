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
  const uint16* links;
  bool has_next;
  // The next tile's message for labels that it does not consider: the bound of its edge.
  uint32 bound;
  uint32 bytes;  // for __byte_perm(own, next)
};

__device__ __forceinline__ Sources find_sources(const CudaCandidateLevel& level, int colour,
                                                const Place& place, uint32 first_slot, uint32 truncation) {
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
  from.own = words_of(level, first_slot, 1 - colour) + sent;
  from.next = words_of(level, span_of(level, next).first, 1 - colour) + sent;
  from.data = words_of(level, first_slot, colour) + warp_lanes + (place.inside ? place.row : 0);
  from.links = level.slots.links + static_cast<int64>(first_slot) * directions + place.direction;
  from.has_next = has_next;
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

// The words of some slots, or their links.
struct Links {
  uint32 of[slots_at_once];
};
struct Batch {
  Received of[slots_at_once];
};

__device__ __forceinline__ Links load_links(const Sources& from, int first) {
  Links links;
#pragma unroll
  for (int j = 0; j < slots_at_once; ++j)
    links.of[j] = from.has_next ? from.links[(first + j) * directions] : no_link;
  return links;
}

__device__ __forceinline__ Batch receive(const Sources& from, const Links& links, int first) {
  Batch batch;
#pragma unroll
  for (int j = 0; j < slots_at_once; ++j) {
    batch.of[j] = {from.own[(first + j) * slot_words], from.bound, from.data[(first + j) * slot_words]};
    if (links.of[j] != no_link) batch.of[j].next = from.next[static_cast<int>(links.of[j]) * slot_words];
  }
  return batch;
}

// The labels of a tile's slots; each lane holds one of every 32.
class Labels {
 public:
  __device__ __forceinline__ Labels(const CudaCandidateLevel& level, const Span& span)
      : labels_(level.slots.labels + span.first), count_(static_cast<int>(span.count)) {
    fetch(0);
  }

  // Must be called before label() of slots from a multiple of 32 on.
  __device__ __forceinline__ void fetch(int first) {
    of_lane_ = labels_[min(first + static_cast<int>(threadIdx.x % warp_lanes), max(count_, 1) - 1)];
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

// Calls action(label, slot, received) for all slots of a tile in order. The words of the next slots, and the
// links of those after them, are loaded meanwhile.
template <class Action>
__device__ __forceinline__ void for_each_candidate(const Sources& from, Labels& labels,
                                                   const Action& action) {
  const int count = labels.count();
  Links links = load_links(from, 0);
  Batch batch = receive(from, links, 0);
  if (slots_at_once < count) links = load_links(from, slots_at_once);
#pragma unroll 1
  for (int first = 0; first < count; first += slots_at_once) {
    Batch next = {};
    if (first + slots_at_once < count) next = receive(from, links, first + slots_at_once);
    if (first + 2 * slots_at_once < count) links = load_links(from, first + 2 * slots_at_once);
    if (first > 0 && first % warp_lanes == 0) labels.fetch(first);
#pragma unroll
    for (int j = 0; j < slots_at_once; ++j) action(labels.label(first + j), first + j, batch.of[j]);
    batch = next;
  }
}

// What a warp works on: a part of the slots of a tile.
struct Work {
  Place place;
  Edge edge;
  Sources from;
  Labels labels;
  uint32 first_slot;
  int part, parts;  // its number, and the number of parts that are not empty
};

// Calls action(work) for each warp, after waiting for the previous kernel. `sharing` warps share a tile; then
// all warps of a block call the action, some with no slots. `candidates_are_new`: that kernel found the
// candidates. (Earlier kernels have ended when this one begins.)
template <int sharing, class Action>
__device__ __forceinline__ void in_tile(const CudaCandidateLevel& level, const CudaSmoothness& alike,
                                        int colour, bool candidates_are_new, const Action& action) {
  constexpr int tiles = warps / sharing;
  const int warp = threadIdx.x / warp_lanes, tile_x = blockIdx.x * tiles + warp / sharing;
  const bool is_there = tile_x < level.groups;
  if (candidates_are_new) wait_for_previous();
  if (sharing == 1 && !is_there) {
    if (!candidates_are_new) wait_for_previous();
    return;
  }
  const Place place = find_place(level, min(tile_x, level.groups - 1), blockIdx.y);
  const Edge edge = edge_of(level, alike, colour, place.y, place.tile_x, place.direction);
  const Span span = span_of(level, place.tile);
  const int all = is_there ? static_cast<int>(span.count) : 0;
  const int each = (all + sharing * slots_at_once - 1) / (sharing * slots_at_once) * slots_at_once;
  const int part = warp % sharing, begin = part * each, count = max(0, min(each, all - begin));
  const uint32 first = span.first + min(begin, static_cast<int>(span.count) - slots_at_once);
  const Labels labels(level, {first, static_cast<uint32>(count)});
  const Sources from = find_sources(level, colour, place, first, edge.truncation);
  if (!candidates_are_new) wait_for_previous();
  Work work{place, edge, from, labels, first, part, sharing == 1 ? 1 : (all + each - 1) / max(1, each)};
  action(work);
}

// Envelopes at the ends of the parts of a tile.
struct Ends {
  uint32 upwards[warps][warp_lanes], downwards[warps][warp_lanes], least[warps][warp_lanes];
  int first_label[warps], last_label[warps];
};

// A lower bound of message values at the first label of a part, and at its last one, by the slots of other
// parts.
struct Beyond {
  Split below, above;
};

// Exchanges the ends of the parts of a tile; `least` becomes the lowest value of all.
template <int sharing>
__device__ __forceinline__ Beyond exchange_ends(Ends& ends, const Work& work, const Split& slope,
                                                const Split& upwards, const Split& downwards, int first_label,
                                                int last_label, Split& least) {
  const int warp = threadIdx.x / warp_lanes, lane = threadIdx.x % warp_lanes;
  ends.upwards[warp][lane] = join(upwards);
  ends.downwards[warp][lane] = join(downwards);
  ends.least[warp][lane] = join(least);
  if (lane == 0) ends.first_label[warp] = first_label, ends.last_label[warp] = last_label;
  __syncthreads();
  Beyond beyond{all_halves(nothing), all_halves(nothing)};
#pragma unroll
  for (int part = 0; part < sharing; ++part) {
    if (part == work.part || part >= work.parts) continue;
    const int other = warp - work.part + part;
    const bool is_below = part < work.part;
    const Split end = split(is_below ? ends.upwards[other][lane] : ends.downwards[other][lane]),
                lowest = split(ends.least[other][lane]);
    const int distance =
        is_below ? first_label - ends.last_label[other] : ends.first_label[other] - last_label;
#pragma unroll
    for (int i = 0; i < halves; ++i) {
      const uint32 value = end.half[i] + slope.half[i] * distance;
      beyond.below.half[i] = is_below ? __vminu2(beyond.below.half[i], value) : beyond.below.half[i];
      beyond.above.half[i] = is_below ? beyond.above.half[i] : __vminu2(beyond.above.half[i], value);
      least.half[i] = __vminu2(least.half[i], lowest.half[i]);
    }
  }
  return beyond;
}

// One iteration: the messages of one colour. The message of a label is the minimum of two envelopes; the one
// from below is kept in memory until the one from above is known.
template <int sharing>
__device__ __forceinline__ void update(const CudaCandidateLevel& level, const CudaSmoothness& alike,
                                       int colour, bool candidates_are_new) {
  __shared__ uint32 shared[warps][SHARED_SLOTS][warp_lanes];
  static_assert(BOUND * LABELS + (nothing & 0xFFFF) < 0x10000);
  in_tile<sharing>(level, alike, colour, candidates_are_new, [&](Work& work) {
    const Place& place = work.place;
    Labels& labels = work.labels;
    const int lane = threadIdx.x % warp_lanes, count = labels.count();
    uint32* to = words_of(level, work.first_slot, colour) + lane;
    const bool fits = count <= SHARED_SLOTS;
    uint32* kept = fits ? &shared[threadIdx.x / warp_lanes][0][lane] : to;
    const int kept_words = fits ? warp_lanes : slot_words;
    const Split slope = split(work.edge.slope), truncation = split(work.edge.truncation);
    Split least = all_halves(nothing), reach = least, downwards = least;
    const int first_label = labels.label(0);
    int previous = first_label;
    for_each_candidate(work.from, labels, [&](int label, int slot, const Received& received) {
      const uint32 message = received.message(work.from);
      const Split h = split(received.belief(message) - message);
#pragma unroll
      for (int i = 0; i < halves; ++i) {
        least.half[i] = __vminu2(least.half[i], h.half[i]);
        reach.half[i] = __viaddmin_u16x2(reach.half[i], slope.half[i] * (label - previous), h.half[i]);
        if (sharing > 1)
          downwards.half[i] = __vminu2(downwards.half[i], h.half[i] + slope.half[i] * (label - first_label));
      }
      previous = label;
      kept[slot * kept_words] = join(reach);
    });
    Beyond beyond{all_halves(nothing), all_halves(nothing)};
    if constexpr (sharing > 1) {
      __shared__ Ends ends;
      beyond = exchange_ends<sharing>(ends, work, slope, reach, downwards, first_label, previous, least);
      if (count == 0) return;
    }
    const uint32 mask = place.inside ? inside_mask(pixels_in(level.width, place.y, colour), place.tile_x) : 0;
    Split highest;
#pragma unroll
    for (int i = 0; i < halves; ++i) {
      highest.half[i] = least.half[i] + truncation.half[i];
      reach.half[i] = __vminu2(highest.half[i], beyond.above.half[i]);
    }
    uint32 words[slots_at_once], words_before[slots_at_once];
    const auto load_words = [&](int first, uint32* to_words) {
#pragma unroll
      for (int j = 0; j < slots_at_once; ++j) to_words[j] = kept[(first + j) * kept_words];
    };
    load_words(count - slots_at_once, words);
#pragma unroll 1
    for (int first = count - slots_at_once; first >= 0; first -= slots_at_once) {
      if (count > warp_lanes) labels.fetch(first / warp_lanes * warp_lanes);
      load_words(max(0, first - slots_at_once), words_before);
#pragma unroll
      for (int j = slots_at_once - 1; j >= 0; --j) {
        Split from_below = split(words[j]);
        const int label = labels.label(first + j);
        Split message;
#pragma unroll
        for (int i = 0; i < halves; ++i) {
          if (sharing > 1)
            from_below.half[i] = __viaddmin_u16x2(beyond.below.half[i], slope.half[i] * (label - first_label),
                                                  from_below.half[i]);
          reach.half[i] = __vminu2(
              __viaddmin_u16x2(reach.half[i], slope.half[i] * (previous - label), from_below.half[i]),
              highest.half[i]);
          message.half[i] = reach.half[i] - least.half[i];
        }
        previous = label;
        if (place.inside) to[(first + j) * slot_words] = join(message) & mask;
      }
#pragma unroll
      for (int j = 0; j < slots_at_once; ++j) words[j] = words_before[j];
    }
  });
}

constexpr int most_sharing = warps < 4 ? warps : 4;

}  // namespace

#if CANDIDATE_LEAST_BLOCKS > 0
#define PARALLAX_UPDATE_BOUNDS __launch_bounds__(CANDIDATE_BLOCK, CANDIDATE_LEAST_BLOCKS)
#else
#define PARALLAX_UPDATE_BOUNDS __launch_bounds__(CANDIDATE_BLOCK)
#endif

// `first`: the level's first iteration.
PARALLAX_KERNEL PARALLAX_UPDATE_BOUNDS update_tiles(CudaCandidateLevel level, CudaSmoothness alike,
                                                    int colour, int first) {
  update<1>(level, alike, colour, first != 0);
}

// The same for levels with few tiles, which are shared by several warps.
PARALLAX_KERNEL __launch_bounds__(CANDIDATE_BLOCK)
    update_shared_tiles(CudaCandidateLevel level, CudaSmoothness alike, int colour, int first) {
  update<most_sharing>(level, alike, colour, first != 0);
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

// Finds the label of each pixel's lowest belief; warps share tiles. Both colours: grid.z = 2.
PARALLAX_KERNEL __launch_bounds__(CANDIDATE_BLOCK)
    find_tile_labels(CudaCandidateLevel level, CudaSmoothness alike, CudaLabels labels) {
  __shared__ uint32 lowest[warps][warp_lanes];
  const int colour = blockIdx.z;
  in_tile<most_sharing>(level, alike, colour, false, [&](Work& work) {
    const Place& place = work.place;
    uint32 best = ~0u;  // with its label in the lower half
    for_each_candidate(work.from, work.labels, [&](int label, int, const Received& received) {
      const uint32 value = value_of_pixel(received.belief(received.message(work.from)), place);
      best = min(best, value << 16 | label);
    });
    const int warp = threadIdx.x / warp_lanes, lane = threadIdx.x % warp_lanes;
    lowest[warp][lane] = best;
    __syncthreads();
    if (work.part > 0) return;
#pragma unroll
    for (int part = 1; part < most_sharing; ++part) best = min(best, lowest[warp + part][lane]);
    const int x = column_of(place, colour);
    if (work.parts > 0 && place.inside && x < level.width)
      labels.of[static_cast<int64>(place.y) * labels.width + x] = best & 0xFFFF;
  });
}

// Both colours: grid.z = 2.
PARALLAX_KERNEL __launch_bounds__(CANDIDATE_BLOCK)
    decide_tiles(CudaCandidateLevel level, CudaSmoothness alike, CudaDecision to) {
  const int colour = blockIdx.z;
  in_tile<1>(level, alike, colour, false, [&](Work& work) {
    const Place& place = work.place;
    Decision decision;
    for_each_candidate(work.from, work.labels, [&](int label, int, const Received& received) {
      decision.take(label, value_of_pixel(received.belief(received.message(work.from)), place));
    });
    const int x = column_of(place, colour);
    if (!place.inside || x >= level.width) return;
    const uint8 status = to.from_start[static_cast<int64>(place.y) * to.from_start_stride + x];
    write_decision<SUB_PIXEL>(to, x, place.y, level.width, LABELS, status, decision.beliefs());
  });
}
