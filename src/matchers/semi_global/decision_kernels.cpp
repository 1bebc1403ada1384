// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "matchers/semi_global/cpu_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "matchers/semi_global/decision_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "devices/cpu/dispatch.h"
#include "matchers/semi_global/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax::semi_global::HWY_NAMESPACE {

HWY_INLINE std::uint16_t min_sum(const std::uint16_t* sums, int disparities) {
  const Words words;
  const int lanes = static_cast<int>(hn::Lanes(words));
  auto min = hn::Set(words, highest<std::uint16_t>);
  int label = 0;
  for (; label + lanes <= disparities; label += lanes) min = hn::Min(min, hn::LoadU(words, sums + label));
  if (label < disparities)
    min = hn::Min(min, hn::Or(hn::LoadU(words, sums + label), beyond(disparities, label)));
  return min_lane(words, min);
}

// The first label with a sum, which must occur. Looks at all: a branch would often be mispredicted.
HWY_INLINE int first_with(const std::uint16_t* sums, int disparities, std::uint16_t sum) {
  const Words words;
  const int lanes = static_cast<int>(hn::Lanes(words));
  const auto wanted = hn::Set(words, sum);
  std::intptr_t first = 0;
  for (int label = (disparities - 1) / lanes * lanes; label >= 0; label -= lanes) {
    const std::intptr_t found = hn::FindFirstTrue(words, hn::Eq(hn::LoadU(words, sums + label), wanted));
    first = found >= 0 ? label + found : first;
  }
  return static_cast<int>(first);
}

// Offers all labels of `count` pixels from `i` on to right pixels. Ties as in DecisionRow::offer().
template <bool leftward, int count>
void offer_all(const DecisionRow& row, int i) {
  const Words words;
  const std::int64_t to = row.right_first - (leftward ? -i : i), first = leftward ? to : to - (count - 1);
  const int labels = row.disparities + count - 1;
  if (first + labels <= 0 || first >= row.right_width) return;
  for (int e = 0; e < labels; e += static_cast<int>(hn::Lanes(words))) {
    std::uint16_t *lowest = row.right.sums + first + e, *taken = row.right.labels + first + e;
    auto known = hn::LoadU(words, lowest), label_of_known = hn::LoadU(words, taken);
    for (int k = 0; k < count; ++k) {
      const int label = e - (leftward ? k : count - 1 - k);
      const auto sum = hn::LoadU(words, row.sums + (i + k) * row.step + label);
      const auto here = hn::Iota(words, static_cast<std::uint16_t>(label));
      label_of_known = leftward ? hn::IfThenElse(hn::Lt(known, sum), label_of_known, here)
                                : hn::IfThenElse(hn::Lt(sum, known), here, label_of_known);
      known = hn::Min(known, sum);
    }
    hn::StoreU(known, words, lowest);
    hn::StoreU(label_of_known, words, taken);
  }
}

HWY_INLINE void fill_highest(std::uint16_t* sums, int first, int last) {
  std::fill(sums + first, sums + last, highest<std::uint16_t>);
}

template <bool leftward>
HWY_INLINE bool is_decided(const DecisionRow& row, int i) {
  return row.status[leftward ? -i : i] == 0;
}

template <bool leftward>
HWY_INLINE void decide_pixel(const DecisionRow& row, int i) {
  const int labels = row.disparities;
  std::uint16_t* sums = row.sums + i * row.step;
  fill_highest(sums, is_decided<leftward>(row, i) ? labels : 0, static_cast<int>(pitch(labels)));
  if (!is_decided<leftward>(row, i)) return;
  Winner& winner = row.winners[i];
  winner.best = min_sum(sums, labels);
  const int label = first_with(sums, labels, winner.best);
  winner.label = static_cast<std::uint16_t>(label);
  winner.before = sums[std::max(0, label - 1)];
  winner.after = sums[std::min(labels - 1, label + 1)];
  if (row.right_labels == RightLabels::best) row.offer(i, winner);
}

HWY_INLINE void find_rival(const DecisionRow& row, int i) {
  std::uint16_t* sums = row.sums + i * row.step;
  Winner& winner = row.winners[i];
  fill_highest(sums, std::max(0, winner.label - 1), std::min(row.disparities, winner.label + 2));
  winner.rival = min_sum(sums, row.disparities);
}

// Several pixels at a time, so that the right map is read and written once for all of them.
template <bool leftward, int count>
void decide_pixels(const DecisionRow& row, int i) {
  for (int k = 0; k < count; ++k) decide_pixel<leftward>(row, i + k);
  if (row.right_labels == RightLabels::all) offer_all<leftward, count>(row, i);
  if (!row.wants_rival) return;
  for (int k = 0; k < count; ++k)
    if (is_decided<leftward>(row, i + k)) find_rival(row, i + k);
}

template <bool leftward>
void decide_as(const DecisionRow& row) {
  constexpr int together = 4;
  int i = 0;
  for (; i + together <= row.count; i += together) decide_pixels<leftward, together>(row, i);
  for (; i < row.count; ++i) decide_pixels<leftward, 1>(row, i);
}

void find_winners_here(const DecisionRow& row) {
  row.direction < 0 ? decide_as<true>(row) : decide_as<false>(row);
}

std::uint16_t min_of_here(const std::uint16_t* sums, int disparities) {
  return min_sum(sums, disparities);
}

}  // namespace parallax::semi_global::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax::semi_global {

PARALLAX_DISPATCH(void, find_winners, (const DecisionRow& row), (row))
PARALLAX_DISPATCH(std::uint16_t, min_of, (const std::uint16_t* sums, int disparities), (sums, disparities))

}  // namespace parallax::semi_global
#endif
