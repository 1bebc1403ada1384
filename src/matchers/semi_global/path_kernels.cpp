// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "matchers/semi_global/cpu_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "matchers/semi_global/path_kernels.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "devices/cpu/dispatch.h"
#include "matchers/semi_global/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax::semi_global::HWY_NAMESPACE {

// A vector of path costs, as words.
template <class Element>
struct Wide {
  static constexpr int parts = 1;
  // Compiled for the target, as an implicit constructor is not.
  HWY_INLINE Wide() {}
  HWY_INLINE explicit Wide(hn::Vec<Words> only) { part[0] = only; }

  hn::Vec<Words> part[parts];
};

HWY_INLINE Wide<std::uint16_t> widen(hn::Vec<Words> v) {
  return Wide<std::uint16_t>(v);
}

using Bytes = hn::ScalableTag<std::uint8_t>;

#if HWY_TARGET == HWY_SCALAR
HWY_INLINE Wide<std::uint8_t> widen(hn::Vec<Bytes> v) {
  return Wide<std::uint8_t>(hn::PromoteTo(Words(), v));
}
#else
template <>
struct Wide<std::uint8_t> {
  static constexpr int parts = 2;
  HWY_INLINE Wide() {}
  HWY_INLINE Wide(hn::Vec<Words> low, hn::Vec<Words> high) {
    part[0] = low;
    part[1] = high;
  }

  hn::Vec<Words> part[parts];
};
HWY_INLINE Wide<std::uint8_t> widen(hn::Vec<Bytes> v) {
  const hn::Half<Bytes> half;
  return {hn::PromoteTo(Words(), hn::LowerHalf(half, v)), hn::PromoteTo(Words(), hn::UpperHalf(half, v))};
}
#endif

template <class Element>
HWY_INLINE Wide<Element> load_wide(const std::uint16_t* from) {
  Wide<Element> wide;
  for (int i = 0; i < Wide<Element>::parts; ++i)
    wide.part[i] = hn::LoadU(Words(), from + i * static_cast<int>(hn::Lanes(Words())));
  return wide;
}
template <class Element>
HWY_INLINE void add_to(Wide<Element>& sum, const Wide<Element>& more) {
  for (int i = 0; i < Wide<Element>::parts; ++i) sum.part[i] = hn::Add(sum.part[i], more.part[i]);
}

// Stores the minimum of the lanes of each of up to four vectors.
template <class Tag>
HWY_INLINE void store_minima(Tag tag, const hn::Vec<Tag>* of, int count, std::uint32_t* out) {
#if HWY_TARGET == HWY_SCALAR
  for (int i = 0; i < count; ++i) out[i] = hn::GetLane(of[i]);
  static_cast<void>(tag);
#else
  if constexpr (hn::MaxLanes(tag) * sizeof(hn::TFromD<Tag>) > 16) {
    // Halves the vectors until they have 16 bytes.
    const hn::Half<Tag> half;
    hn::Vec<hn::Half<Tag> > halves[max_paths];
    for (int i = 0; i < count; ++i)
      halves[i] = hn::Min(hn::LowerHalf(half, of[i]), hn::UpperHalf(half, of[i]));
    store_minima(half, halves, count, out);
  } else {
    const hn::Repartition<std::uint32_t, Tag> wide;
    const auto merge = [&](hn::Vec<Tag> a, hn::Vec<Tag> b) HWY_ATTR {
      const auto x = hn::BitCast(wide, a), y = hn::BitCast(wide, b);
      return hn::Min(hn::BitCast(tag, hn::InterleaveLower(wide, x, y)),
                     hn::BitCast(tag, hn::InterleaveUpper(wide, x, y)));
    };
    const auto second = count > 1 ? of[1] : of[0], third = count > 2 ? of[2] : of[0],
               fourth = count > 3 ? of[3] : second;
    // Paths 0, 2 and 1, 3; then 0, 1, 2, 3.
    const auto lowest = merge(merge(of[0], third), merge(second, fourth));
    auto all = lowest;
    all = hn::Min(all, hn::BitCast(tag, hn::ShiftRight<16>(hn::BitCast(wide, all))));
    if constexpr (sizeof(hn::TFromD<Tag>) == 1)
      all = hn::Min(all, hn::BitCast(tag, hn::ShiftRight<8>(hn::BitCast(wide, all))));
    hn::StoreU(hn::BitCast(wide, all), wide, out);
  }
#endif
}

// Whether a vector holds the first disparities of a row offset, or the last.
template <bool first, bool last>
struct Position {
  static constexpr bool is_first = first, is_last = last;
};

// The transition costs T of semi_global.h from a pixel.
template <class Tag>
struct Transition {
  using Element = hn::TFromD<Tag>;
  using Vector = hn::Vec<Tag>;

  // Compiled for the target, as an implicit constructor is not.
  HWY_INLINE Transition() {}
  HWY_INLINE Transition(const void* path, std::uint32_t path_min, std::uint16_t large_jump)
      : path(static_cast<const Element*>(path)),
        min(hn::Set(Tag(), static_cast<Element>(path_min))),
        // A jump from the minimum to any label; no transition costs more.
        capped(hn::SaturatedAdd(min, hn::Set(Tag(), static_cast<Element>(large_jump)))) {}
  // For one row offset of several: a jump from its own minimum, or the row jump from the overall minimum.
  HWY_INLINE Transition(const void* path, std::uint32_t path_min, std::uint16_t row_jump,
                        std::uint32_t row_min, std::uint16_t large_jump)
      : Transition(path, path_min, row_jump) {
    const auto from_row = hn::Set(Tag(), static_cast<Element>(row_min));
    capped = hn::Min(capped, hn::SaturatedAdd(from_row, hn::Set(Tag(), static_cast<Element>(large_jump))));
  }

  // Labels outside the range have the highest cost.
  template <class Position>
  HWY_INLINE Vector at(Position, int label, Vector small_jump) const {
    const Tag tag;
    auto below = hn::LoadU(tag, path + label - 1), above = hn::LoadU(tag, path + label + 1);
    if constexpr (Position::is_first) below = hn::Or(below, hn::VecFromMask(tag, hn::FirstN(tag, 1)));
    if constexpr (Position::is_last)
      above = hn::Or(above, hn::Not(hn::VecFromMask(tag, hn::FirstN(tag, hn::Lanes(tag) - 1))));
    const auto near =
        hn::Min(hn::SaturatedAdd(hn::Min(below, above), small_jump), hn::LoadU(tag, path + label));
    return hn::Sub(hn::Min(near, capped), min);
  }

  const Element* path;
  Vector min, capped;
};

// Pixels ahead whose sums are fetched from memory.
constexpr int fetched_ahead = 8;

template <class Element, class Cost, Bundle bundle, bool pairs_fit_bytes>
class Aggregator {
 public:
  explicit Aggregator(const Paths& paths)
      : paths_(paths),
        row_step_(pitch(paths.disparities)),
        step_(row_step_ * paths.row_offsets),
        minima_(minima_per_pixel(paths.row_offsets)),
        small_jump_(hn::Set(Tag(), static_cast<Element>(paths.small_jump))) {}

  // Computes the path costs of a pixel, and their sums.
  HWY_INLINE void visit(const PathRow& row, int i) const {
    for (int k = 0; k < paths_.row_offsets; ++k) visit_row_offset(row, i, k);
    if (paths_.row_offsets > 1) find_overall_minima(row.here.minima + minima_index(i) * minima_);
  }

 private:
  using Tag = hn::ScalableTag<Element>;
  using Vector = hn::Vec<Tag>;
  static constexpr BundleForm form = form_of(bundle);

  struct Pixel {
    // Compiled for the target, as an implicit constructor is not.
    HWY_INLINE Pixel() {}

    Transition<Tag> from[form.sources()];
    const Element* costs;
    Element* here[form.paths];
    Vector min[form.paths];
    std::ptrdiff_t at, sum_at;  // offsets of label 0
  };

  HWY_INLINE void visit_row_offset(const PathRow& row, int i, int k) const {
    Pixel pixel;
    const std::ptrdiff_t of_row = k * row_step_;
    for (int s = 0; s < form.sources(); ++s) pixel.from[s] = source(row, i, s, k);
    for (int p = 0; p < form.paths; ++p) {
      pixel.here[p] = static_cast<Element*>(row.here.paths[p]) + index(p, i) * step_ + of_row;
      pixel.min[p] = hn::Set(Tag(), highest<Element>);
    }
    pixel.at = i * row.step + of_row;
    pixel.sum_at = i * row.sum_step + k * row.sum_row_step;
    pixel.costs = static_cast<const Element*>(row.costs) + pixel.at;
    const int last = static_cast<int>(row_step_) - lanes_;
    if (last == 0) {
      visit_labels(Position<true, true>(), row, i, 0, pixel);
    } else {
      visit_labels(Position<true, false>(), row, i, 0, pixel);
      for (int label = lanes_; label < last; label += lanes_)
        visit_labels(Position<false, false>(), row, i, label, pixel);
      visit_labels(Position<false, true>(), row, i, last, pixel);
    }
    const int at = minima_index(i) * minima_ + (paths_.row_offsets > 1 ? (k + 1) * max_paths : 0);
    store_minima(Tag(), pixel.min, form.paths, row.here.minima + at);
  }

  HWY_INLINE void find_overall_minima(std::uint32_t* minima) const {
    for (int p = 0; p < form.paths; ++p) {
      Element min = highest<Element>;
      for (int at = max_paths + p; at < minima_; at += max_paths)
        min = std::min(min, static_cast<Element>(minima[at]));
      minima[p] = min;
    }
  }

  template <class Position>
  HWY_INLINE void visit_labels(Position position, const PathRow& row, int i, int label, Pixel& pixel) const {
    const auto cost = hn::LoadU(Tag(), pixel.costs + label);
    Vector transitions[form.paths];
    for (int p = 0; p < form.paths; ++p) {
      transitions[p] = transition_of(position, pixel.from, p, label);
      const auto path = hn::SaturatedAdd(cost, transitions[p]);
      hn::StoreU(path, Tag(), pixel.here[p] + label);
      pixel.min[p] = hn::Min(pixel.min[p], path);
    }
    finish(row, i, label, pixel, cost, transitions);
  }

  static HWY_INLINE int index(int p, int i) { return form.keeps_two(p) ? i & 1 : i; }
  static HWY_INLINE int minima_index(int i) { return bundle == Bundle::before ? i & 1 : i; }

  HWY_INLINE Transition<Tag> source(const PathRow& row, int i, int s, int k) const {
    const int p = form.mgm ? s / 2 : s, at = i + form.from[s].pixels;
    const Line& line = form.from[s].rows == 0 ? row.here : row.above;
    const auto* path = static_cast<const Element*>(line.paths[p]) + index(p, at) * step_ + k * row_step_;
    const std::uint32_t* min = line.minima + minima_index(at) * minima_ + p;
    const std::uint16_t large_jump = row.large_jump[s][i * row.large_jump_step];
    if (paths_.row_offsets == 1) return {path, *min, large_jump};
    return {path, *min, static_cast<std::uint16_t>(paths_.row_jump), min[(k + 1) * max_paths], large_jump};
  }

  template <class Position>
  HWY_INLINE Vector transition_of(Position position, const Transition<Tag>* from, int p, int label) const {
    if constexpr (form.mgm)
      return hn::AverageRound(from[2 * p].at(position, label, small_jump_),
                              from[2 * p + 1].at(position, label, small_jump_));
    else
      return from[p].at(position, label, small_jump_);
  }

  // Adds up the transition costs of the paths of a pixel, or writes them.
  HWY_INLINE void finish(const PathRow& row, int i, int label, const Pixel& pixel, Vector cost,
                         const Vector* transitions) const {
    const std::ptrdiff_t at = pixel.at + label;
    if constexpr (form.paths == 1) {
      if (row.sums == nullptr)
        return hn::StoreU(transitions[0], Tag(), static_cast<Element*>(row.transitions) + at);
    }
    Wide<Element> sum = sum_of(transitions);
    if (row.added_transitions != nullptr)
      add_to(sum, widen(hn::LoadU(Tag(), static_cast<const Element*>(row.added_transitions) + at)));
    if (row.other_sums != nullptr) {
      const std::uint16_t* other = row.other_sums + i * row.other_step + (at - i * row.step);
      for (int part = 0; part < Wide<Element>::parts; ++part)
        hwy::Prefetch(other + fetched_ahead * row.other_step + part * static_cast<int>(hn::Lanes(Words())));
      add_to(sum, load_wide<Element>(other));
    }
    if (paths_.cost_factor > 0) add_to(sum, times(summed_cost(row, at, cost)));
    std::uint16_t* sums = row.sums + pixel.sum_at + label;
    for (int part = 0; part < Wide<Element>::parts; ++part) {
      if (row.streams)
        hn::Stream(sum.part[part], Words(), sums + part * static_cast<int>(hn::Lanes(Words())));
      else
        hn::StoreU(sum.part[part], Words(), sums + part * static_cast<int>(hn::Lanes(Words())));
    }
  }

  HWY_INLINE Wide<Element> sum_of(const Vector* transitions) const {
    constexpr int together = pairs_fit_bytes && form.paths > 1 ? 2 : 1;
    const auto add_up = [&](int p) HWY_ATTR {
      return widen(together == 2 ? hn::Add(transitions[p], transitions[p + 1]) : transitions[p]);
    };
    Wide<Element> sum = add_up(0);
    for (int p = together; p < form.paths; p += together) add_to(sum, add_up(p));
    return sum;
  }

  HWY_INLINE Wide<Element> summed_cost(const PathRow& row, std::ptrdiff_t at, Vector cost) const {
    if constexpr (sizeof(Cost) == sizeof(Element))
      return widen(cost);
    else
      return load_wide<Element>(static_cast<const std::uint16_t*>(row.summed_costs) + at);
  }
  HWY_INLINE Wide<Element> times(Wide<Element> cost) const {
    const auto factor = hn::Set(Words(), static_cast<std::uint16_t>(paths_.cost_factor));
    for (int part = 0; part < Wide<Element>::parts; ++part)
      cost.part[part] = hn::Mul(cost.part[part], factor);
    return cost;
  }

  const Paths& paths_;
  const std::ptrdiff_t row_step_, step_;  // from one row offset, and from one pixel, to the next
  const int minima_;
  const Vector small_jump_;
  const int lanes_ = static_cast<int>(hn::Lanes(Tag()));
};

// Rows take turns, which hides the latency from one pixel to the next.
template <class Element, class Cost, Bundle bundle, bool pairs_fit_bytes>
void aggregate_as(const Paths& paths) {
  const Aggregator<Element, Cost, bundle, pairs_fit_bytes> aggregator(paths);
  if (paths.count == 1) {
    const PathRow row = paths.rows[0];
    for (int i = row.first; i < row.last; ++i) aggregator.visit(row, i);
    return;
  }
  int longest = 0;
  for (int k = 0; k < paths.count; ++k) longest = std::max(longest, paths.rows[k].last - paths.rows[k].first);
  for (int j = 0; j < longest; ++j) {
    for (int k = 0; k < paths.count; ++k) {
      const PathRow& row = paths.rows[k];
      if (row.first + j < row.last) aggregator.visit(row, row.first + j);
    }
  }
}

template <class Element, class Cost, bool pairs_fit_bytes>
void aggregate_bundle(const Paths& paths) {
  switch (paths.bundle) {
    case Bundle::before:
      return aggregate_as<Element, Cost, Bundle::before, pairs_fit_bytes>(paths);
    case Bundle::cross:
      return aggregate_as<Element, Cost, Bundle::cross, pairs_fit_bytes>(paths);
    case Bundle::star:
      return aggregate_as<Element, Cost, Bundle::star, pairs_fit_bytes>(paths);
    case Bundle::corner:
      return aggregate_as<Element, Cost, Bundle::corner, pairs_fit_bytes>(paths);
    case Bundle::corner_and_sides:
      return aggregate_as<Element, Cost, Bundle::corner_and_sides, pairs_fit_bytes>(paths);
    case Bundle::sides:
      return aggregate_as<Element, Cost, Bundle::sides, pairs_fit_bytes>(paths);
  }
}

template <class Element, class Cost>
void aggregate_elements(const Paths& paths) {
  paths.pairs_fit_bytes ? aggregate_bundle<Element, Cost, true>(paths)
                        : aggregate_bundle<Element, Cost, false>(paths);
}

void aggregate_paths_here(const Paths& paths) {
  if (paths.path_bytes == 2) return aggregate_bundle<std::uint16_t, std::uint16_t, true>(paths);
  paths.cost_bytes == 1 ? aggregate_elements<std::uint8_t, std::uint8_t>(paths)
                        : aggregate_elements<std::uint8_t, std::uint16_t>(paths);
}

}  // namespace parallax::semi_global::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax::semi_global {

PARALLAX_DISPATCH(void, aggregate_paths, (const Paths& paths), (paths))

}  // namespace parallax::semi_global
#endif
