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
  const std::ptrdiff_t step = pitch(turn.labels);
  for (int pixel = 0; pixel < turn.pixels; ++pixel)
    for (int label = 0; label < step; ++label)
      to[pixel * step + label] = label < turn.labels ? from[label * turn.stride + pixel] : highest<Element>;
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
  const std::ptrdiff_t step = pitch(turn.labels);
  Element beyond[data_cost::most_at_once + side];
  std::fill(beyond, beyond + turn.pixels + side, highest<Element>);
  for (int label = 0; label < step; label += side) {
    const Element* rows[side];
    for (int i = 0; i < side; ++i)
      rows[i] = label + i < turn.labels ? from + (label + i) * turn.stride : beyond;
    for (int pixel = 0; pixel < turn.pixels; pixel += side)
      turn_square<Element, side>(rows, pixel, to + pixel * step + label, step, turn.pixels - pixel);
  }
}

#endif

void turn_costs_here(const Turn& turn) {
  turn.element_bytes == 1 ? turn_as<std::uint8_t>(turn) : turn_as<std::uint16_t>(turn);
}

// Windows

HWY_INLINE hn::Vec<Words> load_words(const std::uint8_t* from) {
  return hn::PromoteTo(Words(), hn::LoadU(hn::Rebind<std::uint8_t, Words>(), from));
}
HWY_INLINE hn::Vec<Words> load_words(const std::uint16_t* from) {
  return hn::LoadU(Words(), from);
}

// Windows move along a row: each adds the column that it reaches, and loses the one that it leaves.
template <class Cost>
class Windows {
 public:
  explicit Windows(const WindowRow& row)
      : row_(row), step_(pitch(row.labels)), columns_(row.scratch + step_), window_(2 * row.reach + 1) {}

  void begin() const {
    for (int label = 0; label < step_; label += lanes_)
      hn::StoreU(hn::Zero(Words()), Words(), row_.scratch + label);
    for (int x = row_.first - row_.reach; x < row_.first + row_.reach; ++x) {
      std::uint16_t* column = column_of(x);
      for (int label = 0; label < step_; label += lanes_) {
        const auto sum = column_sum(x, label);
        hn::StoreU(sum, Words(), column + label);
        hn::StoreU(hn::Add(sum, hn::LoadU(Words(), row_.scratch + label)), Words(), row_.scratch + label);
      }
    }
  }

  // Writes the sums of a pixel, and returns the lowest in the lanes of a vector.
  HWY_INLINE hn::Vec<Words> move_to(int x, std::uint16_t* out) const {
    auto least = hn::Set(Words(), highest<std::uint16_t>);
    std::uint16_t* entered = column_of(x + row_.reach);
    const std::uint16_t* left = column_of(x - row_.reach);
    for (int label = 0; label < step_; label += lanes_) {
      const auto column = column_sum(x + row_.reach, label);
      const auto sum = hn::Add(hn::LoadU(Words(), row_.scratch + label), column);
      const auto kept = hn::Or(sum, beyond(row_.labels, label));
      hn::StoreU(kept, Words(), out + label);
      least = hn::Min(least, kept);
      hn::StoreU(column, Words(), entered + label);
      hn::StoreU(hn::Sub(sum, hn::LoadU(Words(), left + label)), Words(), row_.scratch + label);
    }
    return least;
  }

 private:
  std::uint16_t* column_of(int x) const { return columns_ + (x + window_) % window_ * step_; }
  HWY_INLINE hn::Vec<Words> column_sum(int x, int label) const {
    const std::ptrdiff_t at = (std::clamp(x, row_.begin, row_.end - 1) - row_.begin) * step_ + label;
    auto sum = load_words(static_cast<const Cost*>(row_.rows[0]) + at);
    for (int j = 1; j < window_; ++j)
      sum = hn::Add(sum, load_words(static_cast<const Cost*>(row_.rows[j]) + at));
    return sum;
  }

  const WindowRow& row_;
  const std::ptrdiff_t step_;
  std::uint16_t* const columns_;
  const int window_, lanes_ = static_cast<int>(hn::Lanes(Words()));
};

void write_bytes(const std::uint16_t* sums, std::uint16_t least, const WindowRow& row, std::uint8_t* out) {
  const hn::RebindToSigned<Words> integers;
  const hn::Rebind<std::uint8_t, Words> bytes;
  const auto subtracted = hn::Set(Words(), row.subtracts_least ? least : std::uint16_t{0});
  const auto limit = hn::Set(Words(), static_cast<std::uint16_t>(row.limit));
  for (int label = 0; label < pitch(row.labels); label += static_cast<int>(hn::Lanes(Words()))) {
    const auto above = hn::Min(hn::Sub(hn::LoadU(Words(), sums + label), subtracted), limit);
    hn::StoreU(hn::DemoteTo(bytes, hn::BitCast(integers, above)), bytes, out + label);
  }
}

template <class Cost>
void add_up_windows_of(const WindowRow& row) {
  const std::ptrdiff_t step = pitch(row.labels);
  const Windows<Cost> windows(row);
  windows.begin();
  for (int x = row.first; x < row.last; ++x) {
    std::uint16_t* sums = row.sums + (x - row.first) * step;
    const auto least = windows.move_to(x, sums);
    if (row.bytes == nullptr) continue;
    write_bytes(sums, lowest_lane(Words(), least), row, row.bytes + (x - row.first) * step);
  }
}

void add_up_windows_here(const WindowRow& row) {
  row.pixel_bytes == 1 ? add_up_windows_of<std::uint8_t>(row) : add_up_windows_of<std::uint16_t>(row);
}

}  // namespace parallax::semi_global::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax::semi_global {

HWY_EXPORT(turn_costs_here);
HWY_EXPORT(add_up_windows_here);

void turn_costs(const Turn& turn) {
  HWY_DYNAMIC_DISPATCH(turn_costs_here)(turn);
}

void add_up_windows(const WindowRow& row) {
  HWY_DYNAMIC_DISPATCH(add_up_windows_here)(row);
}

}  // namespace parallax::semi_global
#endif
