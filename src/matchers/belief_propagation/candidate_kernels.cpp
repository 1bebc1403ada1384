// SPDX-License-Identifier: Apache-2.0
#include "matchers/belief_propagation/candidate_kernels.h"

#include <cstdlib>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "matchers/belief_propagation/candidate_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "data_cost/differences-inl.h"
#include "devices/cpu/dispatch.h"
#include "matchers/belief_propagation/belief_propagation.h"

HWY_BEFORE_NAMESPACE();
namespace parallax::belief_propagation::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Direction::above, Direction::below, Direction::left, Direction::right;

// The lanes of one colour, or as many as fit in a vector.
using Lanes = hn::CappedTag<std::uint8_t, tile_lanes>;
using Bytes = hn::Vec<Lanes>;
using LaneMask = hn::Mask<Lanes>;

constexpr std::uint8_t highest = 255;
// A message has risen to its bound after this many labels.
constexpr int longest_rise = 31;

HWY_INLINE LaneMask lanes_where(int offset, bool (*is)(int lane)) {
  HWY_ALIGN std::uint8_t bytes[tile_lanes];
  for (int lane = 0; lane < tile_lanes; ++lane) bytes[lane] = is(lane) ? 255 : 0;
  return hn::MaskFromVec(hn::LoadU(Lanes(), bytes + offset));
}

// The four messages to the lanes from `offset` on of one colour, and their data costs.
struct Received {
  HWY_INLINE Received(const TileLabels& tile, int colour, int offset)
      : labels(tile), own(colour), other(1 - colour), from(offset) {
    top = lanes_where(offset, [](int lane) { return lane % 8 == 0; });
    bottom = lanes_where(offset, [](int lane) { return lane % 8 == 7; });
    first = lanes_where(offset, [](int lane) { return lane < 8; });
    last = lanes_where(offset, [](int lane) { return lane >= 24; });
    // Lanes whose left neighbour is the same lane; of the others, the right one is.
    right_half = colour == 0 ? lanes_where(offset, [](int lane) { return lane % 2 == 1; })
                             : lanes_where(offset, [](int lane) { return lane % 2 == 0; });
  }

  HWY_INLINE const std::uint8_t* sent(const TileMessages& by, int direction) const {
    return by.of[other][direction] + from;
  }
  static HWY_INLINE Bytes at(const std::uint8_t* bytes) { return hn::LoadU(Lanes(), bytes); }

  HWY_INLINE void load(int k) {
    const TileMessages& here = labels.records[k].messages;
    const auto beyond = [&](int side, int direction)
                            HWY_ATTR { return sent(*labels.around[side][k], direction); };
    messages[above] = hn::IfThenElse(top, at(beyond(above, below) + 7), at(sent(here, below) - 1));
    messages[below] = hn::IfThenElse(bottom, at(beyond(below, above) - 7), at(sent(here, above) + 1));
    const std::uint8_t* to_right = sent(here, right);
    messages[left] = hn::IfThenElse(right_half, at(to_right),
                                    hn::IfThenElse(first, at(beyond(left, right) + 24), at(to_right - 8)));
    const std::uint8_t* to_left = sent(here, left);
    messages[right] = hn::IfThenElse(
        right_half, hn::IfThenElse(last, at(beyond(right, left) - 24), at(to_left + 8)), at(to_left));
    belief = at(labels.records[k].data[own] + from);
    for (int d = 0; d < direction_count; ++d) belief = hn::Add(belief, messages[d]);
  }

  const TileLabels& labels;
  int own, other, from;
  LaneMask top, bottom, first, last, right_half;
  Bytes messages[direction_count], belief;
};

// Raises the lower envelopes over labels that are not considered.
HWY_INLINE void rise(Bytes (&reach)[direction_count], const Bytes (&slopes)[direction_count], int labels) {
  for (int i = std::min(labels, longest_rise); i > 0; --i)
    for (int d = 0; d < direction_count; ++d) reach[d] = hn::SaturatedAdd(reach[d], slopes[d]);
}

// The passes over the row offsets of each disparity, which end the update of one direction: out(k) is where
// the message of record k is.
template <class Out>
HWY_INLINE void pass_across_rows(const TileLabels& tile, Bytes bound, int row_slope, const Out& out) {
  const Lanes tag;
  const int pitch = tile.pitch(), all = tile.all();
  const Bytes step = hn::Set(tag, static_cast<std::uint8_t>(row_slope));
  for (int k = 0; k < pitch; ++k) hn::StoreU(hn::Min(hn::LoadU(tag, out(k)), bound), tag, out(k));
  const auto take = [&](int k, int from) HWY_ATTR {
    const Bytes near = hn::Min(hn::SaturatedAdd(hn::LoadU(tag, out(from)), step), bound);
    hn::StoreU(hn::Min(hn::LoadU(tag, out(k)), near), tag, out(k));
  };
  for (int k = pitch; k < all; ++k) take(k, k - pitch);
  for (int k = all - pitch - 1; k >= 0; --k) take(k, k + pitch);
}

HWY_INLINE void update_lanes(const TileLabels& tile, int colour, int offset, const TileMessages* const* edges,
                             int row_slope) {
  const Lanes tag;
  Received in(tile, colour, offset);
  const auto edge = [&](EdgeTable table, int d)
                        HWY_ATTR { return in.at(edges[table]->of[colour][d] + offset); };
  Bytes slope[direction_count], least[direction_count], reach[direction_count];
  for (int d = 0; d < direction_count; ++d) {
    slope[d] = edge(slopes, d);
    least[d] = hn::Set(tag, highest);
  }
  const auto out = [&](int k, int d) HWY_ATTR { return tile.records[k].messages.of[colour][d] + offset; };
  const auto gap = [&](int k) { return tile.labels[k + 1] - tile.labels[k]; };
  const int pitch = tile.pitch(), all = tile.all();
  for (int first = 0; first < all; first += pitch) {
    Bytes min_of_row[direction_count];
    for (int d = 0; d < direction_count; ++d) min_of_row[d] = reach[d] = hn::Set(tag, highest);
    for (int k = 0; k < tile.count; ++k) {
      in.load(first + k);
      if (k > 0) rise(reach, slope, gap(k - 1) - 1);
      for (int d = 0; d < direction_count; ++d) {
        const Bytes h = hn::Sub(in.belief, in.messages[d]);
        min_of_row[d] = hn::Min(min_of_row[d], h);
        reach[d] = hn::Min(h, hn::SaturatedAdd(reach[d], slope[d]));
        hn::StoreU(reach[d], tag, out(first + k, d));
      }
    }
    for (int d = 0; d < direction_count; ++d) {
      least[d] = hn::Min(least[d], min_of_row[d]);
      if (tile.has_others) hn::StoreU(min_of_row[d], tag, out(first + tile.count, d));
    }
  }
  for (int first = 0; first < all; first += pitch) {
    Bytes limit[direction_count];
    for (int d = 0; d < direction_count; ++d) {
      const Bytes min_of_row = tile.has_others ? in.at(out(first + tile.count, d)) : least[d];
      reach[d] = limit[d] = hn::SaturatedAdd(min_of_row, edge(truncations, d));
      if (tile.has_others) hn::StoreU(hn::Sub(limit[d], least[d]), tag, out(first + tile.count, d));
    }
    for (int k = tile.count - 1; k >= 0; --k) {
      if (k + 1 < tile.count) rise(reach, slope, gap(k) - 1);
      for (int d = 0; d < direction_count; ++d) {
        reach[d] = hn::Min(hn::Min(in.at(out(first + k, d)), hn::SaturatedAdd(reach[d], slope[d])), limit[d]);
        hn::StoreU(hn::Sub(reach[d], least[d]), tag, out(first + k, d));
      }
    }
  }
  for (int d = 0; d < direction_count && tile.row_offsets > 1; ++d)
    pass_across_rows(tile, edge(row_bounds, d), row_slope, [&](int k) { return out(k, d); });
}

void update_tile_here(const TileLabels& tile, int colour, const TileMessages* const* edges, int row_slope) {
  const int lanes = static_cast<int>(hn::Lanes(Lanes()));
  for (int offset = 0; offset < tile_lanes; offset += lanes)
    update_lanes(tile, colour, offset, edges, row_slope);
}

// The lowest beliefs of some lanes. A label is in two bytes.
struct Lowest {
  // Compiled for the target, as an implicit constructor is not.
  HWY_INLINE Lowest() {}

  Bytes best, before, after, low, high;
};

HWY_INLINE Bytes low_byte(int label) {
  return hn::Set(Lanes(), static_cast<std::uint8_t>(label % 256));
}
HWY_INLINE Bytes high_byte(int label) {
  return hn::Set(Lanes(), static_cast<std::uint8_t>(label / 256));
}

HWY_INLINE bool is_next(const TileLabels& tile, int k) {
  return k > 0 && k < tile.count && tile.labels[k - 1] + 1 == tile.labels[k];
}

template <Wanted wanted>
HWY_INLINE Lowest find_lowest(const TileLabels& tile, int colour, int offset) {
  const Lanes tag;
  const Bytes none = hn::Set(tag, no_belief);
  Received in(tile, colour, offset);
  Lowest lowest;
  lowest.best = lowest.before = lowest.after = none;
  lowest.low = lowest.high = hn::Zero(tag);
  Bytes previous = none, was_better = hn::Zero(tag);
  for (int k = 0; k < tile.count; ++k) {
    in.load(k);
    const int label = tile.labels[k];
    const LaneMask better = hn::Lt(in.belief, lowest.best);
    lowest.best = hn::Min(lowest.best, in.belief);
    lowest.low = hn::IfThenElse(better, low_byte(label), lowest.low);
    if (label > 255) lowest.high = hn::IfThenElse(better, high_byte(label), lowest.high);
    if constexpr (wanted != Wanted::labels) {
      const bool next = is_next(tile, k);
      lowest.after = hn::IfVecThenElse(was_better, next ? in.belief : none, lowest.after);
      lowest.before = hn::IfThenElse(better, next ? previous : none, lowest.before);
      was_better = hn::VecFromMask(tag, better);
      previous = in.belief;
    }
  }
  lowest.after = hn::IfVecThenElse(was_better, none, lowest.after);
  return lowest;
}

template <Wanted wanted>
void decide_tile_as(const TileLabels& tile, int colour, TileDecision& decision) {
  const Lanes tag;
  HWY_ALIGN std::uint8_t lows[tile_lanes], highs[tile_lanes];
  for (int offset = 0; offset < tile_lanes; offset += static_cast<int>(hn::Lanes(tag))) {
    const Lowest lowest = find_lowest<wanted>(tile, colour, offset);
    hn::StoreU(lowest.low, tag, lows + offset);
    hn::StoreU(lowest.high, tag, highs + offset);
    hn::StoreU(lowest.before, tag, decision.before + offset);
    hn::StoreU(lowest.best, tag, decision.best + offset);
    hn::StoreU(lowest.after, tag, decision.after + offset);
  }
  for (int lane = 0; lane < tile_lanes; ++lane)
    decision.labels[lane] = static_cast<std::uint16_t>(highs[lane] * 256 + lows[lane]);
}

// The lowest beliefs of some lanes, of all row offsets, and which candidates they are, in two bytes.
HWY_INLINE void find_lowest_of_rows(const TileLabels& tile, int colour, int offset, std::uint8_t* beliefs,
                                    Lowest& lowest) {
  const Lanes tag;
  Received in(tile, colour, offset);
  lowest.best = hn::Set(tag, no_belief);
  lowest.low = lowest.high = hn::Zero(tag);
  int candidate = 0;
  for (int first = 0; first < tile.all(); first += tile.pitch()) {
    for (int k = first; k < first + tile.count; ++k, ++candidate) {
      in.load(k);
      const LaneMask better = hn::Lt(in.belief, lowest.best);
      lowest.best = hn::Min(lowest.best, in.belief);
      lowest.low = hn::IfThenElse(better, low_byte(candidate), lowest.low);
      if (candidate > 255) lowest.high = hn::IfThenElse(better, high_byte(candidate), lowest.high);
      hn::StoreU(in.belief, tag, beliefs + candidate * tile_lanes + offset);
    }
  }
}

// Decides a tile that considers several row offsets.
void decide_rows(const TileLabels& tile, int colour, Wanted wanted, std::uint8_t* scratch,
                 TileDecision& decision) {
  const Lanes tag;
  const int lanes = static_cast<int>(hn::Lanes(tag));
  HWY_ALIGN std::uint8_t lows[tile_lanes], highs[tile_lanes];
  for (int offset = 0; offset < tile_lanes; offset += lanes) {
    Lowest lowest;
    find_lowest_of_rows(tile, colour, offset, scratch, lowest);
    hn::StoreU(lowest.low, tag, lows + offset);
    hn::StoreU(lowest.high, tag, highs + offset);
    hn::StoreU(lowest.best, tag, decision.best + offset);
  }
  for (int lane = 0; lane < tile_lanes; ++lane) {
    const int best = highs[lane] * 256 + lows[lane], row = best / tile.count, k = best % tile.count;
    decision.labels[lane] = tile.labels[k];
    decision.rows[lane] = static_cast<std::uint8_t>(row);
    if (wanted == Wanted::labels) continue;
    const auto belief_of = [&](int candidate) { return scratch[candidate * tile_lanes + lane]; };
    const bool has_before = is_next(tile, k), has_after = is_next(tile, k + 1);
    decision.row_before[lane] = row > 0 ? belief_of(best - tile.count) : no_belief;
    decision.row_after[lane] = row + 1 < tile.row_offsets ? belief_of(best + tile.count) : no_belief;
    decision.before[lane] = has_before ? belief_of(best - 1) : no_belief;
    decision.after[lane] = has_after ? belief_of(best + 1) : no_belief;
  }
}

void decide_tile_here(const TileLabels& tile, int colour, Wanted wanted, std::uint8_t* scratch,
                      TileDecision& decision) {
  if (tile.row_offsets > 1) return decide_rows(tile, colour, wanted, scratch, decision);
  if (wanted == Wanted::labels) return decide_tile_as<Wanted::labels>(tile, colour, decision);
  decide_tile_as<Wanted::neighbours>(tile, colour, decision);
}

void locate_tile_here(const TileAxis& axis, float* values) {
  const hn::CappedTag<float, tile_lanes> floats;
  const hn::RebindToSigned<decltype(floats)> integers;
  const hn::Rebind<std::uint8_t, decltype(floats)> bytes;
  const hn::Rebind<std::uint16_t, decltype(floats)> words;
  const auto none = hn::Set(integers, no_belief);
  for (int i = 0; i < tile_lanes; i += static_cast<int>(hn::Lanes(floats))) {
    const auto label = hn::PromoteTo(integers, hn::LoadU(words, axis.labels + i));
    const auto integer = hn::ConvertTo(floats, hn::Add(label, hn::Set(integers, axis.first)));
    const auto before = hn::PromoteTo(integers, hn::LoadU(bytes, axis.before + i)),
               best = hn::PromoteTo(integers, hn::LoadU(bytes, axis.best + i)),
               after = hn::PromoteTo(integers, hn::LoadU(bytes, axis.after + i));
    const auto rise = axis.sub_pixel == SubPixel::parabola
                          ? hn::Add(hn::Sub(before, best), hn::Sub(after, best))
                          : hn::Sub(hn::Max(before, after), best);
    const auto offset =
        hn::Div(hn::ConvertTo(floats, hn::Sub(before, after)), hn::ConvertTo(floats, hn::ShiftLeft<1>(rise)));
    const auto has_both = hn::Lt(hn::Max(before, after), none);
    const auto found = axis.sub_pixel == SubPixel::none ? integer
                                                        : hn::IfThenElse(hn::RebindMask(floats, has_both),
                                                                         hn::Add(integer, offset), integer);
    hn::StoreU(found, floats, values + i);
  }
}

// Both colours of a tile, or as many of its columns as fit in a vector.
using Pixels = hn::CappedTag<std::uint8_t, tile_pixels>;
using PixelBytes = hn::Vec<Pixels>;
constexpr int pixel_lanes = hn::MaxLanes(Pixels());

// Costs of 64 distances.
class CostTable {
#if HWY_TARGET <= HWY_AVX3_DL
 public:
  HWY_INLINE explicit CostTable(const std::uint8_t* costs) : all_(hn::LoadU(Pixels(), costs)) {}
  // Highway has no lookup in a table of 64 bytes.
  HWY_INLINE PixelBytes at(PixelBytes distance) const {
    return PixelBytes{_mm512_permutexvar_epi8(distance.raw, all_.raw)};
  }

 private:
  PixelBytes all_;
#elif HWY_TARGET == HWY_SCALAR
 public:
  explicit CostTable(const std::uint8_t* costs) : costs_(costs) {}
  PixelBytes at(PixelBytes distance) const {
    return hn::Set(Pixels(), costs_[hn::GetLane(distance) % 64]);
  }

 private:
  const std::uint8_t* costs_;
#else
 public:
  HWY_INLINE explicit CostTable(const std::uint8_t* costs) {
    for (int c = 0; c < 4; ++c) parts_[c] = hn::LoadDup128(Pixels(), costs + 16 * c);
  }
  HWY_INLINE PixelBytes at(PixelBytes distance) const {
    return data_cost::HWY_NAMESPACE::look_up<4>(Pixels(), parts_, distance);
  }

 private:
  PixelBytes parts_[4];
#endif
};

// Costs of a vector of pixels of a strip, from a byte of its planes on.
class PixelCosts {
 public:
  HWY_INLINE PixelCosts(const StripCosts& costs, int byte) : table_(costs.table) {
    for (int p = 0; p < planes; ++p) {
      left_[p] = hn::LoadU(Pixels(), costs.left.planes[p] + byte);
      right_[p] = costs.right.planes[p] + byte + tile_side * (costs.labels - 1);
    }
  }

  HWY_INLINE PixelBytes at(int label) const {
    const std::ptrdiff_t offset = -tile_side * static_cast<std::ptrdiff_t>(label);
    const auto right = [&](int plane) HWY_ATTR { return hn::LoadU(Pixels(), right_[plane] + offset); };
    const auto bits = [&](int plane)
                          HWY_ATTR { return hn::PopulationCount(hn::Xor(left_[plane], right(plane))); };
    auto distance = bits(0);
    for (int p = 1; p < max_feature_planes; ++p) distance = hn::Add(distance, bits(p));
    const auto missing = hn::Not(right(max_feature_planes));
    return hn::And(left_[max_feature_planes], table_.at(hn::Or(distance, missing)));
  }

 private:
  static constexpr int planes = max_feature_planes + 1;
  CostTable table_;
  PixelBytes left_[planes];
  const std::uint8_t* right_[planes];
};

// Costs of a few labels, which stay in the first-level cache.
constexpr int chunk_labels = 32;
using CostChunk = std::uint8_t[chunk_labels][4][tile_pixels];

// label_of(k) is label k of the chunk; `which` is one of the four vectors or tiles of each label.
template <class LabelOf>
HWY_INLINE void write_chunk(const StripCosts& costs, int byte, int count, const LabelOf& label_of, int which,
                            int at, CostChunk& out) {
  const PixelCosts pixels(costs, byte);
  for (int k = 0; k < count; ++k) hn::Store(pixels.at(label_of(k)), Pixels(), out[k][which] + at);
}

HWY_INLINE int all_labels(const StripSums& sums) {
  return sums.costs->labels * sums.row_offsets;
}

#if HWY_TARGET == HWY_SCALAR

void split_colours(const std::uint8_t* pixels, std::uint8_t* zero, std::uint8_t* one) {
  for (int x = 0; x < tile_side; ++x)
    for (int y = 0; y < tile_side; ++y)
      ((x + y) % 2 == 0 ? zero : one)[x / 2 * tile_side + y] = pixels[x * tile_side + y];
}

// Adds up 2×2 pixels of 16 columns of two strips.
void add_up_children(const std::uint8_t (*tiles)[tile_pixels], std::uint8_t* sums) {
  for (int x = 0; x < tile_side; ++x) {
    for (int y = 0; y < tile_side; ++y) {
      const std::uint8_t* child = tiles[y / 4 * 2 + x / 4] + x % 4 * 2 * tile_side + y % 4 * 2;
      sums[x * tile_side + y] =
          static_cast<std::uint8_t>(child[0] + child[1] + child[tile_side] + child[tile_side + 1]);
    }
  }
}

void sum_strip_here(const StripSums& s) {
  auto* sums = static_cast<std::uint16_t*>(s.scratch);
  for (int x = 0; x < s.columns / s.side; ++x) {
    for (int y = 0; y < s.rows; ++y) {
      for (int label = 0; label < all_labels(s); ++label) {
        const StripCosts& costs = s.costs[label / s.costs->labels];
        int sum = 0;
        for (int i = 0; i < s.side * s.side; ++i) {
          const PixelCosts pixel(costs, (x * s.side + i % s.side) * tile_side + y * s.side + i / s.side);
          sum += hn::GetLane(pixel.at(label % costs.labels));
        }
        sums[label] = static_cast<std::uint16_t>(sum);
      }
      const int least = *std::min_element(sums, sums + all_labels(s));
      for (int label = 0; label < all_labels(s); ++label)
        s.out[y][x % 2][label * s.stride + x / 2] =
            static_cast<std::uint8_t>(std::min(sums[label] - least, s.bound));
    }
  }
}

#else

using Columns = hn::Repartition<std::uint64_t, Pixels>;
using RowPairs = hn::Repartition<std::uint16_t, Pixels>;
using RowFours = hn::Repartition<std::uint32_t, Pixels>;

// Splits pixels by colour: from columns of 8 rows.
HWY_INLINE void split_colours(const std::uint8_t* pixels, std::uint8_t* zero, std::uint8_t* one) {
  const Columns columns;
  const hn::Half<Pixels> half;
  for (int i = 0; i < tile_pixels; i += pixel_lanes) {
    const auto pairs = hn::BitCast(columns, hn::LoadU(Pixels(), pixels + i));
    const auto odd_rows = hn::BitCast(columns, hn::Set(RowPairs(), std::uint16_t{0xFF00}));
    // Even columns become colour 0, odd ones colour 1.
    const auto colours = hn::BitCast(
        columns, hn::Or(hn::And(odd_rows, hn::Reverse2(columns, pairs)), hn::AndNot(odd_rows, pairs)));
    const auto even = hn::ConcatEven(columns, colours, colours),
               odd = hn::ConcatOdd(columns, colours, colours);
    hn::StoreU(hn::LowerHalf(half, hn::BitCast(Pixels(), even)), half, zero + i / 2);
    hn::StoreU(hn::LowerHalf(half, hn::BitCast(Pixels(), odd)), half, one + i / 2);
  }
}

// Sums of columns 0 and 1, 2 and 3, and so on.
HWY_INLINE PixelBytes add_columns(PixelBytes first, PixelBytes second) {
  const Columns columns;
  const auto low = hn::BitCast(columns, first), high = hn::BitCast(columns, second);
  return hn::Add(hn::BitCast(Pixels(), hn::ConcatEven(columns, high, low)),
                 hn::BitCast(Pixels(), hn::ConcatOdd(columns, high, low)));
}

// Sums of rows 0 and 1, 2 and 3, and so on.
HWY_INLINE hn::Vec<RowPairs> add_rows(PixelBytes pixels) {
  const auto pairs = hn::BitCast(RowPairs(), pixels);
  return hn::Add(hn::And(pairs, hn::Set(RowPairs(), std::uint16_t{255})), hn::ShiftRight<8>(pairs));
}

// Adds up 2×2 pixels of 16 columns of two strips.
HWY_INLINE void add_up_children(const std::uint8_t (*tiles)[tile_pixels], std::uint8_t* sums) {
  // Four rows of the upper strip, then four of the lower one.
  HWY_ALIGN static constexpr std::uint8_t order[16] = {0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15};
  const auto by_strip = hn::LoadDup128(Pixels(), order);
  for (int i = 0; i < 2 * tile_pixels; i += 2 * pixel_lanes) {
    const auto rows = [&](int strip) HWY_ATTR {
      // Both vectors are in the same tile, or each is one.
      const std::uint8_t* first = tiles[2 * strip + i / tile_pixels] + i % tile_pixels;
      return add_rows(add_columns(hn::Load(Pixels(), first), hn::Load(Pixels(), first + pixel_lanes)));
    };
    const auto both = hn::BitCast(Pixels(), hn::Or(rows(0), hn::ShiftLeft<8>(rows(1))));
    hn::Store(hn::TableLookupBytes(both, by_strip), Pixels(), sums + i / 2);
  }
}

// 32 blocks of pixels in a row make 16 elements for each parity.
constexpr int sum_columns = 32;

// Adds up the blocks in four vectors of columns, for all disparities: [x][row], of a block row's `pitch` for
// each.
template <int side>
HWY_INLINE void add_up_blocks(const StripCosts& strip, int column, int pitch, std::uint16_t* out) {
  const hn::Half<RowPairs> half;
  HWY_ALIGN CostChunk costs;
  for (int first = 0; first < strip.labels; first += chunk_labels) {
    const int count = std::min(chunk_labels, strip.labels - first);
    for (int i = 0; i < 4; ++i)
      write_chunk(
          strip, column * tile_side + i * pixel_lanes, count, [&](int k) { return first + k; }, i, 0, costs);
    for (int k = 0; k < count; ++k) {
      const auto vector = [&](int i) HWY_ATTR { return hn::Load(Pixels(), costs[k][i]); };
      const auto low = add_columns(vector(0), vector(1)), high = add_columns(vector(2), vector(3));
      std::uint16_t* to = out + (first + k) * pitch;
      if constexpr (side == 2) {
        hn::StoreU(add_rows(low), RowPairs(), to);
        hn::StoreU(add_rows(high), RowPairs(), to + pixel_lanes / 2);
      } else {
        const auto pairs = hn::BitCast(RowFours(), add_rows(add_columns(low, high)));
        hn::StoreU(hn::TruncateTo(half, hn::Add(pairs, hn::ShiftRight<16>(pairs))), half, to);
      }
    }
  }
}

// Splits 32 block columns of two or four rows by row and parity of x.
template <int rows>
HWY_INLINE void split_blocks(const StripSums& s, const std::uint8_t* blocks, std::ptrdiff_t at) {
  const hn::Full128<std::uint8_t> tag;
  const auto store = [&](auto values, int row, int parity)
                         HWY_ATTR { hn::StoreU(values, tag, s.out[row][parity] + at); };
  hn::Vec<decltype(tag)> low[4], high[4];
  hn::LoadInterleaved4(tag, blocks, low[0], low[1], low[2], low[3]);
  if constexpr (rows == 4) hn::LoadInterleaved4(tag, blocks + 64, high[0], high[1], high[2], high[3]);
  for (int row = 0; row < s.rows; ++row) {
    if constexpr (rows == 2) {
      store(low[row], row, 0);
      store(low[2 + row], row, 1);
    } else {
      store(hn::ConcatEven(tag, high[row], low[row]), row, 0);
      store(hn::ConcatOdd(tag, high[row], low[row]), row, 1);
    }
  }
}

// Subtracts the least of all labels, and writes elements of the planes.
template <int rows>
HWY_INLINE void settle_blocks(const StripSums& s, const std::uint16_t* sums, int element) {
  constexpr int values = sum_columns * rows;
  const hn::CappedTag<std::uint16_t, values> tag;
  const hn::Rebind<std::uint8_t, decltype(tag)> narrow;
  const hn::RebindToSigned<decltype(tag)> signed_tag;
  const auto bound = hn::Set(tag, static_cast<std::uint16_t>(s.bound));
  const int lanes = static_cast<int>(hn::Lanes(tag));
  HWY_ALIGN std::uint16_t least[values];
  for (int i = 0; i < values; i += lanes) {
    auto lowest = hn::LoadU(tag, sums + i);
    for (int label = 1; label < all_labels(s); ++label)
      lowest = hn::Min(lowest, hn::LoadU(tag, sums + label * values + i));
    hn::Store(lowest, tag, least + i);
  }
  HWY_ALIGN std::uint8_t blocks[values];
  for (int label = 0; label < all_labels(s); ++label) {
    for (int i = 0; i < values; i += lanes) {
      const auto kept =
          hn::Min(hn::Sub(hn::LoadU(tag, sums + label * values + i), hn::Load(tag, least + i)), bound);
      hn::StoreU(hn::DemoteTo(narrow, hn::BitCast(signed_tag, kept)), narrow, blocks + i);
    }
    split_blocks<rows>(s, blocks, label * s.stride + element);
  }
}

template <int side>
void sum_strip_of(const StripSums& s) {
  constexpr int rows = tile_side / side, pitch = sum_columns * rows;
  constexpr int columns = 4 * pixel_lanes / tile_side;  // that add_up_blocks() adds up
  auto* sums = static_cast<std::uint16_t*>(s.scratch);
  for (int first = 0; first < s.columns; first += sum_columns * side) {
    const int last = std::min(first + sum_columns * side, s.columns);
    // Columns beyond the strip cost nothing.
    if (last < first + sum_columns * side) std::fill_n(sums, all_labels(s) * pitch, std::uint16_t{0});
    for (int k = 0; k < s.row_offsets; ++k)
      for (int column = first; column < last; column += columns)
        add_up_blocks<side>(s.costs[k], column, pitch,
                            sums + k * s.costs->labels * pitch + (column - first) / side * rows);
    settle_blocks<rows>(s, sums, first / side / 2);
  }
}

void sum_strip_here(const StripSums& s) {
  s.side == 2 ? sum_strip_of<2>(s) : sum_strip_of<4>(s);
}

#endif

void write_edge_row_here(const EdgeRow& edges) {
  const hn::ScalableTag<std::int32_t> wide;
  const hn::Rebind<std::uint16_t, decltype(wide)> pixels;
  const hn::Rebind<std::uint8_t, decltype(wide)> bytes;
  static_assert(per_level == 1 << 8);
  const int lanes = static_cast<int>(hn::Lanes(wide));
  int x = 0;
  for (; x + lanes <= edges.count; x += lanes) {
    const auto a = hn::LoadU(pixels, edges.row + x), b = hn::LoadU(pixels, edges.before + x);
    const auto difference = hn::PromoteTo(wide, hn::Sub(hn::Max(a, b), hn::Min(a, b)));
    const auto index = hn::ShiftRight<8>(hn::Add(difference, hn::Set(wide, per_level / 2)));
    const auto edge = hn::GatherIndex(wide, edges.table, index);
    const auto byte = hn::Set(wide, 255);
    hn::StoreU(hn::DemoteTo(bytes, hn::And(edge, byte)), bytes, edges.out[slopes] + x);
    hn::StoreU(hn::DemoteTo(bytes, hn::And(hn::ShiftRight<8>(edge), byte)), bytes,
               edges.out[truncations] + x);
    if (edges.out[row_bounds] != nullptr)
      hn::StoreU(hn::DemoteTo(bytes, hn::ShiftRight<16>(edge)), bytes, edges.out[row_bounds] + x);
  }
  for (; x < edges.count; ++x) {
    const std::int32_t edge = edges.table[edge_index(std::abs(edges.row[x] - edges.before[x]))];
    for (int table = 0; table < edge_tables; ++table)
      if (edges.out[table] != nullptr) edges.out[table][x] = static_cast<std::uint8_t>(edge >> 8 * table);
  }
}

void split_edges_here(const TileEdges& edges, TileMessages& out) {
  for (int d = 0; d < direction_count; ++d) split_colours(edges.to[d], out.of[0][d], out.of[1][d]);
}

void write_fine_costs(const StripCosts& strip, int column, const TileLabels& tile) {
  HWY_ALIGN CostChunk costs;
  for (int first = 0; first < tile.count; first += chunk_labels) {
    const int count = std::min(chunk_labels, tile.count - first);
    const auto label_of = [&](int k) { return tile.labels[first + k]; };
    for (int at = 0; at < tile_pixels; at += pixel_lanes)
      write_chunk(strip, column * tile_side + at, count, label_of, 0, at, costs);
    for (int k = 0; k < count; ++k)
      split_colours(costs[k][0], tile.records[first + k].data[0], tile.records[first + k].data[1]);
  }
}

void write_coarse_costs(const StripCosts* strips, int column, const TileLabels& tile) {
  HWY_ALIGN CostChunk costs;
  HWY_ALIGN std::uint8_t sums[tile_pixels];
  for (int first = 0; first < tile.count; first += chunk_labels) {
    const int count = std::min(chunk_labels, tile.count - first);
    const auto label_of = [&](int k) { return tile.labels[first + k]; };
    for (int i = 0; i < 4; ++i)
      for (int at = 0; at < tile_pixels; at += pixel_lanes)
        write_chunk(strips[i / 2], (column + i % 2 * tile_side) * tile_side + at, count, label_of, i, at,
                    costs);
    for (int k = 0; k < count; ++k) {
      add_up_children(costs[k], sums);
      split_colours(sums, tile.records[first + k].data[0], tile.records[first + k].data[1]);
    }
  }
}

void write_tile_costs_here(const StripCosts* strips, int column, const TileLabels& tile, bool coarse) {
  if (coarse)
    write_coarse_costs(strips, column, tile);
  else
    write_fine_costs(*strips, column, tile);
}

void transpose_rows_here(const std::uint8_t* rows, std::ptrdiff_t pitch, int columns, std::uint8_t* out) {
#if HWY_TARGET == HWY_SCALAR
  for (int x = 0; x < columns; ++x)
    for (int y = 0; y < tile_side; ++y) out[x * tile_side + y] = rows[y * pitch + x];
#else
  const hn::Full128<std::uint8_t> bytes;
  const hn::Full128<std::uint16_t> pairs;
  const hn::Full128<std::uint32_t> fours;
  for (int x = 0; x < columns; x += 16) {
    // Rows y and y + 1 side by side, then four, then all eight.
    hn::Vec<decltype(bytes)> row[tile_side], two[tile_side], four[tile_side];
    for (int y = 0; y < tile_side; ++y) row[y] = hn::LoadU(bytes, rows + y * pitch + x);
    for (int y = 0; y < 4; ++y) {
      two[y] = hn::InterleaveLower(bytes, row[2 * y], row[2 * y + 1]);
      two[4 + y] = hn::InterleaveUpper(bytes, row[2 * y], row[2 * y + 1]);
    }
    for (int half = 0; half < 2; ++half) {
      for (int y = 0; y < 2; ++y) {
        const auto a = hn::BitCast(pairs, two[4 * half + 2 * y]),
                   b = hn::BitCast(pairs, two[4 * half + 2 * y + 1]);
        four[4 * half + y] = hn::BitCast(bytes, hn::InterleaveLower(pairs, a, b));
        four[4 * half + 2 + y] = hn::BitCast(bytes, hn::InterleaveUpper(pairs, a, b));
      }
    }
    for (int part = 0; part < 4; ++part) {
      const auto a = hn::BitCast(fours, four[2 * part]), b = hn::BitCast(fours, four[2 * part + 1]);
      std::uint8_t* to = out + tile_side * (x + 4 * part);
      hn::StoreU(hn::BitCast(bytes, hn::InterleaveLower(fours, a, b)), bytes, to);
      hn::StoreU(hn::BitCast(bytes, hn::InterleaveUpper(fours, a, b)), bytes, to + 16);
    }
  }
#endif
}

template <class Value>
HWY_INLINE Value load_value(const std::uint8_t* from) {
  Value value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// A column of the tile has 8 pixels of both colours and 4 parents, so each parent has one child of colour 0
// in each of its two rows: `columns` are the parents of 4 rows by column.
HWY_INLINE void write_children(const std::uint32_t (&columns)[4], std::uint8_t* messages) {
  for (int i = 0; i < 4; ++i) {
    // b3 b2 b1 b0 becomes b3 b3 b2 b2 b1 b1 b0 b0.
    std::uint64_t spread = columns[i];
    spread = (spread | spread << 16) & 0x0000FFFF0000FFFFu;
    spread = (spread | spread << 8) & 0x00FF00FF00FF00FFu;
    spread |= spread << 8;
    std::memcpy(messages + 8 * i, &spread, sizeof spread);
  }
}

void start_from_tile_here(const TileMessages* const* parents, int first_lane, const TileLabels& tile) {
  constexpr std::uint32_t even_rows = 0x00FF00FFu, odd_rows = ~even_rows;
  for (int k = 0; k < tile.count; ++k) {
    for (int d = 0; d < direction_count; ++d) {
      std::uint32_t columns[4];
      for (int pair = 0; pair < 2; ++pair) {
        const int lane = first_lane + pair * tile_side;
        const auto zero = load_value<std::uint32_t>(parents[k]->of[0][d] + lane),
                   one = load_value<std::uint32_t>(parents[k]->of[1][d] + lane);
        columns[2 * pair] = (zero & even_rows) | (one & odd_rows);
        columns[2 * pair + 1] = (one & even_rows) | (zero & odd_rows);
      }
      write_children(columns, tile.records[k].messages.of[0][d]);
    }
  }
}

void start_from_planes_here(const ParentPlanes& parents, const TileLabels& tile) {
  for (int k = 0; k < tile.count; ++k) {
    const std::ptrdiff_t at = tile.labels[k] * parents.stride;
    for (int d = 0; d < direction_count; ++d) {
      std::uint32_t columns[4] = {};
      for (int y = 0; y < 4; ++y) {
        const std::uint32_t even = load_value<std::uint16_t>(parents.first[y][0][d] + at),
                            odd = load_value<std::uint16_t>(parents.first[y][1][d] + at);
        columns[0] |= (even & 255) << 8 * y;
        columns[1] |= (odd & 255) << 8 * y;
        columns[2] |= even >> 8 << 8 * y;
        columns[3] |= odd >> 8 << 8 * y;
      }
      write_children(columns, tile.records[k].messages.of[0][d]);
    }
  }
}

}  // namespace parallax::belief_propagation::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax::belief_propagation {

PARALLAX_DISPATCH(void, update_tile,
                  (const TileLabels& tile, int colour, const TileMessages* const* edges, int row_slope),
                  (tile, colour, edges, row_slope))
PARALLAX_DISPATCH(void, decide_tile,
                  (const TileLabels& tile, int colour, Wanted wanted, std::uint8_t* scratch,
                   TileDecision& decision),
                  (tile, colour, wanted, scratch, decision))
PARALLAX_DISPATCH(void, locate_tile, (const TileAxis& axis, float* values), (axis, values))
PARALLAX_DISPATCH(void, write_edge_row, (const EdgeRow& edges), (edges))
PARALLAX_DISPATCH(void, split_edges, (const TileEdges& edges, TileMessages& out), (edges, out))
PARALLAX_DISPATCH(void, write_tile_costs,
                  (const StripCosts* strips, int column, const TileLabels& tile, bool coarse),
                  (strips, column, tile, coarse))
PARALLAX_DISPATCH(void, sum_strip, (const StripSums& sums), (sums))
PARALLAX_DISPATCH(void, transpose_rows,
                  (const std::uint8_t* rows, std::ptrdiff_t pitch, int columns, std::uint8_t* out),
                  (rows, pitch, columns, out))
PARALLAX_DISPATCH(void, start_from_tile,
                  (const TileMessages* const* parents, int first_lane, const TileLabels& tile),
                  (parents, first_lane, tile))
PARALLAX_DISPATCH(void, start_from_planes, (const ParentPlanes& parents, const TileLabels& tile),
                  (parents, tile))

}  // namespace parallax::belief_propagation
#endif
