// SPDX-License-Identifier: Apache-2.0
// Two passes, down and up strips of columns, then two along each row, each of which remembers what it has
// met. Lanes are neighbouring columns.

#include <algorithm>

#include "core/checks.h"
#include "core/floating_point.h"
#include "core/integers.h"
#include "refine/refine.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "refine/fill_directions.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace parallax::refine::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A `Nearest` for each column of a strip.
struct Strip {
  float value[fill_strip];
  std::int32_t distance[fill_strip], low[fill_strip], high[fill_strip];

  Strip() {
    const Nearest nothing;
    std::fill_n(value, fill_strip, nothing.value);
    std::fill_n(distance, fill_strip, nothing.distance);
    std::fill_n(low, fill_strip, nothing.low);
    std::fill_n(high, fill_strip, nothing.high);
  }
};

// Pointers to the first pixel of a row of a strip.
struct StripRow {
  const float* disparity;
  const std::uint8_t* level;
  float *weight, *value;
};

// Passes a vector of pixels from the i-th on. Pixels without a value get a candidate: the first one, or a
// better one than they have.
template <class D>
HWY_INLINE void pass(D d, int i, const StripRow& row, bool is_first, Strip& strip) {
  const hn::RebindToSigned<D> di;
  const auto none = hn::Set(d, decision::no_value);
  const auto here = hn::LoadU(d, row.disparity + i);
  const auto level = hn::PromoteTo(di, hn::LoadU(hn::Rebind<std::uint8_t, D>(), row.level + i));
  const auto value = hn::LoadU(d, strip.value + i);
  const auto distance = hn::LoadU(di, strip.distance + i);
  const auto low = hn::LoadU(di, strip.low + i), high = hn::LoadU(di, strip.high + i);
  const auto has_value = hn::Lt(here, none);
  if (!hn::AllTrue(d, has_value)) {
    const auto difference = hn::Max(hn::Sub(level, low), hn::Sub(high, level));
    const auto penalty = hn::Mul(hn::Set(d, 0.5f), hn::ConvertTo(d, hn::Add(difference, distance)));
    const auto is_near = hn::RebindMask(d, hn::Lt(distance, hn::Set(di, fill_reach + 1)));
    const auto weight = hn::IfThenElse(is_near, hn::Add(value, penalty), none);
    const auto best = is_first ? none : hn::LoadU(d, row.weight + i);
    const auto best_value = is_first ? none : hn::LoadU(d, row.value + i);
    const auto is_better = hn::Lt(weight, best);
    hn::StoreU(hn::IfThenElse(is_better, weight, best), d, row.weight + i);
    hn::StoreU(hn::IfThenElse(is_better, value, best_value), d, row.value + i);
  }
  const auto found = hn::RebindMask(di, has_value);
  const auto one = hn::Set(di, 1);
  hn::StoreU(hn::IfThenElse(has_value, here, value), d, strip.value + i);
  hn::StoreU(hn::IfThenElse(found, one, hn::Add(distance, one)), di, strip.distance + i);
  hn::StoreU(hn::IfThenElse(found, level, hn::Min(low, level)), di, strip.low + i);
  hn::StoreU(hn::IfThenElse(found, level, hn::Max(high, level)), di, strip.high + i);
}

HWY_INLINE void pass_row(const StripRow& row, int columns, bool is_first, Strip& strip) {
  const hn::ScalableTag<float> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  int i = 0;
  for (; i + lanes <= columns; i += lanes) pass(d, i, row, is_first, strip);
  for (; i < columns; ++i) pass(hn::CappedTag<float, 1>(), i, row, is_first, strip);
}

void find_in_columns(View<const float> disparity, View<const std::uint8_t> guide,
                     const Candidates& candidates, int first) {
  const int columns = std::min(fill_strip, disparity.size.width - first), height = disparity.size.height;
  const auto row = [&](int y) {
    return StripRow{disparity.row(y) + first, guide.row(y) + first, candidates.weight.row(y) + first,
                    candidates.value.row(y) + first};
  };
  Strip above, below;
  for (int y = 0; y < height; ++y) pass_row(row(y), columns, true, above);
  for (int y = height - 1; y >= 0; --y) pass_row(row(y), columns, false, below);
}

}  // namespace parallax::refine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
namespace refine {
namespace {

// A row of the map, and its candidates from the passes over columns.
struct FillRow {
  float* disparity;
  std::uint8_t* status;
  const std::uint8_t* level;
  float *weight, *value;
  int width;

  void offer(int x, const Nearest& nearest) const {
    const float offered = nearest.weight(level[x]);
    if (!(offered < weight[x])) return;
    weight[x] = offered;
    value[x] = nearest.value;
  }

  void fill(int x) const {
    if (!decision::has_value(value[x]) || status[x] == decision::code(Status::input_masked)) return;
    disparity[x] = value[x];
    status[x] = decision::code(Status::filled);
  }

  // Fills columns [first, last), a whole run of pixels without a value.
  void fill_run(int first, int last) const {
    Nearest left, right;
    if (first > 0) left.pass(disparity[first - 1], level[first - 1]);
    for (int x = first; x < last; ++x) {
      offer(x, left);
      left.pass(decision::no_value, level[x]);
    }
    if (last < width) right.pass(disparity[last], level[last]);
    for (int x = last - 1; x >= first; --x) {
      offer(x, right);
      right.pass(decision::no_value, level[x]);
      fill(x);
    }
  }
};

HWY_EXPORT(find_in_columns);

}  // namespace

void fill_directions(const DisparityMap& map, View<const std::uint8_t> guide, const Candidates& candidates,
                     const Workers& workers) {
  const Size size = map.disparity.size;
  workers.for_each(divide_round_up(size.width, fill_strip), [&](int strip, int) {
    HWY_DYNAMIC_DISPATCH(find_in_columns)(map.disparity, guide, candidates, strip * fill_strip);
  });
  for_rows(workers, size.height, [&](int y, int) {
    const FillRow row{map.disparity.row(y),     map.status.row(y),       guide.row(y),
                      candidates.weight.row(y), candidates.value.row(y), size.width};
    for_empty_runs(row.disparity, size.width, [&](int first, int last) { row.fill_run(first, last); });
  });
}

}  // namespace refine

void fill_directions(const DisparityMap& map, const ImageView& guide, int threads) {
  const DefaultFloatingPoint environment;
  check_map(map);
  refine::check_bordered(map.disparity);
  refine::check_guide(guide, map.disparity.size);
  const Workers workers = refine::checked_workers(threads);
  const refine::Guide gray(guide, 0, workers);
  Plane<float> weight(map.disparity.size), value(map.disparity.size);
  refine::fill_directions(map, gray.view(), {weight.view(), value.view()}, workers);
}

}  // namespace parallax
#endif
