// SPDX-License-Identifier: Apache-2.0
// Sums over the windows of block matching. For every column u of the left image (extended by the window's
// radius) and label k there is a running sum over the w rows of the window, the column sum; a row of window
// sums comes from one sweep over u:
//
//   column(u, k) += term(new row) − term(row that left the window)
//   window(k)    += column(u, k) − column(u − w, k)
//
// So the time per label does not depend on the window, and one row of column sums is kept, never a volume.
// Without a guard: included once for each instruction set.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <hwy/highway.h>

#include "core/integers.h"
#include "devices/cpu/dispatch.h"
#include "matchers/block/block.h"
#include "matchers/block/cpu_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace parallax::block::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Terms of a window sum, in lanes of the sums, for one left value and the values at `right`, which belong to
// neighbouring labels. Values are bounded by Search::highest_value.

// Sums of 16 bits: values below 2¹⁵.
template <BlockCost cost, class D>
HWY_INLINE hn::Vec<D> term(D d, hwy::SizeTag<2>, std::uint16_t left, const std::uint16_t* right) {
  static_assert(cost == BlockCost::sad);
#if PARALLAX_NEON_VECTORS
  return hn::Vec<D>{vabdq_u16(hn::Set(d, left).raw, hn::LoadU(d, right).raw)};
#else
  const hn::RebindToSigned<D> d_signed;
  const auto difference =
      hn::Sub(hn::BitCast(d_signed, hn::Set(d, left)), hn::BitCast(d_signed, hn::LoadU(d, right)));
  return hn::BitCast(d, hn::Abs(difference));
#endif
}

// Sums of 32 bits: products of values below 2⁸, differences of any.
template <BlockCost cost, class D>
HWY_INLINE hn::Vec<D> term(D d, hwy::SizeTag<4>, std::uint16_t left, const std::uint16_t* right) {
  const hn::Rebind<std::uint16_t, D> d16;
  const auto l = hn::Set(d16, left), r = hn::LoadU(d16, right);
  if constexpr (cost == BlockCost::zncc) return hn::PromoteTo(d, hn::Mul(l, r));
  const auto difference = hn::Or(hn::SaturatedSub(l, r), hn::SaturatedSub(r, l));
  return hn::PromoteTo(d, cost == BlockCost::ssd ? hn::Mul(difference, difference) : difference);
}

// Sums of 64 bits: any values.
template <BlockCost cost, class D>
HWY_INLINE hn::Vec<D> term(D d, hwy::SizeTag<8>, std::uint16_t left, const std::uint16_t* right) {
  const hn::Rebind<std::uint16_t, D> d16;
  const hn::Rebind<std::uint32_t, D> d32;
  const auto l = hn::Set(d32, static_cast<std::uint32_t>(left)),
             r = hn::PromoteTo(d32, hn::LoadU(d16, right));
  const hn::RebindToUnsigned<D> d_unsigned;
  if constexpr (cost == BlockCost::zncc) return hn::BitCast(d, hn::PromoteTo(d_unsigned, hn::Mul(l, r)));
  const auto difference = hn::Sub(hn::Max(l, r), hn::Min(l, r));
  return hn::BitCast(d, hn::PromoteTo(d_unsigned, hn::Mul(difference, difference)));
}

// `Sum`: the type of the sums.
template <class Sum, BlockCost cost>
class WindowSums {
 public:
  using SumTag = hn::ScalableTag<Sum>;

  // Column u in the rows that enter the windows and leave them.
  struct Place {
    int u;
    const std::uint16_t *left_new, *left_old;    // the pixel of column u
    const std::uint16_t *right_new, *right_old;  // the pixel of its label 0
    Sum* column;

    void advance(int padded_labels) {
      ++u, ++left_new, ++left_old, --right_new, --right_old;
      column += padded_labels;
    }
  };

  explicit WindowSums(const Sweep& sweep)
      : s_(sweep),
        shape_(sweep.shape),
        columns_(static_cast<Sum*>(sweep.memory.columns)),
        zeros_(static_cast<Sum*>(sweep.memory.zeros)),
        sums_(static_cast<Sum*>(sweep.memory.window_sums)) {}

  // Sums the columns of the windows of the row above `first`.
  void start(int first) {
    std::fill_n(columns_, to_size(shape_.columns()) * to_size(shape_.padded_labels), Sum{0});
    std::fill_n(zeros_, shape_.padded_labels, Sum{0});
    for (int y = first - 1 - shape_.radius; y < first + shape_.radius; ++y) add_row(y);
  }

  // Moves the windows to row y, left of its first pixel.
  Place begin_row(int y) {
    const int y_new = y + shape_.radius, y_old = y - shape_.radius - 1;
    const int mirrored = shape_.mirrored(-shape_.radius);
    Place place{-shape_.radius,
                s_.left.row(s_.row_in_image(y_new)),
                s_.left.row(s_.row_in_image(y_old)),
                s_.right_row(y_new) + mirrored,
                s_.right_row(y_old) + mirrored,
                columns_};
    labels_begun_ = 0;
    for (; place.u < shape_.radius; place.advance(shape_.padded_labels))
      enter_partial_column(place, zeros_, of(shape_.block - 1), of(shape_.block - 1));
    return place;
  }

  // Whether all labels have sums already.
  bool has_all_labels() const { return labels_begun_ >= shape_.labels; }

  // Computes the sums of the pixels [x, x + count). If simple, all of them have all labels, and `minima` gets
  // for each a vector whose lowest lane is the minimum.
  template <bool simple>
  HWY_INLINE void enter_columns(Place& place, int x, int count, Sum* minima) {
    Sum* before = of(shape_.block - 1);
    Sum* after = of(0);
    for (int i = 0; i < count; ++i) {
      // No column leaves before the first one has entered.
      const Sum* leaving =
          x + i == 0 ? zeros_ : place.column - std::ptrdiff_t{shape_.window()} * shape_.padded_labels;
      if constexpr (simple)
        hn::Store(enter_column(place, 0, round_up(shape_.labels), leaving, before, after), SumTag(),
                  minima + to_size(i) * lanes());
      else
        enter_partial_column(place, leaving, before, after);
      place.advance(shape_.padded_labels);
      before = after;
      after += shape_.padded_labels;
    }
  }

  // Sums of the i-th pixel of a block, by label; kept separately, so that no pixel waits for another.
  Sum* of(int i) const { return sums_ + to_size(i) * to_size(shape_.padded_labels); }

  static int rounded_down(int label) { return label / static_cast<int>(lanes()) * static_cast<int>(lanes()); }
  static int round_up(int label) { return rounded_down(label + static_cast<int>(lanes()) - 1); }
  static std::size_t lanes() { return hn::Lanes(SumTag()); }

 private:
  void add_row(int y) {
    const SumTag d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    for (int u = -shape_.radius; u < shape_.width + shape_.radius; ++u) {
      const std::uint16_t left = s_.left.row(s_.row_in_image(y))[u + shape_.radius];
      const std::uint16_t* right = s_.right_row(y) + shape_.mirrored(u);
      Sum* sums = column(u);
      const int end = shape_.end_label(u);
      for (int k = shape_.first_label(u) / lanes * lanes; k < end; k += lanes)
        hn::Store(hn::Add(hn::Load(d, sums + k), term<cost>(d, hwy::SizeTag<sizeof(Sum)>(), left, right + k)),
                  d, sums + k);
    }
  }

  // Moves the labels [begin, end) of a column down by a row, and lets it enter the window while `leaving`
  // leaves: after = before + column − leaving. Returns the minima of the window sums, by lane.
  HWY_INLINE hn::Vec<SumTag> enter_column(const Place& place, int begin, int end,
                                          const Sum* HWY_RESTRICT leaving, const Sum* before,
                                          Sum* HWY_RESTRICT after) const {
    const SumTag d;
    const hwy::SizeTag<sizeof(Sum)> size;
    const int lanes = static_cast<int>(hn::Lanes(d));
    const std::uint16_t l_new = *place.left_new, l_old = *place.left_old;
    const std::uint16_t* HWY_RESTRICT r_new = place.right_new;
    const std::uint16_t* HWY_RESTRICT r_old = place.right_old;
    Sum* HWY_RESTRICT column = place.column;
    auto min = hn::Set(d, std::numeric_limits<Sum>::max());
    for (int k = begin; k < end; k += lanes) {
      const auto change =
          hn::Sub(term<cost>(d, size, l_new, r_new + k), term<cost>(d, size, l_old, r_old + k));
      const auto sum = hn::Add(hn::Load(d, column + k), change);
      hn::Store(sum, d, column + k);
      const auto window = hn::Add(hn::Load(d, before + k), hn::Sub(sum, hn::Load(d, leaving + k)));
      hn::Store(window, d, after + k);
      min = hn::Min(min, window);
    }
    return min;
  }

  // The same for the labels of the column that any window needs.
  HWY_INLINE void enter_partial_column(const Place& place, const Sum* leaving, Sum* before, Sum* after) {
    const SumTag d;
    const int end = round_up(shape_.end_label(place.u));
    // This is the first column of these labels.
    for (; labels_begun_ < end; labels_begun_ += static_cast<int>(hn::Lanes(d)))
      hn::Store(hn::Zero(d), d, before + labels_begun_);
    enter_column(place, rounded_down(shape_.first_label(place.u)), end, leaving, before, after);
  }

  Sum* column(int u) const { return columns_ + to_size(u + shape_.radius) * to_size(shape_.padded_labels); }

  const Sweep& s_;
  const SweepShape shape_;
  Sum* const columns_;
  Sum* const zeros_;
  Sum* const sums_;
  int labels_begun_ = 0;  // labels below this have window sums in this row
};

// ZNCC costs from window sums of products, and from the sums and squares of the values of each window. Column
// statistics: [Σ left | Σ left² | Σ right | Σ right²], of the w rows of the window.
template <class Sum>
class Correlation {
 public:
  explicit Correlation(const Sweep& sweep) : s_(sweep), shape_(sweep.shape) {}

  // Sums the columns of the windows of the row above `first`.
  void start(int first) const {
    for (const ColumnStatistics& columns : {left_columns(), right_columns()}) {
      std::fill_n(columns.sums, columns.count, 0);
      std::fill_n(columns.squares, columns.count, 0);
    }
    for (int y = first - 1 - shape_.radius; y < first + shape_.radius; ++y) change_rows(y, 1);
  }

  // Moves the windows to row y.
  void begin_row(int y) const {
    change_rows(y + shape_.radius, 1);
    change_rows(y - shape_.radius - 1, -1);
    window_statistics(left_columns(), s_.memory.left_sums, s_.memory.left_scales);
    // A right window is centred at its index.
    window_statistics(right_columns(), s_.memory.right_sums + shape_.radius,
                      s_.memory.right_scales + shape_.radius);
  }

  // Costs of the labels [first, end) of pixel x from its window sums ΣLR. All sums and their products are
  // integers below 2⁵³, so they are exact.
  void correlate(const Sum* sums, int x, int first, int end, std::uint32_t* out) const {
#if HWY_HAVE_FLOAT64
    using RealTag = hn::ScalableTag<double>;
    const RealTag d;
    const hn::Rebind<std::int32_t, RealTag> d32;
    const int lanes = static_cast<int>(hn::Lanes(d));
    const auto n = hn::Set(d, static_cast<double>(shape_.window() * shape_.window()));
    const auto left_sum = hn::Set(d, s_.memory.left_sums[x]),
               left_scale = hn::Set(d, s_.memory.left_scales[x]);
    const auto one = hn::Set(d, 1.0), unit = hn::Set(d, zncc_unit), half = hn::Set(d, 0.5);
    const double* right_sums = s_.memory.right_sums + shape_.mirrored(x);
    const double* right_scales = s_.memory.right_scales + shape_.mirrored(x);
    for (int k = first; k < end; k += lanes) {
      const auto covariance =
          hn::Sub(hn::Mul(n, sums_as_real(d, sums + k)), hn::Mul(left_sum, hn::LoadU(d, right_sums + k)));
      const auto correlation = hn::Mul(hn::Mul(covariance, left_scale), hn::LoadU(d, right_scales + k));
      const auto clamped = hn::Max(hn::Set(d, -1.0), hn::Min(correlation, one));
      const auto scaled = hn::Add(hn::Mul(hn::Sub(one, clamped), unit), half);
      // Not negative, so truncation rounds down.
      hn::StoreU(hn::BitCast(hn::RebindToUnsigned<decltype(d32)>(), hn::DemoteTo(d32, scaled)),
                 hn::RebindToUnsigned<decltype(d32)>(), out + k);
    }
#else
    const double n = shape_.window() * shape_.window();
    const double left_sum = s_.memory.left_sums[x], left_scale = s_.memory.left_scales[x];
    const double* right_sums = s_.memory.right_sums + shape_.mirrored(x);
    const double* right_scales = s_.memory.right_scales + shape_.mirrored(x);
    for (int k = first; k < end; ++k) {
      const double covariance = n * static_cast<double>(sums[k]) - left_sum * right_sums[k];
      const double correlation = covariance * left_scale * right_scales[k];
      out[k] = static_cast<std::uint32_t>((1 - std::clamp(correlation, -1.0, 1.0)) * double{zncc_unit} + 0.5);
    }
#endif
  }

 private:
  struct ColumnStatistics {
    std::int64_t* sums;
    std::int64_t* squares;
    int count;
  };
  ColumnStatistics left_columns() const {
    return {s_.memory.column_statistics, s_.memory.column_statistics + shape_.columns(), shape_.columns()};
  }
  ColumnStatistics right_columns() const {
    std::int64_t* sums = s_.memory.column_statistics + 2 * static_cast<std::ptrdiff_t>(shape_.columns());
    return {sums, sums + shape_.right_columns(), shape_.right_columns()};
  }

  static void change(const ColumnStatistics& columns, const std::uint16_t* row, int sign) {
    for (int i = 0; i < columns.count; ++i) {
      const std::int64_t value = row[i];
      columns.sums[i] += sign * value;
      columns.squares[i] += sign * value * value;
    }
  }

  void change_rows(int y, int sign) const {
    change(left_columns(), s_.left.row(s_.row_in_image(y)), sign);
    change(right_columns(), s_.right_row(y), sign);
  }

  // The sum and 1/√(n·Σ² − (Σ)²) of every window; the window of result i begins at column i.
  void window_statistics(const ColumnStatistics& columns, double* sums, double* scales) const {
    const std::int64_t n = static_cast<std::int64_t>(shape_.window()) * shape_.window();
    std::int64_t sum = 0, squares = 0;
    for (int i = 0; i < columns.count; ++i) {
      sum += columns.sums[i];
      squares += columns.squares[i];
      const int begin = i - shape_.window() + 1;
      if (begin < 0) continue;
      const std::int64_t variance = n * squares - sum * sum;
      sums[begin] = static_cast<double>(sum);
      scales[begin] = variance > 0 ? 1.0 / std::sqrt(static_cast<double>(variance)) : 0.0;
      sum -= columns.sums[begin];
      squares -= columns.squares[begin];
    }
  }

#if HWY_HAVE_FLOAT64
  template <class D>
  static HWY_INLINE hn::Vec<D> sums_as_real(D d, const Sum* sums) {
    if constexpr (sizeof(Sum) == 4) {
      const hn::Rebind<std::int32_t, D> d32;
      return hn::PromoteTo(d, hn::LoadU(d32, reinterpret_cast<const std::int32_t*>(sums)));
    } else {
      return hn::ConvertTo(d, hn::LoadU(hn::RebindToSigned<D>(), sums));
    }
  }
#endif

  const Sweep& s_;
  const SweepShape shape_;
};

}  // namespace parallax::block::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
