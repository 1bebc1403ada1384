// SPDX-License-Identifier: Apache-2.0
// Neighbours on a row with the same label share its distances: these are added up column by column, lanes
// being columns, and a pixel's sum is the sum of its window's columns.

#include "refine/refit.h"

#include <cmath>
#include <limits>

#include "core/checks.h"
#include "core/floating_point.h"
#include "core/gray.h"
#include "data_cost/features.h"
#include "refine/refine.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "refine/refit.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef PARALLAX_REFINE_REFIT_ONCE
#define PARALLAX_REFINE_REFIT_ONCE
namespace parallax::refine {

// The bytes of the signatures of a part of a row, one plane for each byte.
inline constexpr int census_part = 256;
struct alignas(64) CensusPart {
  std::uint8_t planes[8][census_part + data_cost::widest_vector_bytes];
};

// The rows of signatures of a window; column 0.
struct WindowRows {
  const std::uint64_t *left[max_guided_window], *right[max_guided_window];
  int count, radius;
};

}  // namespace parallax::refine
#endif

HWY_BEFORE_NAMESPACE();
namespace parallax::refine::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::CappedTag<std::uint64_t, RefitMemory::widest_vector>;
using Halves = hn::Rebind<std::uint32_t, Words>;

// Bytes of four planes, in words of 32 bits.
HWY_INLINE hn::Vec<Halves> join_four(const CensusPart& part, int plane, int x) {
  const Halves d;
  const hn::Rebind<std::uint8_t, Halves> bytes;
  const auto from = [&](int i)
                        HWY_ATTR { return hn::PromoteTo(d, hn::LoadU(bytes, part.planes[plane + i] + x)); };
  return hn::Or(hn::Or(from(0), hn::ShiftLeft<8>(from(1))),
                hn::Or(hn::ShiftLeft<16>(from(2)), hn::ShiftLeft<24>(from(3))));
}

// Writes up to a full vector more than `count` signatures.
void join_signatures(const CensusPart& part, int count, std::uint64_t* out) {
  const Words d;
  for (int x = 0; x < count; x += static_cast<int>(hn::Lanes(d))) {
    const auto low = hn::PromoteTo(d, join_four(part, 0, x)), high = hn::PromoteTo(d, join_four(part, 4, x));
    hn::StoreU(hn::Or(hn::Or(low, hn::ShiftLeft<32>(high)), hn::Set(d, takes_part)), d, out + x);
  }
}

// Three sums share a word: each is below 2^field_bits, even over a window.
constexpr int field_bits = 20;
HWY_INLINE LabelCosts unpacked(std::uint64_t sums) {
  constexpr std::uint64_t field = (1u << field_bits) - 1;
  return {static_cast<int>(sums & field), static_cast<int>(sums >> field_bits & field),
          static_cast<int>(sums >> 2 * field_bits)};
}

// Sums of `count` columns from the left image's `first` on, over the rows of a window.
HWY_INLINE void add_up_columns(const WindowRows& rows, int first, int label, int count, std::uint64_t* sums) {
  const Words d;
  const hn::RebindToSigned<Words> d_signed;
  const auto distance = [](auto counts, auto a, auto b) HWY_ATTR {
    return hn::IfThenElseZero(counts, hn::PopulationCount(hn::Xor(a, b)));
  };
  for (int i = 0; i < count; i += static_cast<int>(hn::Lanes(d))) {
    auto before = hn::Zero(d), here = hn::Zero(d), after = hn::Zero(d);
    for (int j = 0; j < rows.count; ++j) {
      const std::uint64_t* match = rows.right[j] + first + i - label;
      const auto left = hn::LoadU(d, rows.left[j] + first + i);
      const auto match_before = hn::LoadU(d, match + 1), match_here = hn::LoadU(d, match),
                 match_after = hn::LoadU(d, match - 1);
      const auto flags = hn::And(hn::And(left, match_here), hn::And(match_before, match_after));
      const auto counts = hn::RebindMask(d, hn::Lt(hn::BitCast(d_signed, flags), hn::Zero(d_signed)));
      before = hn::Add(before, distance(counts, left, match_before));
      here = hn::Add(here, distance(counts, left, match_here));
      after = hn::Add(after, distance(counts, left, match_after));
    }
    const auto packed =
        hn::Or(hn::Or(before, hn::ShiftLeft<field_bits>(here)), hn::ShiftLeft<2 * field_bits>(after));
    hn::StoreU(packed, d, sums + i);
  }
}

// The maximum number of pixels of one label that are refitted together.
constexpr int longest_run = 64;

HWY_INLINE void refit_run(const WindowRows& rows, float* disparity, int x, int count, int label) {
  const int window = 2 * rows.radius + 1;
  std::uint64_t sums[longest_run + max_guided_window + RefitMemory::widest_vector];
  add_up_columns(rows, x - rows.radius, label, count + window - 1, sums);
  std::uint64_t sum = 0;
  for (int i = 0; i + 1 < window; ++i) sum += sums[i];
  for (int i = 0; i < count; ++i) {
    sum += sums[i + window - 1];
    disparity[x + i] = refitted(disparity[x + i], static_cast<float>(label), unpacked(sum));
    sum -= sums[i];
  }
}

// no_label: the pixel has no value, or no pixel of its window has its three right pixels inside the image.
constexpr int no_label = std::numeric_limits<int>::min();
HWY_INLINE int label_at(float disparity, int x, int width, int radius) {
  const float label = std::ceil(disparity - 0.5f), column = static_cast<float>(x) - label;
  const auto reach = static_cast<float>(radius - 1);
  const bool inside = column >= -reach && column < static_cast<float>(width) + reach;
  return inside ? static_cast<int>(label) : no_label;
}

void refit_row(const WindowRows& rows, float* disparity, int width) {
  int x = 0;
  while (x < width) {
    const int label = label_at(disparity[x], x, width, rows.radius);
    int end = x + 1;
    while (end < width && end - x < longest_run && label_at(disparity[end], end, width, rows.radius) == label)
      ++end;
    if (label != no_label) refit_run(rows, disparity, x, end - x, label);
    x = end;
  }
}

}  // namespace parallax::refine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
namespace refine {

HWY_EXPORT(join_signatures);
HWY_EXPORT(refit_row);

namespace {

std::uint8_t* gray_bytes(View<std::uint16_t> gray, int y) {
  return reinterpret_cast<std::uint8_t*>(gray.row(y));
}

template <class Sample>
void extend_row(Sample* row, int width) {
  std::fill_n(row, refit_census_border, row[refit_census_border]);
  std::fill_n(row + refit_census_border + width, refit_census_border, row[refit_census_border + width - 1]);
}

void take_gray(const ImageView& image, View<std::uint16_t> gray, int y) {
  const int width = image.format.size.width;
  if (image.format.depth == BitDepth::bits8) {
    gray_byte_row(image, y, gray_bytes(gray, y) + refit_census_border);
    extend_row(gray_bytes(gray, y), width);
  } else {
    gray_row(image, y, gray.row(y) + refit_census_border);
    extend_row(gray.row(y), width);
  }
}

// The signatures of a row without its border, as if there were no mask.
void write_census(const ImageFormat& format, View<std::uint16_t> gray, int y, std::uint64_t* out) {
  const bool bytes = format.depth == BitDepth::bits8;
  CensusPart part;
  for (int x = 0; x < format.size.width; x += census_part) {
    const int count = std::min(census_part, format.size.width - x);
    data_cost::RowCensus census{{}, bytes, count, {}};
    for (int j = 0; j < 7; ++j) {
      const int v = std::clamp(y + j - 3, 0, format.size.height - 1);
      census.rows[j] = bytes ? static_cast<const void*>(gray_bytes(gray, v) + x) : gray.row(v) + x;
    }
    for (int plane = 0; plane < 8; ++plane) census.planes[plane] = part.planes[plane];
    data_cost::census_row(census);
    HWY_DYNAMIC_DISPATCH(join_signatures)(part, count, out + x);
  }
}

void write_signatures(const ImageFormat& format, View<const std::uint8_t> mask, View<std::uint16_t> gray,
                      int y, std::uint64_t* row) {
  const int width = format.size.width;
  std::uint64_t* first = row + RefitMemory::border;
  write_census(format, gray, y, first);
  for (int x = 0; x < width && !mask.empty(); ++x)
    if (mask.row(y)[x] == 0) first[x] = 0;
  std::fill(row, first, 0);
  std::fill_n(first + width, RefitMemory::border + RefitMemory::widest_vector, 0);
}

WindowRows window_rows(const RefitMemory& memory, int y, int height, int radius) {
  WindowRows rows{{}, {}, 0, radius};
  for (int v = std::max(0, y - radius); v <= std::min(height - 1, y + radius); ++v, ++rows.count) {
    rows.left[rows.count] = memory.signatures[0].row(v) + RefitMemory::border;
    rows.right[rows.count] = memory.signatures[1].row(v) + RefitMemory::border;
  }
  return rows;
}

}  // namespace

void refit(View<float> disparity, const StereoPair& pair, int window, const RefitMemory& memory,
           const Workers& workers) {
  const Size size = disparity.size;
  for_rows(workers, size.height, [&](int y, int) {
    take_gray(pair.left, memory.gray[0], y);
    take_gray(pair.right, memory.gray[1], y);
  });
  for_rows(workers, size.height, [&](int y, int) {
    write_signatures(pair.left.format, pair.left_mask, memory.gray[0], y, memory.signatures[0].row(y));
    write_signatures(pair.right.format, pair.right_mask, memory.gray[1], y, memory.signatures[1].row(y));
  });
  for_rows(workers, size.height, [&](int y, int) {
    const WindowRows rows = window_rows(memory, y, size.height, window / 2);
    HWY_DYNAMIC_DISPATCH(refit_row)(rows, disparity.row(y), size.width);
  });
}

}  // namespace refine

namespace {

void check_pair_of_map(const StereoPair& pair, Size map) {
  for (const auto& [name, image] : {std::pair{"left image", pair.left}, {"right image", pair.right}}) {
    check_image(name, image);
    if (image.format.size != map)
      refuse(std::string(name) + " is " + text(image.format.size) + ", the map " + text(map) +
             ": give the map's own pair");
  }
  if (pair.right.format.depth != pair.left.format.depth)
    refuse("right image depth", static_cast<int>(pair.right.format.depth), "that of the left image");
  check_mask("left mask", pair.left_mask, map);
  check_mask("right mask", pair.right_mask, map);
}

}  // namespace

void refit(View<float> disparity, const StereoPair& pair, int window, int threads) {
  const DefaultFloatingPoint environment;
  refine::check_guided_window("refit", window);
  refine::check_bordered(disparity);
  check_pair_of_map(pair, disparity.size);
  const Workers workers = refine::checked_workers(threads);
  Arena arena;
  refine::RefitMemory(disparity.size, arena);
  arena.allocate();
  refine::refit(disparity, pair, window, refine::RefitMemory(disparity.size, arena), workers);
}

}  // namespace parallax
#endif
