// SPDX-License-Identifier: Apache-2.0
#include "matchers/motion/all_labels_kernels.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "matchers/motion/all_labels_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "data_cost/differences-inl.h"
#include "devices/cpu/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace parallax::motion::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace differences = data_cost::HWY_NAMESPACE;
using data_cost::Feature;

// Costs and messages: bytes, words or floats.
template <class T>
struct Number {
  using Element = T;
  using Tag = hn::ScalableTag<T>;
  using Vector = hn::Vec<Tag>;
  static constexpr bool integer = std::numeric_limits<T>::is_integer;
  // Sentinel above all beliefs.
  static constexpr T highest = integer ? std::numeric_limits<T>::max() : std::numeric_limits<T>::infinity();
  static HWY_INLINE Vector add(Vector a, Vector b) {
    if constexpr (integer)
      return hn::SaturatedAdd(a, b);
    else
      return hn::Add(a, b);
  }
};

// The four messages to a vector of pixels, and their data costs, label by label.
template <class N>
struct Arriving {
  using Element = typename N::Element;
  using Vector = typename N::Vector;

  HWY_INLINE Arriving(const PixelRow& row, std::ptrdiff_t i)
      : data(static_cast<const Element*>(row.data) + i), stride(row.stride) {
    for (int d = 0; d < side::count; ++d) {
      from[d] = static_cast<const Element*>(row.from[d]) + i;
      from_stride[d] = row.from_stride[d];
    }
  }
  // Loads the next label.
  HWY_INLINE void load() {
    const typename N::Tag tag;
    for (int d = 0; d < side::count; ++d) {
      messages[d] = hn::LoadU(tag, from[d]);
      from[d] += from_stride[d];
    }
    costs = hn::LoadU(tag, data);
    data += stride;
  }
  // Adds in the reference's order, which affects floats.
  HWY_INLINE Vector belief() const {
    return hn::Add(
        hn::Add(hn::Add(hn::Add(messages[side::below], messages[side::above]), messages[side::right]),
                messages[side::left]),
        costs);
  }
  HWY_INLINE Vector belief_without(int d) const {
    const Vector a = messages[d == side::below ? side::above : side::below],
                 b = messages[d <= side::below ? side::right : side::above],
                 c = messages[d == side::left ? side::right : side::left];
    return hn::Add(hn::Add(hn::Add(a, b), c), costs);
  }

  const Element* data;
  const Element* from[side::count];
  std::ptrdiff_t stride, from_stride[side::count];
  Vector messages[side::count], costs;
};

// The messages of a vector of pixels to all four sides. Forward and backward along each row of labels, then
// forward along the columns, which reads every input once; then backward along the columns.
template <class N>
HWY_INLINE void send(const SendingRow& row, std::ptrdiff_t i) {
  using Element = typename N::Element;
  using Vector = typename N::Vector;
  const typename N::Tag tag;
  const int lanes = static_cast<int>(hn::Lanes(tag)), step = side::count * lanes;
  const int columns = row.labels.width, rows = row.labels.height;
  const std::ptrdiff_t stride = row.stride, row_stride = columns * stride;
  Element* reached = static_cast<Element*>(row.scratch);  // a row of labels
  Arriving<N> arriving(row, i);
  Element* to[side::count];
  Vector slopes[side::count], least[side::count], reach[side::count];
  for (int d = 0; d < side::count; ++d) {
    to[d] = static_cast<Element*>(row.to[d]) + i;
    slopes[d] = hn::LoadU(tag, static_cast<const Element*>(row.slopes[d]) + i);
    least[d] = hn::Set(tag, N::highest);
  }
  for (int r = 0; r < rows; ++r) {
    for (int d = 0; d < side::count; ++d) reach[d] = hn::Set(tag, N::highest);
    for (int k = 0; k < columns; ++k) {
      arriving.load();
      Vector belief = slopes[0];
      if constexpr (N::integer) belief = arriving.belief();
      for (int d = 0; d < side::count; ++d) {
        Vector h;
        if constexpr (N::integer)
          h = hn::Sub(belief, arriving.messages[d]);
        else
          h = arriving.belief_without(d);
        least[d] = hn::Min(least[d], h);
        reach[d] = hn::Min(h, N::add(reach[d], slopes[d]));
        hn::Store(reach[d], tag, reached + k * step + d * lanes);
      }
    }
    for (int k = columns - 1; k >= 0; --k) {
      const std::ptrdiff_t at = r * row_stride + k * stride;
      for (int d = 0; d < side::count; ++d) {
        reach[d] = hn::Min(hn::Load(tag, reached + k * step + d * lanes), N::add(reach[d], slopes[d]));
        Vector lowest = reach[d];
        if (r > 0) lowest = hn::Min(lowest, N::add(hn::LoadU(tag, to[d] + at - row_stride), slopes[d]));
        hn::StoreU(lowest, tag, to[d] + at);
      }
    }
  }
  Vector highest[side::count];
  for (int d = 0; d < side::count; ++d) {
    highest[d] = N::add(least[d], hn::LoadU(tag, static_cast<const Element*>(row.truncations[d]) + i));
    for (int k = 0; k < columns; ++k) hn::Store(highest[d], tag, reached + k * step + d * lanes);
  }
  for (int r = rows - 1; r >= 0; --r) {
    for (int k = 0; k < columns; ++k) {
      const std::ptrdiff_t at = r * row_stride + k * stride;
      for (int d = 0; d < side::count; ++d) {
        Element* below = reached + k * step + d * lanes;
        const Vector h = hn::Min(hn::LoadU(tag, to[d] + at), highest[d]),
                     lowest = hn::Min(h, N::add(hn::Load(tag, below), slopes[d]));
        hn::Store(lowest, tag, below);
        hn::StoreU(hn::Sub(lowest, least[d]), tag, to[d] + at);
      }
    }
  }
}

template <class N>
void send_row(const SendingRow& row) {
  const int lanes = static_cast<int>(hn::Lanes(typename N::Tag()));
  for (int i = row.first; i < row.last; i += lanes) send<N>(row, i);
}

// The beliefs of a vector of pixels, and the lowest of each row of labels.
template <class N>
struct Beliefs {
  using Element = typename N::Element;
  using Vector = typename N::Vector;

  HWY_INLINE Beliefs(const DecidingRow& row, std::ptrdiff_t i)
      : labels(row.labels),
        lanes(static_cast<int>(hn::Lanes(typename N::Tag()))),
        of_labels(static_cast<Element*>(row.scratch)),
        of_rows(of_labels + labels.width * labels.height * lanes) {
    const typename N::Tag tag;
    Arriving<N> arriving(row, i);
    Vector lowest = hn::Set(tag, N::highest);
    Element* out = of_labels;
    for (int r = 0; r < labels.height; ++r) {
      Vector lowest_of_row = hn::Set(tag, N::highest);
      for (int k = 0; k < labels.width; ++k) {
        arriving.load();
        const Vector belief = arriving.belief();
        lowest_of_row = hn::Min(lowest_of_row, belief);
        hn::Store(belief, tag, out);
        out += lanes;
      }
      hn::Store(lowest_of_row, tag, of_rows + r * lanes);
      lowest = hn::Min(lowest, lowest_of_row);
    }
    hn::Store(lowest, tag, best);
  }

  Element& at(int r, int k, int lane) const { return of_labels[(r * labels.width + k) * lanes + lane]; }
  // The first label whose belief is the lowest.
  HWY_INLINE void find(int lane, int& r, int& k) const {
    r = k = 0;
    while (r + 1 < labels.height && of_rows[r * lanes + lane] != best[lane]) ++r;
    while (k + 1 < labels.width && at(r, k, lane) != best[lane]) ++k;
  }
  float value(int r, int k, int lane) const {
    const bool exists = r >= 0 && k >= 0 && r < labels.height && k < labels.width;
    return exists ? static_cast<float>(at(r, k, lane)) : std::numeric_limits<float>::infinity();
  }
  // Removes a label and those around it, which are no rivals.
  void remove(int r, int k, int lane) const {
    for (int v = std::max(0, r - 1); v <= std::min(r + 1, labels.height - 1); ++v)
      for (int u = std::max(0, k - 1); u <= std::min(k + 1, labels.width - 1); ++u)
        at(v, u, lane) = N::highest;
  }
  // Finds the lowest of the labels that are left.
  HWY_INLINE void find_lowest() {
    const typename N::Tag tag;
    Vector lowest = hn::Set(tag, N::highest);
    for (int label = 0; label < labels.width * labels.height; ++label)
      lowest = hn::Min(lowest, hn::Load(tag, of_labels + label * lanes));
    hn::Store(lowest, tag, best);
  }

  Size labels;
  int lanes;
  Element *of_labels, *of_rows;
  HWY_ALIGN Element best[widest_vector_bytes / sizeof(Element)];
};

template <class N>
void decide_vector(const DecidingRow& row, int i) {
  Beliefs<N> beliefs(row, i);
  const int first = std::max(0, row.first - i), last = std::min(beliefs.lanes, row.last - i);
  for (int lane = first; lane < last; ++lane) {
    int r, k;
    beliefs.find(lane, r, k);
    const int at = i + lane;
    row.column[at] = static_cast<std::uint16_t>(k);
    row.row[at] = static_cast<std::uint16_t>(r);
    if (!row.around) continue;
    row.lowest[at] = beliefs.value(r, k, lane);
    row.before[0][at] = beliefs.value(r, k - 1, lane);
    row.after[0][at] = beliefs.value(r, k + 1, lane);
    row.before[1][at] = beliefs.value(r - 1, k, lane);
    row.after[1][at] = beliefs.value(r + 1, k, lane);
    beliefs.remove(r, k, lane);
  }
  if (!row.around) return;
  beliefs.find_lowest();
  for (int lane = first; lane < last; ++lane)
    row.rival[i + lane] = beliefs.best[lane] == N::highest ? std::numeric_limits<float>::infinity()
                                                           : static_cast<float>(beliefs.best[lane]);
}

template <class N>
void decide_row(const DecidingRow& row) {
  const int lanes = static_cast<int>(hn::Lanes(typename N::Tag()));
  for (int i = row.first / lanes * lanes; i < row.last; i += lanes) decide_vector<N>(row, i);
}

// Sums of four children in integers of twice the width, whose halves are an even and an odd coarse pixel.
template <class Element, class Wide>
void sum_integers(const SummingRow& row) {
  const hn::ScalableTag<Wide> wide;
  const hn::RebindToSigned<decltype(wide)> signed_wide;
  const hn::Rebind<Element, decltype(wide)> narrow;
  constexpr int bits = 8 * sizeof(Element);
  const int lanes = static_cast<int>(hn::Lanes(wide));
  const auto low_half = hn::Set(wide, std::numeric_limits<Element>::max());
  const auto bound = hn::Set(wide, static_cast<Wide>(row.bound));
  Wide* sums = static_cast<Wide*>(row.scratch);
  for (int i = row.first; i < row.first + row.count; i += 2 * lanes) {
    hn::Vec<decltype(wide)> least[2] = {hn::Set(wide, std::numeric_limits<Wide>::max()),
                                        hn::Set(wide, std::numeric_limits<Wide>::max())};
    for (int label = 0; label < row.labels; ++label) {
      auto even = hn::Zero(wide), odd = hn::Zero(wide);
      for (const void* child : row.children) {
        if (child == nullptr) continue;
        const Element* at = static_cast<const Element*>(child) + (i - row.first) + label * row.stride;
        const auto both = hn::LoadU(wide, reinterpret_cast<const Wide*>(at));
        even = hn::Add(even, hn::And(both, low_half));
        odd = hn::Add(odd, hn::ShiftRight<bits>(both));
      }
      least[0] = hn::Min(least[0], even);
      least[1] = hn::Min(least[1], odd);
      hn::Store(even, wide, sums + 2 * label * lanes);
      hn::Store(odd, wide, sums + (2 * label + 1) * lanes);
    }
    for (int label = 0; label < row.labels; ++label) {
      for (int parity = 0; parity < 2; ++parity) {
        const auto sum = hn::Load(wide, sums + (2 * label + parity) * lanes);
        const auto kept = hn::Min(hn::Sub(sum, least[parity]), bound);
        Element* out = static_cast<Element*>(row.sums[parity]) + label * row.sums_stride + i / 2;
        hn::StoreU(hn::DemoteTo(narrow, hn::BitCast(signed_wide, kept)), narrow, out);
      }
    }
  }
}

void sum_floats(const SummingRow& row) {
  // Pairs of vectors are no longer than a widest one.
  const hn::CappedTag<float, widest_vector_bytes / sizeof(float) / 2> tag;
  const int lanes = static_cast<int>(hn::Lanes(tag));
  float* sums = static_cast<float*>(row.scratch);
  for (int i = row.first; i < row.first + row.count; i += 2 * lanes) {
    const auto infinite = hn::Set(tag, std::numeric_limits<float>::infinity());
    hn::Vec<decltype(tag)> least[2] = {infinite, infinite};
    for (int label = 0; label < row.labels; ++label) {
      hn::Vec<decltype(tag)> sum[2] = {hn::Zero(tag), hn::Zero(tag)};
      for (const void* child : row.children) {
        if (child == nullptr) continue;
        hn::Vec<decltype(tag)> even, odd;
        hn::LoadInterleaved2(tag, static_cast<const float*>(child) + (i - row.first) + label * row.stride,
                             even, odd);
        sum[0] = hn::Add(sum[0], even);
        sum[1] = hn::Add(sum[1], odd);
      }
      for (int parity = 0; parity < 2; ++parity) {
        least[parity] = hn::Min(least[parity], sum[parity]);
        hn::Store(sum[parity], tag, sums + (2 * label + parity) * lanes);
      }
    }
    for (int label = 0; label < row.labels; ++label)
      for (int parity = 0; parity < 2; ++parity)
        hn::StoreU(hn::Sub(hn::Load(tag, sums + (2 * label + parity) * lanes), least[parity]), tag,
                   static_cast<float*>(row.sums[parity]) + label * row.sums_stride + i / 2);
  }
}

template <class N>
void sum_row(const SummingRow& row) {
  if constexpr (N::integer)
    sum_integers<typename N::Element, hwy::MakeWide<typename N::Element>>(row);
  else
    sum_floats(row);
}

template <class N>
void copy_row(const CopyingRow& row) {
  using Element = typename N::Element;
  const hn::Half<hn::ScalableTag<Element>> tag;
  const int lanes = static_cast<int>(hn::Lanes(tag));
  const Element *even = static_cast<const Element*>(row.coarse[0]),
                *odd = static_cast<const Element*>(row.coarse[1]);
  Element* fine = static_cast<Element*>(row.fine);
  for (int label = 0; label < row.labels; ++label) {
    for (int i = 0; i < row.computed; i += 2 * lanes)
      hn::StoreInterleaved2(hn::LoadU(tag, even + i / 2), hn::LoadU(tag, odd + i / 2), tag, fine + i);
    even += row.coarse_stride;
    odd += row.coarse_stride;
    fine += row.stride;
  }
}

// Features of the pixels that a label pairs with a row's pixels.
struct Partner {
  const std::uint8_t* planes;
  const std::uint8_t* valid;
};

// The first right pixels of label (r, k) for pixel i; pixels outside the frame take no part.
HWY_INLINE Partner partner(const CostingRow& row, int r, int k, int i) {
  const int shift = row.parity - (row.labels.first.x + k), parity = shift & 1;
  const std::ptrdiff_t at = std::clamp(i + (shift - parity) / 2, -FeatureLayout::border, row.layout.pixels);
  const int y = row.y + row.labels.first.y + r;
  return {row.right + row.layout.plane_at(y, parity, 0) + at * row.layout.sample_bytes(),
          row.right + row.layout.valid_at(y, parity) + at};
}

HWY_INLINE bool row_exists(const CostingRow& row, int r) {
  const int y = row.y + row.labels.first.y + r;
  return y >= 0 && y < row.size.height;
}

#if HWY_TARGET != HWY_SCALAR

// Costs in bytes.
void census_bytes(const CostingRow& row, int i) {
  const hn::ScalableTag<std::uint8_t> tag;
  constexpr int planes = data_cost::max_feature_planes, chunks = 4;
  const std::uint8_t *left = row.left + row.layout.plane_at(row.y, row.parity, 0) + i,
                     *valid_left = row.left + row.layout.valid_at(row.y, row.parity) + i;
  const std::ptrdiff_t pitch = row.layout.elements();
  hn::Vec<decltype(tag)> signature[planes], table[chunks];
  for (int p = 0; p < planes; ++p) signature[p] = hn::LoadU(tag, left + p * pitch);
  for (int c = 0; c < chunks; ++c) table[c] = hn::LoadDup128(tag, row.table + 16 * c);
  const auto valid = hn::LoadU(tag, valid_left),
             outside = hn::And(valid, hn::Set(tag, static_cast<std::uint8_t>(row.outside))),
             bound = hn::Set(tag, static_cast<std::uint8_t>(row.bound));
  auto least = hn::Set(tag, 255);
  const int columns = row.labels.extent.width, labels = row.labels.count();
  auto* out = static_cast<std::uint8_t*>(row.out) + (i - row.first);
  for (int r = 0; r < row.labels.extent.height; ++r) {
    const bool exists = row_exists(row, r);
    for (int k = 0; k < columns; ++k) {
      auto cost = outside;
      if (exists) {
        const Partner other = partner(row, r, k, i);
        auto bits = hn::PopulationCount(hn::Xor(signature[0], hn::LoadU(tag, other.planes)));
        for (int p = 1; p < planes; ++p)
          bits = hn::Add(
              bits, hn::PopulationCount(hn::Xor(signature[p], hn::LoadU(tag, other.planes + p * pitch))));
        const auto there = hn::LoadU(tag, other.valid);
        const auto compared = hn::And(there, differences::look_up<chunks>(tag, table, bits));
        cost = hn::Or(hn::And(valid, compared), hn::AndNot(there, outside));
      }
      least = hn::Min(least, cost);
      hn::StoreU(cost, tag, out + (r * columns + k) * row.stride);
    }
  }
  for (int label = 0; label < labels; ++label) {
    std::uint8_t* at = out + label * row.stride;
    hn::StoreU(hn::Min(hn::Sub(hn::LoadU(tag, at), least), bound), tag, at);
  }
}

#endif

// Costs computed as floats, which hold integers in integer arithmetic.
template <class N, Feature feature>
void float_costs(const CostingRow& row, int i) {
  using Element = typename N::Element;
  const hn::ScalableTag<float> tag;
  const hn::RebindToSigned<decltype(tag)> integers;
  const hn::Rebind<std::uint8_t, decltype(tag)> bytes;
  const int lanes = static_cast<int>(hn::Lanes(tag));
  const auto scale = hn::Set(tag, row.scale), half = hn::Set(tag, 0.5f), outside = hn::Set(tag, row.outside);
  const auto counted = hn::Set(integers, row.differences);
  const auto is_set = [&](const std::uint8_t* flags) HWY_ATTR {
    return hn::RebindMask(tag, hn::Gt(hn::PromoteTo(integers, hn::LoadU(bytes, flags)), hn::Zero(integers)));
  };
  const std::ptrdiff_t pitch = row.layout.elements() * row.layout.sample_bytes();
  const auto planes_of = [&](const std::uint8_t* first, const void** planes) HWY_ATTR {
    for (int p = 0; p < row.layout.planes(); ++p) planes[p] = first + p * pitch;
  };
  const void *left[data_cost::max_feature_planes], *right[data_cost::max_feature_planes];
  planes_of(row.left + row.layout.plane_at(row.y, row.parity, 0), left);
  const auto valid = is_set(row.left + row.layout.valid_at(row.y, row.parity) + i);
  auto least = hn::Set(tag, std::numeric_limits<float>::infinity());
  const int columns = row.labels.extent.width, labels = row.labels.count();
  for (int r = 0; r < row.labels.extent.height; ++r) {
    const bool exists = row_exists(row, r);
    for (int k = 0; k < columns; ++k) {
      auto cost = outside;
      if (exists) {
        const Partner other = partner(row, r, k, i);
        planes_of(other.planes, right);
        const auto difference =
            hn::Min(differences::differences_256<feature>(integers, left, i, right, 0), counted);
        cost = hn::Mul(hn::ConvertTo(tag, difference), scale);
        if constexpr (N::integer) cost = hn::Floor(hn::Add(cost, half));
        cost = hn::IfThenElse(is_set(other.valid), cost, outside);
      }
      cost = hn::IfThenElseZero(valid, cost);
      least = hn::Min(least, cost);
      hn::StoreU(cost, tag, row.scratch + (r * columns + k) * lanes);
    }
  }
  Element* out = static_cast<Element*>(row.out) + (i - row.first);
  for (int label = 0; label < labels; ++label) {
    const auto more = hn::Sub(hn::Load(tag, row.scratch + label * lanes), least);
    if constexpr (N::integer) {
      const hn::Rebind<Element, decltype(tag)> narrow;
      const auto kept = hn::Min(more, hn::Set(tag, static_cast<float>(row.bound)));
      hn::StoreU(hn::DemoteTo(narrow, hn::ConvertTo(integers, kept)), narrow, out + label * row.stride);
    } else {
      hn::StoreU(more, tag, out + label * row.stride);
    }
  }
}

template <class N, Feature feature>
void float_costs_of(const CostingRow& row) {
  const int lanes = static_cast<int>(hn::Lanes(hn::ScalableTag<float>()));
  for (int i = row.first; i < row.first + row.count; i += lanes) float_costs<N, feature>(row, i);
}

template <class N>
void write_costs(const CostingRow& row) {
#if HWY_TARGET != HWY_SCALAR
  if (row.table != nullptr) {
    const int lanes = static_cast<int>(hn::Lanes(hn::ScalableTag<std::uint8_t>()));
    for (int i = row.first; i < row.first + row.count; i += lanes) census_bytes(row, i);
    return;
  }
#endif
  row.layout.census ? float_costs_of<N, Feature::census>(row) : float_costs_of<N, Feature::gray>(row);
}

LabelKernels label_kernels_here(Arithmetic arithmetic) {
  return as_element(arithmetic, [](auto element) -> LabelKernels {
    using N = Number<decltype(element)>;
    return {send_row<N>, decide_row<N>, sum_row<N>, copy_row<N>, write_costs<N>};
  });
}

}  // namespace parallax::motion::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax::motion {

PARALLAX_DISPATCH(LabelKernels, label_kernels, (Arithmetic arithmetic), (arithmetic))

}  // namespace parallax::motion
#endif
