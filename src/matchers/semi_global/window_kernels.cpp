// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "data_cost/row_costs.h"
#include "matchers/semi_global/cpu_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "matchers/semi_global/window_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "devices/cpu/dispatch.h"
#include "matchers/semi_global/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax::semi_global::HWY_NAMESPACE {

// Transposition

#if HWY_TARGET == HWY_SCALAR

template <class Element>
void transpose_as(const Transposition& t) {
  const auto* from = static_cast<const Element*>(t.from);
  auto* to = static_cast<Element*>(t.to);
  for (int pixel = 0; pixel < t.pixels; ++pixel)
    for (int label = 0; label < pitch(t.disparities); ++label)
      to[pixel * t.step + label] = label < t.disparities ? from[label * t.stride + pixel] : highest<Element>;
}

#else

// Interleaving the two halves of the `side` rows log₂(side) times transposes a square.
template <class Element, int side>
HWY_INLINE void transpose_square(const Element* const* rows, std::ptrdiff_t at, Element* to,
                                 std::ptrdiff_t step, int pixels) {
  const hn::FixedTag<Element, side> tag;
  using Vector = hn::Vec<decltype(tag)>;
  Vector here[side], next[side];
  for (int i = 0; i < side; ++i) here[i] = hn::LoadU(tag, rows[i] + at);
  for (int length = side; length > 1; length /= 2) {
    for (int i = 0; i < side / 2; ++i) {
      next[2 * i] = hn::InterleaveLower(tag, here[i], here[i + side / 2]);
      next[2 * i + 1] = hn::InterleaveUpper(tag, here[i], here[i + side / 2]);
    }
    for (int i = 0; i < side; ++i) here[i] = next[i];
  }
  if (pixels >= side) {
    for (int i = 0; i < side; ++i) hn::StoreU(here[i], tag, to + i * step);
  } else {
    for (int i = 0; i < pixels; ++i) hn::StoreU(here[i], tag, to + i * step);
  }
}

template <class Element>
void transpose_as(const Transposition& t) {
  constexpr int side = 16 / sizeof(Element);
  const auto* from = static_cast<const Element*>(t.from);
  auto* to = static_cast<Element*>(t.to);
  Element beyond[data_cost::max_at_once + side];
  std::fill(beyond, beyond + t.pixels + side, highest<Element>);
  for (int label = 0; label < pitch(t.disparities); label += side) {
    const Element* rows[side];
    for (int i = 0; i < side; ++i)
      rows[i] = label + i < t.disparities ? from + (label + i) * t.stride : beyond;
    for (int pixel = 0; pixel < t.pixels; pixel += side)
      transpose_square<Element, side>(rows, pixel, to + pixel * t.step + label, t.step, t.pixels - pixel);
  }
}

#endif

void transpose_costs_here(const Transposition& t) {
  t.element_bytes == 1 ? transpose_as<std::uint8_t>(t) : transpose_as<std::uint16_t>(t);
}

// Costs of row offsets

template <class Element>
void add_row_costs_as(const AddedRowCosts& added) {
  const hn::ScalableTag<Element> tag;
  auto* costs = static_cast<Element*>(added.costs);
  for (int i = 0; i < added.count; ++i, costs += pitch(added.disparities)) {
    if (added.row_costs[i] == 0) continue;
    const auto row_cost = hn::Set(tag, static_cast<Element>(added.row_costs[i]));
    for (int label = 0; label < added.disparities; label += static_cast<int>(hn::Lanes(tag)))
      hn::StoreU(hn::SaturatedAdd(hn::LoadU(tag, costs + label), row_cost), tag, costs + label);
  }
}

void add_row_costs_here(const AddedRowCosts& added) {
  added.element_bytes == 1 ? add_row_costs_as<std::uint8_t>(added) : add_row_costs_as<std::uint16_t>(added);
}

// Windows

HWY_INLINE hn::Vec<Words> load_words(const std::uint8_t* from) {
  return hn::PromoteTo(Words(), hn::LoadU(hn::Rebind<std::uint8_t, Words>(), from));
}
HWY_INLINE hn::Vec<Words> load_words(const std::uint16_t* from) {
  return hn::LoadU(Words(), from);
}

// Running sums of windows along a row: each window adds the column that enters it and subtracts the one that
// leaves. `known_window`: the number of rows of a window if it is known at compile time, or 0.
template <class Cost, int known_window>
class Windows {
 public:
  explicit Windows(const WindowRow& row)
      : row_(row),
        step_(pitch(row.disparities)),
        window_(known_window > 0 ? known_window : 2 * row.reach + 1),
        sums_(row.scratch),
        columns_(row.scratch + step_) {}

  void begin() const {
    for (int label = 0; label < step_; label += lanes_) hn::StoreU(hn::Zero(Words()), Words(), sums_ + label);
    for (int x = row_.first - row_.reach; x < row_.first + row_.reach; ++x) {
      const Column entering(*this, x);
      std::uint16_t* kept = kept_column(x);
      for (int label = 0; label < step_; label += lanes_) {
        const auto sum = entering.sum(label);
        hn::StoreU(sum, Words(), kept + label);
        hn::StoreU(hn::Add(sum, hn::LoadU(Words(), sums_ + label)), Words(), sums_ + label);
      }
    }
  }

  // Writes the sums of a pixel, and returns a vector whose lowest lane is the minimum of them.
  HWY_INLINE hn::Vec<Words> move_to(int x, std::uint16_t* out) const {
    auto min = hn::Set(Words(), highest<std::uint16_t>);
    const Column entering(*this, x + row_.reach);
    std::uint16_t *kept = kept_column(x + row_.reach), *sums = sums_;
    const std::uint16_t* leaving = kept_column(x - row_.reach);
    const int disparities = row_.disparities;
    for (int label = 0; label < step_; label += lanes_) {
      const auto column = entering.sum(label);
      const auto all = hn::Add(hn::LoadU(Words(), sums + label), column);
      const auto sum = label + lanes_ <= disparities ? all : hn::Or(all, beyond(disparities, label));
      hn::StoreU(sum, Words(), out + label);
      min = hn::Min(min, sum);
      hn::StoreU(column, Words(), kept + label);
      hn::StoreU(hn::Sub(all, hn::LoadU(Words(), leaving + label)), Words(), sums + label);
    }
    return min;
  }

 private:
  // The costs of one column of the windows.
  struct Column {
    HWY_INLINE Column(const Windows& windows, int x) : window(windows.window_) {
      const WindowRow& row = windows.row_;
      const std::ptrdiff_t at = (std::clamp(x, row.begin, row.end - 1) - row.begin) * row.step;
      for (int j = 0; j < window; ++j) costs[j] = static_cast<const Cost*>(row.rows[j]) + at;
    }
    HWY_INLINE hn::Vec<Words> sum(int label) const {
      auto sum = load_words(costs[0] + label);
      for (int j = 1; j < (known_window > 0 ? known_window : window); ++j)
        sum = hn::Add(sum, load_words(costs[j] + label));
      return sum;
    }
    int window;
    const Cost* costs[known_window > 0 ? known_window : max_window];
  };

  HWY_INLINE std::uint16_t* kept_column(int x) const { return columns_ + (x + window_) % window_ * step_; }

  const WindowRow& row_;
  const std::ptrdiff_t step_;
  const int window_, lanes_ = static_cast<int>(hn::Lanes(Words()));
  std::uint16_t *const sums_, *const columns_;
};

void write_bytes(const std::uint16_t* sums, std::uint16_t min, const WindowRow& row, std::uint8_t* out) {
  const hn::RebindToSigned<Words> integers;
  const hn::Rebind<std::uint8_t, Words> bytes;
  const auto subtracted = hn::Set(Words(), row.subtracts_min ? min : std::uint16_t{0});
  const auto limit = hn::Set(Words(), static_cast<std::uint16_t>(row.limit));
  const std::ptrdiff_t step = pitch(row.disparities);
  for (int label = 0; label < step; label += static_cast<int>(hn::Lanes(Words()))) {
    const auto above = hn::Min(hn::Sub(hn::LoadU(Words(), sums + label), subtracted), limit);
    hn::StoreU(hn::DemoteTo(bytes, hn::BitCast(integers, above)), bytes, out + label);
  }
}

template <class Cost, int known_window>
void sum_windows_of(const WindowRow& row) {
  const Windows<Cost, known_window> windows(row);
  windows.begin();
  for (int x = row.first; x < row.last; ++x) {
    std::uint16_t* sums = row.sums + (x - row.first) * row.step;
    const auto min = windows.move_to(x, sums);
    if (row.bytes == nullptr) continue;
    write_bytes(sums, min_lane(Words(), min), row, row.bytes + (x - row.first) * row.step);
  }
}

template <class Cost>
void sum_windows_as(const WindowRow& row) {
  switch (row.reach) {
    case 0:
      return sum_windows_of<Cost, 1>(row);
    case 1:
      return sum_windows_of<Cost, 3>(row);
    default:
      return sum_windows_of<Cost, 0>(row);
  }
}

void sum_windows_here(const WindowRow& row) {
  row.pixel_bytes == 1 ? sum_windows_as<std::uint8_t>(row) : sum_windows_as<std::uint16_t>(row);
}

}  // namespace parallax::semi_global::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax::semi_global {

PARALLAX_DISPATCH(void, transpose_costs, (const Transposition& t), (t))
PARALLAX_DISPATCH(void, add_row_costs, (const AddedRowCosts& added), (added))
PARALLAX_DISPATCH(void, sum_windows, (const WindowRow& row), (row))

}  // namespace parallax::semi_global
#endif
