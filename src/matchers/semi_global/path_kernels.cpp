// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "data_cost/row_costs.h"
#include "matchers/semi_global/cpu_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "matchers/semi_global/path_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace parallax::semi_global::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::ScalableTag<std::uint16_t>;

template <class Element>
constexpr Element highest = std::numeric_limits<Element>::max();

// Turns

template <class From, class To>
void turn_one_by_one(const Turn& turn) {
  const auto* from = static_cast<const From*>(turn.from);
  auto* to = static_cast<To*>(turn.to);
  const std::ptrdiff_t step = pitch(turn.labels, sizeof(To));
  for (int label = 0; label < turn.labels; ++label)
    for (int pixel = 0; pixel < turn.pixels; ++pixel)
      to[pixel * step + label] = from[label * turn.stride + pixel];
}

#if HWY_TARGET != HWY_SCALAR

// Interleaving the halves of 16 rows four times transposes a square of 16×16 bytes.
HWY_INLINE void turn_square(const std::uint8_t* const* rows, std::ptrdiff_t at, std::uint8_t* to,
                            std::ptrdiff_t step) {
  constexpr int side = 16;
  const hn::FixedTag<std::uint8_t, side> tag;
  using Vector = hn::Vec<decltype(tag)>;
  Vector here[side], next[side];
  for (int i = 0; i < side; ++i) here[i] = hn::LoadU(tag, rows[i] + at);
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < side / 2; ++i) {
      next[2 * i] = hn::InterleaveLower(tag, here[i], here[i + side / 2]);
      next[2 * i + 1] = hn::InterleaveUpper(tag, here[i], here[i + side / 2]);
    }
    for (int i = 0; i < side; ++i) here[i] = next[i];
  }
  for (int i = 0; i < side; ++i) hn::StoreU(here[i], tag, to + i * step);
}

// Bytes to bytes.
void turn_bytes(const Turn& turn) {
  constexpr int side = 16;
  const auto* from = static_cast<const std::uint8_t*>(turn.from);
  auto* to = static_cast<std::uint8_t*>(turn.to);
  const std::ptrdiff_t step = pitch(turn.labels, 1);
  std::uint8_t beyond[data_cost::most_at_once + side];
  std::fill(beyond, beyond + turn.pixels + side, highest<std::uint8_t>);
  for (int label = 0; label < turn.labels; label += side) {
    const std::uint8_t* rows[side];
    for (int i = 0; i < side; ++i)
      rows[i] = label + i < turn.labels ? from + (label + i) * turn.stride : beyond;
    for (int pixel = 0; pixel < turn.pixels; pixel += side)
      turn_square(rows, pixel, to + pixel * step + label, step);
  }
}

#endif

void turn_costs_here(const Turn& turn) {
  if (turn.to_bytes == 2)
    return turn.from_bytes == 1 ? turn_one_by_one<std::uint8_t, std::uint16_t>(turn)
                                : turn_one_by_one<std::uint16_t, std::uint16_t>(turn);
#if HWY_TARGET != HWY_SCALAR
  turn_bytes(turn);
#else
  turn_one_by_one<std::uint8_t, std::uint8_t>(turn);
#endif
}

// Paths

#if HWY_TARGET == HWY_SCALAR
template <class Tag>
HWY_INLINE std::uint16_t lowest_lane(Tag, hn::Vec<Tag> v) {
  return hn::GetLane(v);
}
#else
template <class Tag>
HWY_INLINE std::uint16_t lowest_lane(Tag tag, hn::Vec<Tag> v) {
  if constexpr (hn::MaxLanes(tag) * sizeof(hn::TFromD<Tag>) > 16) {
    const hn::Half<Tag> half;
    return lowest_lane(half, hn::Min(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  } else if constexpr (sizeof(hn::TFromD<Tag>) == 1) {
    const hn::Repartition<std::uint16_t, Tag> words;
    const auto pairs = hn::BitCast(words, v);
    return lowest_lane(words, hn::Min(hn::And(pairs, hn::Set(words, 255)), hn::ShiftRight<8>(pairs)));
  } else {
    return hn::GetLane(hn::MinOfLanes(tag, v));
  }
}
#endif

// What a pixel before brings: T of semi_global.h.
template <class Tag>
struct Transition {
  using Element = hn::TFromD<Tag>;
  using Vector = hn::Vec<Tag>;

  HWY_INLINE Transition(const Before& before, int x, std::ptrdiff_t step)
      : path(static_cast<const Element*>(before.path) + x * step),
        least(hn::Set(Tag(), static_cast<Element>(before.least[x]))),
        // A jump from the least to any label; no path costs more.
        capped(hn::SaturatedAdd(least, hn::Set(Tag(), static_cast<Element>(before.large_jump[x])))) {}

  HWY_INLINE Vector at(int label, Vector small_jump) const {
    const Tag tag;
    const auto aside = hn::Min(hn::LoadU(tag, path + label - 1), hn::LoadU(tag, path + label + 1));
    const auto near = hn::Min(hn::SaturatedAdd(aside, small_jump), hn::LoadU(tag, path + label));
    return hn::Sub(hn::Min(near, capped), least);
  }

  const Element* path;
  Vector least, capped;
};

template <class Element, bool mgm>
void follow(const PathRow& row) {
  const hn::ScalableTag<Element> tag;
  using Tag = decltype(tag);
  const int lanes = static_cast<int>(hn::Lanes(tag)), padded = padded_labels(row.labels, sizeof(Element));
  const std::ptrdiff_t step = pitch(row.labels, sizeof(Element));
  const auto small_jump = hn::Set(tag, static_cast<Element>(row.small_jump));
  auto* all = static_cast<Element*>(row.path);
  for (int i = 0; i < row.width; ++i) {
    const int x = row.leftward ? row.width - 1 - i : i;
    const auto* costs = static_cast<const Element*>(row.costs) + x * step;
    Element* path = all + x * step;
    const Transition<std::remove_const_t<Tag>> before(row.before, x, step);
    const Transition<std::remove_const_t<Tag>> beside(mgm ? *row.beside : row.before, x, step);
    auto least = hn::Set(tag, highest<Element>);
    for (int label = 0; label < padded; label += lanes) {
      auto brought = before.at(label, small_jump);
      if constexpr (mgm) brought = hn::AverageRound(brought, beside.at(label, small_jump));
      const auto cost = hn::SaturatedAdd(hn::LoadU(tag, costs + label), brought);
      least = hn::Min(least, cost);
      hn::StoreU(cost, tag, path + label);
    }
    row.least[x] = lowest_lane(tag, least);
  }
}

void follow_row_here(const PathRow& row) {
  if (row.element_bytes == 1)
    row.beside == nullptr ? follow<std::uint8_t, false>(row) : follow<std::uint8_t, true>(row);
  else
    row.beside == nullptr ? follow<std::uint16_t, false>(row) : follow<std::uint16_t, true>(row);
}

HWY_INLINE hn::Vec<Words> load_words(const std::uint8_t* from) {
  return hn::PromoteTo(Words(), hn::LoadU(hn::Rebind<std::uint8_t, Words>(), from));
}
HWY_INLINE hn::Vec<Words> load_words(const std::uint16_t* from) {
  return hn::LoadU(Words(), from);
}

template <class Element, int count, bool adds>
void add_up(const SumRow& row) {
  const Words words;
  const int lanes = static_cast<int>(hn::Lanes(words));
  const std::ptrdiff_t step = pitch(row.labels, sizeof(Element)), sum_step = sum_pitch(row.labels);
  for (int x = 0; x < row.width; ++x) {
    std::uint16_t* sums = row.sums + x * sum_step;
    for (int label = 0; label < sum_step; label += lanes) {
      auto sum = adds ? hn::LoadU(words, sums + label) : hn::Zero(words);
      for (int path = 0; path < count; ++path)
        sum = hn::Add(sum, load_words(static_cast<const Element*>(row.paths[path]) + x * step + label));
      hn::StoreU(sum, words, sums + label);
    }
  }
}

template <class Element, int count>
void add_up_paths(const SumRow& row) {
  if (row.count != count) return add_up_paths<Element, count - 1>(row);
  row.adds ? add_up<Element, count, true>(row) : add_up<Element, count, false>(row);
}
template <>
void add_up_paths<std::uint8_t, 0>(const SumRow&) {}
template <>
void add_up_paths<std::uint16_t, 0>(const SumRow&) {}

void add_up_row_here(const SumRow& row) {
  row.element_bytes == 1 ? add_up_paths<std::uint8_t, most_paths>(row)
                         : add_up_paths<std::uint16_t, most_paths>(row);
}

// Decisions

// The lowest of the sums of a pixel. Those beyond its labels are left out.
HWY_INLINE std::uint16_t lowest(const std::uint16_t* sums, int labels) {
  const Words words;
  const int lanes = static_cast<int>(hn::Lanes(words));
  auto least = hn::Set(words, highest<std::uint16_t>);
  int label = 0;
  for (; label + lanes <= labels; label += lanes) least = hn::Min(least, hn::LoadU(words, sums + label));
  std::uint16_t found = lowest_lane(words, least);
  for (; label < labels; ++label) found = std::min(found, sums[label]);
  return found;
}

// The first label with a sum that occurs.
HWY_INLINE int find(const std::uint16_t* sums, std::uint16_t sum) {
  const Words words;
  const auto wanted = hn::Set(words, sum);
  for (int label = 0;; label += static_cast<int>(hn::Lanes(words))) {
    const auto found = hn::FindFirstTrue(words, hn::Eq(hn::LoadU(words, sums + label), wanted));
    if (found >= 0) return label + static_cast<int>(found);
  }
}

Decided decide_here(const std::uint16_t* sums, int labels, bool wants_rival) {
  Decided found{};
  found.best = lowest(sums, labels);
  found.label = find(sums, found.best);
  if (found.label > 0) found.before = sums[found.label - 1];
  if (found.label + 1 < labels) found.after = sums[found.label + 1];
  if (!wants_rival) return found;
  const int below = std::max(0, found.label - 1), above = std::min(labels, found.label + 2);
  found.has_rival = below > 0 || above < labels;
  found.rival = std::min(lowest(sums, below), lowest(sums + above, labels - above));
  return found;
}

void take_right_here(const std::uint16_t* sums, int first, int last, int at, const RightRow& right) {
  const Words words;
  const int lanes = static_cast<int>(hn::Lanes(words));
  int label = first;
  std::uint16_t *lowest = right.lowest + at - first, *labels = right.labels + at - first;
  for (; label + lanes <= last; label += lanes) {
    const auto sum = hn::LoadU(words, sums + label), known = hn::LoadU(words, lowest + label);
    const auto is_lower = hn::Lt(sum, known);
    hn::StoreU(hn::Min(sum, known), words, lowest + label);
    hn::StoreU(hn::IfThenElse(is_lower, hn::Iota(words, static_cast<std::uint16_t>(label)),
                              hn::LoadU(words, labels + label)),
               words, labels + label);
  }
  for (; label < last; ++label) {
    if (sums[label] >= lowest[label]) continue;
    lowest[label] = sums[label];
    labels[label] = static_cast<std::uint16_t>(label);
  }
}

}  // namespace parallax::semi_global::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax::semi_global {

HWY_EXPORT(turn_costs_here);
HWY_EXPORT(follow_row_here);
HWY_EXPORT(add_up_row_here);
HWY_EXPORT(decide_here);
HWY_EXPORT(take_right_here);

void turn_costs(const Turn& turn) {
  HWY_DYNAMIC_DISPATCH(turn_costs_here)(turn);
}

void follow_row(const PathRow& row) {
  HWY_DYNAMIC_DISPATCH(follow_row_here)(row);
}

void add_up_row(const SumRow& row) {
  HWY_DYNAMIC_DISPATCH(add_up_row_here)(row);
}

Decided decide(const std::uint16_t* sums, int labels, bool wants_rival) {
  return HWY_DYNAMIC_DISPATCH(decide_here)(sums, labels, wants_rival);
}

void take_right(const std::uint16_t* sums, int first, int last, int at, const RightRow& right) {
  HWY_DYNAMIC_DISPATCH(take_right_here)(sums, first, last, at, right);
}

}  // namespace parallax::semi_global
#endif
