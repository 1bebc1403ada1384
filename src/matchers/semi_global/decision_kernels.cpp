// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "matchers/semi_global/cpu_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "matchers/semi_global/decision_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "matchers/semi_global/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax::semi_global::HWY_NAMESPACE {

HWY_INLINE std::uint16_t lowest_sum(const std::uint16_t* sums, int labels) {
  const Words words;
  const int lanes = static_cast<int>(hn::Lanes(words));
  auto least = hn::Set(words, highest<std::uint16_t>);
  int label = 0;
  for (; label + lanes <= labels; label += lanes) least = hn::Min(least, hn::LoadU(words, sums + label));
  if (label < labels) least = hn::Min(least, hn::Or(hn::LoadU(words, sums + label), beyond(labels, label)));
  return lowest_lane(words, least);
}

// The first label with a sum that occurs. Looks at all labels, because a branch would often be mispredicted.
HWY_INLINE int first_with(const std::uint16_t* sums, int labels, std::uint16_t sum) {
  const Words words;
  const int lanes = static_cast<int>(hn::Lanes(words));
  const auto wanted = hn::Set(words, sum);
  std::intptr_t first = 0;
  for (int label = (labels - 1) / lanes * lanes; label >= 0; label -= lanes) {
    const std::intptr_t found = hn::FindFirstTrue(words, hn::Eq(hn::LoadU(words, sums + label), wanted));
    first = found >= 0 ? label + found : first;
  }
  return static_cast<int>(first);
}

// Offers labels [first, last) of a left pixel to the right pixels that they lead to. Lowest labels win ties: they come
// first from left to right, and last from right to left.
template <bool leftward>
HWY_INLINE void offer(const std::uint16_t* sums, int first, int last, std::uint16_t* lowest,
                      std::uint16_t* labels) {
  const Words words;
  const int lanes = static_cast<int>(hn::Lanes(words));
  int label = first;
  for (; label + lanes <= last; label += lanes) {
    const auto sum = hn::LoadU(words, sums + label), known = hn::LoadU(words, lowest + label);
    const auto is_better = leftward ? hn::Not(hn::Lt(known, sum)) : hn::Lt(sum, known);
    const auto here = hn::Iota(words, static_cast<std::uint16_t>(label));
    hn::StoreU(hn::Min(sum, known), words, lowest + label);
    hn::StoreU(hn::IfThenElse(is_better, here, hn::LoadU(words, labels + label)), words, labels + label);
  }
  for (; label < last; ++label) {
    if (leftward ? sums[label] > lowest[label] : sums[label] >= lowest[label]) continue;
    lowest[label] = sums[label];
    labels[label] = static_cast<std::uint16_t>(label);
  }
}

template <bool leftward>
void decide_as(const DecisionRow& row) {
  const int labels = row.labels;
  for (int i = 0; i < row.count; ++i) {
    const int x = leftward ? -i : i;
    if (row.status[x] != 0) continue;
    std::uint16_t* sums = row.sums + i * pitch(labels);
    Decided& found = row.decided[i];
    found.best = lowest_sum(sums, labels);
    const int label = first_with(sums, labels, found.best);
    found.label = static_cast<std::uint16_t>(label);
    found.before = sums[std::max(0, label - 1)];
    found.after = sums[std::min(labels - 1, label + 1)];
    if (row.right != RightLabels::none) {
      const std::int64_t to = row.right_first - x;
      const auto inside = [&](std::int64_t element) {
        return static_cast<int>(std::clamp<std::int64_t>(element - to, 0, labels));
      };
      int first = inside(0), last = inside(row.right_width);
      if (row.right == RightLabels::best) {
        first = std::max(first, label);
        last = std::min(last, label + 1);
      }
      if (first < last) offer<leftward>(sums, first, last, row.right_lowest + to, row.right_labels + to);
    }
    if (!row.wants_rival) continue;
    for (int near = std::max(0, label - 1); near <= std::min(labels - 1, label + 1); ++near)
      sums[near] = highest<std::uint16_t>;
    found.rival = lowest_sum(sums, labels);
  }
}

void decide_here(const DecisionRow& row) {
  row.way < 0 ? decide_as<true>(row) : decide_as<false>(row);
}

}  // namespace parallax::semi_global::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax::semi_global {

HWY_EXPORT(decide_here);

void decide(const DecisionRow& row) {
  HWY_DYNAMIC_DISPATCH(decide_here)(row);
}

}  // namespace parallax::semi_global
#endif
