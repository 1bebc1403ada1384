// SPDX-License-Identifier: Apache-2.0
// Labels that can win. On the `candidate_levels` finest levels, a tile of 8×8 pixels considers only candidate
// labels: those that a pixel of the next coarser level, under the tile or next to it, believes most, and
// `candidate_slack` labels on either side of each. They are at most `candidate_ranges` ranges: of more, those
// with the smallest gap between them are joined. Where rows are searched, too, these are disparities, and the
// tile considers them at all row offsets from the lowest to the highest that such a pixel believes most.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "parallax/image.h"

#include "core/integers.h"

namespace parallax::belief_propagation {

inline constexpr int tile_side = 8;
inline constexpr int max_candidate_ranges = 4;

struct LabelRange {
  int first, last;  // last excluded

  bool contains(int label) const { return label >= first && label < last; }
  void include(int label) {
    first = std::min(first, label);
    last = std::max(last, label + 1);
  }
};
inline constexpr LabelRange no_labels{1 << 20, 0};

struct LabelRanges {
  std::array<LabelRange, max_candidate_ranges> at;
  int count;

  const LabelRange* begin() const { return at.data(); }
  const LabelRange* end() const { return at.data() + count; }
  bool contains(int label) const {
    return std::any_of(begin(), end(), [&](LabelRange range) { return range.contains(label); });
  }
};

// The candidates of a tile: some disparities at some row offsets, all of them as labels from 0 on.
struct Candidates {
  LabelRanges disparities;
  LabelRange row_offsets;
};

inline Size tile_count(Size size) {
  return {divide_round_up(size.width, tile_side), divide_round_up(size.height, tile_side)};
}

// Columns, or rows, [first, last) of the coarser level that are under a tile or next to it.
inline LabelRange parents_of_tile(int tile, int coarse_end) {
  return {std::max(0, tile * tile_side / 2 - 1), std::min(coarse_end, (tile + 1) * tile_side / 2 + 1)};
}
inline constexpr int max_parents = (tile_side / 2 + 2) * (tile_side / 2 + 2);

// A set of labels, to which tiles add those that pixels believe most.
class LabelSet {
 public:
  explicit LabelSet(int labels) { std::fill_n(words_.begin(), labels / 64 + 1, 0); }
  void add(int label) { words_[to_size(label / 64)] |= std::uint64_t{1} << label % 64; }
  // The first label that is in the set, from `from` on; `labels` without one.
  int next(int from, int labels) const {
    for (std::size_t i = to_size(from / 64); from < labels; ++i, from = static_cast<int>(64 * i)) {
      const std::uint64_t rest = words_[i] >> from % 64;
      if (rest != 0) return from + std::countr_zero(rest);
    }
    return labels;
  }

 private:
  std::array<std::uint64_t, 1024 / 64 + 1> words_;
};

// The ranges around the labels in a set.
inline LabelRanges candidate_ranges(const LabelSet& best, int slack, int labels, int max_ranges) {
  std::array<LabelRange, max_parents> found;
  int count = 0;
  for (int label = best.next(0, labels); label < labels; label = best.next(label + 1, labels)) {
    const LabelRange range{std::max(0, label - slack), std::min(labels, label + slack + 1)};
    if (count > 0 && range.first <= found[to_size(count - 1)].last)
      found[to_size(count - 1)].last = range.last;
    else
      found[to_size(count++)] = range;
  }
  while (count > max_ranges) {
    const auto gap = [&](LabelRange* range) { return range[1].first - range[0].last; };
    LabelRange* joined = found.data();
    for (LabelRange* range = joined; range != found.data() + count - 1; ++range)
      if (gap(range) < gap(joined)) joined = range;
    joined->last = joined[1].last;
    std::copy(joined + 2, found.data() + count, joined + 1);
    --count;
  }
  LabelRanges result{{}, count};
  std::copy_n(found.begin(), count, result.at.begin());
  return result;
}

}  // namespace parallax::belief_propagation
