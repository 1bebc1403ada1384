// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "data_cost/row_costs.h"
#include "matchers/semi_global/cpu_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "matchers/semi_global/window_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "matchers/semi_global/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax::semi_global::HWY_NAMESPACE {

// Turns

#if HWY_TARGET == HWY_SCALAR

template <class Element>
void turn_as(const Turn& turn) {
  const auto* from = static_cast<const Element*>(turn.from);
  auto* to = static_cast<Element*>(turn.to);
  for (int pixel = 0; pixel < turn.pixels; ++pixel)
    for (int label = 0; label < pitch(turn.labels); ++label)
      to[pixel * turn.step + label] =
          label < turn.labels ? from[label * turn.stride + pixel] : highest<Element>;
}

#else

// Interleaving the halves of `side` rows, as often as a half can be halved, transposes a square.
template <class Element, int side>
HWY_INLINE void turn_square(const Element* const* rows, std::ptrdiff_t at, Element* to, std::ptrdiff_t step,
                            int pixels) {
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
void turn_as(const Turn& turn) {
  constexpr int side = 16 / sizeof(Element);
  const auto* from = static_cast<const Element*>(turn.from);
  auto* to = static_cast<Element*>(turn.to);
  Element beyond[data_cost::most_at_once + side];
  std::fill(beyond, beyond + turn.pixels + side, highest<Element>);
  for (int label = 0; label < pitch(turn.labels); label += side) {
    const Element* rows[side];
    for (int i = 0; i < side; ++i)
      rows[i] = label + i < turn.labels ? from + (label + i) * turn.stride : beyond;
    for (int pixel = 0; pixel < turn.pixels; pixel += side)
      turn_square<Element, side>(rows, pixel, to + pixel * turn.step + label, turn.step, turn.pixels - pixel);
  }
}

#endif

void turn_costs_here(const Turn& turn) {
  turn.element_bytes == 1 ? turn_as<std::uint8_t>(turn) : turn_as<std::uint16_t>(turn);
}

// Additions

template <class Element>
void add_to_costs_as(const Additions& additions) {
  const hn::ScalableTag<Element> tag;
  auto* costs = static_cast<Element*>(additions.costs);
  for (int i = 0; i < additions.count; ++i, costs += pitch(additions.labels)) {
    if (additions.numbers[i] == 0) continue;
    const auto number = hn::Set(tag, static_cast<Element>(additions.numbers[i]));
    for (int label = 0; label < additions.labels; label += static_cast<int>(hn::Lanes(tag)))
      hn::StoreU(hn::SaturatedAdd(hn::LoadU(tag, costs + label), number), tag, costs + label);
  }
}

void add_to_costs_here(const Additions& additions) {
  additions.element_bytes == 1 ? add_to_costs_as<std::uint8_t>(additions)
                               : add_to_costs_as<std::uint16_t>(additions);
}

// Windows

HWY_INLINE hn::Vec<Words> load_words(const std::uint8_t* from) {
  return hn::PromoteTo(Words(), hn::LoadU(hn::Rebind<std::uint8_t, Words>(), from));
}
HWY_INLINE hn::Vec<Words> load_words(const std::uint16_t* from) {
  return hn::LoadU(Words(), from);
}

// Windows move along a row: each adds the column that it reaches, and loses the one that it leaves. `known_window`: the
// number of rows of a window, or 0.
template <class Cost, int known_window>
class Windows {
 public:
  explicit Windows(const WindowRow& row)
      : row_(row),
        step_(pitch(row.labels)),
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

  // Writes the sums of a pixel, and returns the lowest in the lanes of a vector.
  HWY_INLINE hn::Vec<Words> move_to(int x, std::uint16_t* out) const {
    auto least = hn::Set(Words(), highest<std::uint16_t>);
    const Column entering(*this, x + row_.reach);
    std::uint16_t *kept = kept_column(x + row_.reach), *sums = sums_;
    const std::uint16_t* leaving = kept_column(x - row_.reach);
    const int labels = row_.labels;
    for (int label = 0; label < step_; label += lanes_) {
      const auto column = entering.sum(label);
      const auto all = hn::Add(hn::LoadU(Words(), sums + label), column);
      const auto sum = label + lanes_ <= labels ? all : hn::Or(all, beyond(labels, label));
      hn::StoreU(sum, Words(), out + label);
      least = hn::Min(least, sum);
      hn::StoreU(column, Words(), kept + label);
      hn::StoreU(hn::Sub(all, hn::LoadU(Words(), leaving + label)), Words(), sums + label);
    }
    return least;
  }

 private:
  // The costs of a column of the windows.
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
    const Cost* costs[known_window > 0 ? known_window : most_window];
  };

  HWY_INLINE std::uint16_t* kept_column(int x) const { return columns_ + (x + window_) % window_ * step_; }

  const WindowRow& row_;
  const std::ptrdiff_t step_;
  const int window_, lanes_ = static_cast<int>(hn::Lanes(Words()));
  std::uint16_t *const sums_, *const columns_;
};

void write_bytes(const std::uint16_t* sums, std::uint16_t least, const WindowRow& row, std::uint8_t* out) {
  const hn::RebindToSigned<Words> integers;
  const hn::Rebind<std::uint8_t, Words> bytes;
  const auto subtracted = hn::Set(Words(), row.subtracts_least ? least : std::uint16_t{0});
  const auto limit = hn::Set(Words(), static_cast<std::uint16_t>(row.limit));
  const std::ptrdiff_t step = pitch(row.labels);
  for (int label = 0; label < step; label += static_cast<int>(hn::Lanes(Words()))) {
    const auto above = hn::Min(hn::Sub(hn::LoadU(Words(), sums + label), subtracted), limit);
    hn::StoreU(hn::DemoteTo(bytes, hn::BitCast(integers, above)), bytes, out + label);
  }
}

template <class Cost, int known_window>
void add_up_windows_of(const WindowRow& row) {
  const Windows<Cost, known_window> windows(row);
  windows.begin();
  for (int x = row.first; x < row.last; ++x) {
    std::uint16_t* sums = row.sums + (x - row.first) * row.step;
    const auto least = windows.move_to(x, sums);
    if (row.bytes == nullptr) continue;
    write_bytes(sums, lowest_lane(Words(), least), row, row.bytes + (x - row.first) * row.step);
  }
}

template <class Cost>
void add_up_windows_as(const WindowRow& row) {
  switch (row.reach) {
    case 0:
      return add_up_windows_of<Cost, 1>(row);
    case 1:
      return add_up_windows_of<Cost, 3>(row);
    default:
      return add_up_windows_of<Cost, 0>(row);
  }
}

void add_up_windows_here(const WindowRow& row) {
  row.pixel_bytes == 1 ? add_up_windows_as<std::uint8_t>(row) : add_up_windows_as<std::uint16_t>(row);
}

}  // namespace parallax::semi_global::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax::semi_global {

HWY_EXPORT(turn_costs_here);
HWY_EXPORT(add_to_costs_here);
HWY_EXPORT(add_up_windows_here);

void turn_costs(const Turn& turn) {
  HWY_DYNAMIC_DISPATCH(turn_costs_here)(turn);
}

void add_to_costs(const Additions& additions) {
  HWY_DYNAMIC_DISPATCH(add_to_costs_here)(additions);
}

void add_up_windows(const WindowRow& row) {
  HWY_DYNAMIC_DISPATCH(add_up_windows_here)(row);
}

}  // namespace parallax::semi_global
#endif
