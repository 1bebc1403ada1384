// SPDX-License-Identifier: Apache-2.0
#include "matchers/belief_propagation/candidate_kernels.h"

#include <algorithm>
#include <cstring>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "matchers/belief_propagation/candidate_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "data_cost/differences-inl.h"

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

HWY_INLINE void update_lanes(const TileLabels& tile, int colour, int offset, const TileMessages& all_slopes,
                             const TileMessages& all_truncations) {
  const Lanes tag;
  Received in(tile, colour, offset);
  Bytes slopes[direction_count], least[direction_count], reach[direction_count];
  for (int d = 0; d < direction_count; ++d) {
    slopes[d] = in.at(all_slopes.of[colour][d] + offset);
    least[d] = reach[d] = hn::Set(tag, highest);
  }
  const auto out = [&](int k, int d) HWY_ATTR { return tile.records[k].messages.of[colour][d] + offset; };
  const auto gap = [&](int k) { return tile.labels[k + 1] - tile.labels[k]; };
  for (int k = 0; k < tile.count; ++k) {
    in.load(k);
    if (k > 0) rise(reach, slopes, gap(k - 1) - 1);
    for (int d = 0; d < direction_count; ++d) {
      const Bytes h = hn::Sub(in.belief, in.messages[d]);
      least[d] = hn::Min(least[d], h);
      reach[d] = hn::Min(h, hn::SaturatedAdd(reach[d], slopes[d]));
      hn::StoreU(reach[d], tag, out(k, d));
    }
  }
  Bytes limit[direction_count];
  for (int d = 0; d < direction_count; ++d)
    reach[d] = limit[d] = hn::SaturatedAdd(least[d], in.at(all_truncations.of[colour][d] + offset));
  for (int k = tile.count - 1; k >= 0; --k) {
    if (k + 1 < tile.count) rise(reach, slopes, gap(k) - 1);
    for (int d = 0; d < direction_count; ++d) {
      reach[d] = hn::Min(hn::Min(in.at(out(k, d)), hn::SaturatedAdd(reach[d], slopes[d])), limit[d]);
      hn::StoreU(hn::Sub(reach[d], least[d]), tag, out(k, d));
    }
  }
}

void update_tile_here(const TileLabels& tile, int colour, const TileMessages& slopes,
                      const TileMessages& truncations) {
  const int lanes = static_cast<int>(hn::Lanes(Lanes()));
  for (int offset = 0; offset < tile_lanes; offset += lanes)
    update_lanes(tile, colour, offset, slopes, truncations);
}

// The indices of the lowest beliefs; in two bytes, as there may be more than 256 candidates.
HWY_INLINE void find_lowest(const TileLabels& tile, int colour, int offset, std::uint8_t* beliefs,
                            std::uint16_t* index) {
  const Lanes tag;
  Received in(tile, colour, offset);
  Bytes best = hn::Set(tag, highest), low = hn::Zero(tag), high = low;
  for (int k = 0; k < tile.count; ++k) {
    in.load(k);
    const LaneMask better = hn::Lt(in.belief, best);
    best = hn::Min(best, in.belief);
    low = hn::IfThenElse(better, hn::Set(tag, static_cast<std::uint8_t>(k % 256)), low);
    high = hn::IfThenElse(better, hn::Set(tag, static_cast<std::uint8_t>(k / 256)), high);
    if (beliefs != nullptr) hn::StoreU(in.belief, tag, beliefs + k * tile_lanes + offset);
  }
  HWY_ALIGN std::uint8_t lows[tile_lanes], highs[tile_lanes];
  hn::StoreU(low, tag, lows);
  hn::StoreU(high, tag, highs);
  for (int j = 0; j < static_cast<int>(hn::Lanes(tag)); ++j)
    index[offset + j] = static_cast<std::uint16_t>(highs[j] * 256 + lows[j]);
}

// `beliefs` are overwritten.
HWY_INLINE void look_around(const TileLabels& tile, std::uint8_t* beliefs, TileDecision& decision) {
  constexpr float none = std::numeric_limits<float>::infinity();
  for (int lane = 0; lane < tile_lanes; ++lane) {
    const int best = decision.index[lane];
    const auto take = [&](int k) {
      const bool is_next = k >= 0 && k < tile.count && tile.labels[k] - tile.labels[best] == k - best;
      if (!is_next) return none;
      std::uint8_t& belief = beliefs[k * tile_lanes + lane];
      const auto taken = static_cast<float>(belief);
      belief = highest;
      return taken;
    };
    decision.before[lane] = take(best - 1);
    decision.best[lane] = take(best);
    decision.after[lane] = take(best + 1);
  }
  const Lanes tag;
  HWY_ALIGN std::uint8_t rivals[tile_lanes];
  for (int offset = 0; offset < tile_lanes; offset += static_cast<int>(hn::Lanes(tag))) {
    Bytes rival = hn::Set(tag, highest);
    for (int k = 0; k < tile.count; ++k)
      rival = hn::Min(rival, hn::LoadU(tag, beliefs + k * tile_lanes + offset));
    hn::StoreU(rival, tag, rivals + offset);
  }
  for (int lane = 0; lane < tile_lanes; ++lane)
    decision.rival[lane] = rivals[lane] == highest ? none : static_cast<float>(rivals[lane]);
}

void decide_tile_here(const TileLabels& tile, int colour, bool around, std::uint8_t* scratch,
                      TileDecision& decision) {
  const int lanes = static_cast<int>(hn::Lanes(Lanes()));
  for (int offset = 0; offset < tile_lanes; offset += lanes)
    find_lowest(tile, colour, offset, around ? scratch : nullptr, decision.index);
  if (around) look_around(tile, scratch, decision);
}

// Both colours of a tile, or as many of its columns as fit in a vector.
using Pixels = hn::CappedTag<std::uint8_t, tile_pixels>;

// Costs of the pixels of 8 columns of a strip for one label, by column.
class StripCosts {
 public:
  HWY_INLINE StripCosts(const TileCosts& costs, int strip, int column)
      : costs_(costs), right_(costs.right[strip]), column_(column) {
    const FeatureStrip& left = costs.left[strip];
    for (int p = 0; p <= most_feature_planes; ++p) left_[p] = left.planes[p] + 8 * column;
  }

  HWY_INLINE void write(int label, std::uint8_t* out) const {
    const Pixels tag;
    const int lanes = static_cast<int>(hn::Lanes(tag));
    const std::ptrdiff_t right = 8 * static_cast<std::ptrdiff_t>(column_ + costs_.labels_end - 1 - label);
    for (int i = 0; i < tile_pixels; i += lanes) {
      const auto at = [&](int plane) HWY_ATTR {
        return hn::Xor(hn::LoadU(tag, left_[plane] + i), hn::LoadU(tag, right_.planes[plane] + right + i));
      };
      auto distance = hn::PopulationCount(at(0));
      for (int plane = 1; plane < most_feature_planes; ++plane)
        distance = hn::Add(distance, hn::PopulationCount(at(plane)));
      const auto exists = hn::LoadU(tag, right_.planes[most_feature_planes] + right + i);
      const auto outside = hn::Set(tag, costs_.outside);
      const auto cost = hn::Or(hn::And(exists, look_up(distance)), hn::AndNot(exists, outside));
      hn::StoreU(hn::And(cost, hn::LoadU(tag, left_[most_feature_planes] + i)), tag, out + i);
    }
  }

 private:
  HWY_INLINE hn::Vec<Pixels> look_up(hn::Vec<Pixels> distance) const {
    const Pixels tag;
    constexpr int chunks = 4;
    if constexpr (data_cost::HWY_NAMESPACE::has_tables) {
      hn::Vec<Pixels> table[chunks];
      for (int c = 0; c < chunks; ++c) table[c] = hn::LoadDup128(tag, costs_.table + 16 * c);
      return data_cost::HWY_NAMESPACE::look_up<chunks>(tag, table, distance);
    } else {
      return hn::Set(tag, costs_.table[hn::GetLane(distance)]);
    }
  }

  const TileCosts& costs_;
  const FeatureStrip& right_;
  int column_;
  const std::uint8_t* left_[most_feature_planes + 1];
};

#if HWY_TARGET == HWY_SCALAR

void split_colours(const std::uint8_t* pixels, std::uint8_t (*out)[tile_lanes]) {
  for (int x = 0; x < tile_side; ++x)
    for (int y = 0; y < tile_side; ++y) out[(x + y) % 2][x / 2 * tile_side + y] = pixels[x * tile_side + y];
}

void add_up_children(const std::uint8_t* pixels, std::uint8_t* sums) {
  for (int i = 0; i < 16; ++i) {
    const std::uint8_t* child = pixels + i / 4 * 2 * tile_side + i % 4 * 2;
    sums[i] = static_cast<std::uint8_t>(child[0] + child[1] + child[tile_side] + child[tile_side + 1]);
  }
}

#else

// Splits pixels by colour: from columns of 8 rows.
HWY_INLINE void split_colours(const std::uint8_t* pixels, std::uint8_t (*out)[tile_lanes]) {
  const hn::CappedTag<std::uint64_t, tile_lanes / 8> columns;
  const hn::Repartition<std::uint8_t, decltype(columns)> bytes;
  const int count = static_cast<int>(hn::Lanes(columns));
  const auto odd_rows = hn::Set(hn::Repartition<std::uint16_t, decltype(columns)>(), std::uint16_t{0xFF00});
  for (int i = 0; i < tile_lanes / 8; i += count) {
    hn::Vec<decltype(columns)> even, odd;
    hn::LoadInterleaved2(columns, reinterpret_cast<const std::uint64_t*>(pixels) + 2 * i, even, odd);
    const auto rows = hn::BitCast(columns, odd_rows);
    const auto of_even = hn::Or(hn::And(rows, odd), hn::AndNot(rows, even)),
               of_odd = hn::Or(hn::And(rows, even), hn::AndNot(rows, odd));
    hn::StoreU(hn::BitCast(bytes, of_even), bytes, out[0] + 8 * i);
    hn::StoreU(hn::BitCast(bytes, of_odd), bytes, out[1] + 8 * i);
  }
}

// Adds up 2×2 pixels: 8×8 pixels by column give 4×4, by column.
HWY_INLINE void add_up_children(const std::uint8_t* pixels, std::uint8_t* sums) {
  const hn::CappedTag<std::uint64_t, tile_lanes / 8> columns;
  const hn::Repartition<std::uint8_t, decltype(columns)> bytes;
  const hn::Repartition<std::uint16_t, decltype(columns)> pairs;
  const hn::Half<decltype(bytes)> narrow;
  const int count = static_cast<int>(hn::Lanes(columns));
  for (int i = 0; i < tile_lanes / 8; i += count) {
    hn::Vec<decltype(columns)> even, odd;
    hn::LoadInterleaved2(columns, reinterpret_cast<const std::uint64_t*>(pixels) + 2 * i, even, odd);
    const auto both = hn::BitCast(pairs, hn::Add(hn::BitCast(bytes, even), hn::BitCast(bytes, odd)));
    const auto sum = hn::Add(hn::And(both, hn::Set(pairs, std::uint16_t{255})), hn::ShiftRight<8>(both));
    const auto narrowed = hn::ConcatEven(bytes, hn::BitCast(bytes, sum), hn::BitCast(bytes, sum));
    hn::StoreU(hn::LowerHalf(narrow, narrowed), narrow, sums + 4 * i);
  }
}

#endif

void write_tile_costs_here(const TileCosts& costs, const TileLabels& tile, bool coarse) {
  HWY_ALIGN std::uint8_t pixels[tile_pixels], sums[16], quarters[tile_pixels];
  if (!coarse) {
    const StripCosts strip(costs, 0, costs.column);
    for (int k = 0; k < tile.count; ++k) {
      strip.write(tile.labels[k], pixels);
      split_colours(pixels, tile.records[k].data);
    }
    return;
  }
  const StripCosts strips[2][2] = {{{costs, 0, costs.column}, {costs, 0, costs.column + tile_side}},
                                   {{costs, 1, costs.column}, {costs, 1, costs.column + tile_side}}};
  for (int k = 0; k < tile.count; ++k) {
    for (int row = 0; row < 2; ++row) {
      for (int column = 0; column < 2; ++column) {
        strips[row][column].write(tile.labels[k], pixels);
        add_up_children(pixels, sums);
        for (int i = 0; i < 4; ++i) std::memcpy(quarters + (4 * column + i) * 8 + 4 * row, sums + 4 * i, 4);
      }
    }
    split_colours(quarters, tile.records[k].data);
  }
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

// A column of the tile has 8 pixels of both colours and 4 parents, so each parent has one child of colour 0 in
// each of its two rows: `columns` are the parents of 4 rows by column.
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

HWY_EXPORT(update_tile_here);
HWY_EXPORT(decide_tile_here);
HWY_EXPORT(write_tile_costs_here);
HWY_EXPORT(start_from_tile_here);
HWY_EXPORT(transpose_rows_here);
HWY_EXPORT(start_from_planes_here);

void update_tile(const TileLabels& tile, int colour, const TileMessages& slopes,
                 const TileMessages& truncations) {
  HWY_DYNAMIC_DISPATCH(update_tile_here)(tile, colour, slopes, truncations);
}

void decide_tile(const TileLabels& tile, int colour, bool around, std::uint8_t* scratch,
                 TileDecision& decision) {
  HWY_DYNAMIC_DISPATCH(decide_tile_here)(tile, colour, around, scratch, decision);
}

void write_tile_costs(const TileCosts& costs, const TileLabels& tile, bool coarse) {
  HWY_DYNAMIC_DISPATCH(write_tile_costs_here)(costs, tile, coarse);
}

void transpose_rows(const std::uint8_t* rows, std::ptrdiff_t pitch, int columns, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(transpose_rows_here)(rows, pitch, columns, out);
}

void start_from_tile(const TileMessages* const* parents, int first_lane, const TileLabels& tile) {
  HWY_DYNAMIC_DISPATCH(start_from_tile_here)(parents, first_lane, tile);
}

void start_from_planes(const ParentPlanes& parents, const TileLabels& tile) {
  HWY_DYNAMIC_DISPATCH(start_from_planes_here)(parents, tile);
}

}  // namespace parallax::belief_propagation
#endif
