// SPDX-License-Identifier: Apache-2.0
// The features by which two images are compared, a row at a time: the part of data costs that does not depend
// on a matcher's memory layout.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/arena.h"
#include "core/workers.h"
#include "data_cost/data_cost.h"

namespace parallax::data_cost {

enum class Feature {
  bytes,              // integer gray levels: |difference|
  census,             // eight bytes: Hamming distance, in bits
  census_opposites,   // four bytes, of the centre-symmetric census
  gray,               // 256ths of a gray level: |difference|
  colour,             // three of these: a third of each |difference|
  birchfield_tomasi,  // sample, lowest and highest around it, in 256ths
  gradients,          // these three of the gradient, then of the gray level
  // The same of integer gray levels, in bytes. Of the gradient: these three, in half levels. Of the gray
  // level: sample; lowest, rounded down and up; highest, rounded down and up.
  gradients_in_bytes,
};

// The feature of a DataCost option other than `volume`. Samples of unsmoothed 8-bit images are integer gray
// levels.
Feature choose_feature(DataCost cost, BitDepth depth, float smoothing);

inline constexpr int feature_planes(Feature feature) {
  switch (feature) {
    case Feature::census:
    case Feature::gradients_in_bytes:
      return 8;
    case Feature::gradients:
      return 6;
    case Feature::census_opposites:
      return 4;
    case Feature::colour:
    case Feature::birchfield_tomasi:
      return 3;
    case Feature::bytes:
    case Feature::gray:
      break;
  }
  return 1;
}
inline constexpr bool is_census(Feature feature) {
  return feature == Feature::census || feature == Feature::census_opposites;
}
inline constexpr int feature_bytes(Feature feature) {
  return feature == Feature::bytes || feature == Feature::gradients_in_bytes || is_census(feature) ? 1 : 2;
}
inline constexpr int max_feature_planes = 8;

// Vectors read and write up to this many bytes beyond the end of a row.
inline constexpr int widest_vector_bytes = 64;

// 9×7 census of a row, or the centre-symmetric one: plane b of the signature of pixel x is byte x of
// `planes[b]`. The rows around it repeat their border samples: element x + i + 4 of `rows[j]` is the sample i
// columns and j − 3 rows from pixel x; what is written, and read, ends at a full vector.
struct RowCensus {
  const void* rows[7];
  bool bytes;  // whether samples are bytes; otherwise words
  int width;
  std::uint8_t* planes[8];
  // whether opposite neighbours are compared; otherwise each neighbour with the centre
  bool opposites = false;
  int tolerance = 0;  // see census_bit(), in gray levels; not with `opposites`
};
void census_row(const RowCensus& row);

// Features of the rows of both images.
class RowFeatures {
 public:
  RowFeatures(Feature feature, float smoothing, const ImageFormat& format, int slots, int census_tolerance);

  void reserve(Arena& arena);

  // See DataCosts::prepare(); the pair's images are exchanged already.
  void prepare(const StereoPair& pair, bool mirrored, const Workers& workers) const;

  // The planes of a row of the left or the right image: `width` bytes or words in this slot's memory,
  // followed by a widest vector of arbitrary values.
  using Planes = std::array<const std::uint16_t*, max_feature_planes>;
  Planes planes(int side, int y, int slot) const;

  // The census of up to 8 rows, in memory of the caller's: rows of a plane are `pitch` apart, and end at a
  // full vector.
  static constexpr int max_census_rows = 8;
  void write_census(int side, int first, int last, int slot, std::uint8_t* const* planes,
                    std::ptrdiff_t pitch) const;

  View<const std::uint16_t> gray(int side) const { return samples_[side].back(); }
  // Replaces a row of the left gray image by the mirrored row of the right one, which is the mirrored pair's
  // left image.
  void mirror_right_gray(int y) const;

 private:
  struct Scratch {
    std::uint16_t* samples;
    std::array<std::uint16_t*, max_census_rows + 6> census_rows;  // bytes or words
    std::array<std::uint16_t*, max_feature_planes> planes;
  };
  bool smooths() const { return weights_.size() > 1; }
  template <class Sample>
  void write_census_of(View<const std::uint16_t> gray, int first, int last, const Scratch& scratch,
                       std::uint8_t* const* planes, std::ptrdiff_t pitch) const;
  void write_birchfield_tomasi(const std::uint16_t* samples, std::uint16_t* const* planes) const;
  void write_gradients_in_bytes(View<const std::uint16_t> gray, int y, const Scratch& scratch) const;

  Feature feature_;
  Size size_;
  bool integer_levels_;  // whether samples are integer gray levels
  int census_tolerance_;
  std::vector<std::uint32_t> weights_;
  std::vector<int> channels_;                    // gray last
  std::vector<View<std::uint16_t>> samples_[2];  // one for each channel
  View<std::uint16_t> half_smoothed_;
  std::vector<Scratch> scratch_;  // one for each slot
};

// The right row, extended to every column that any label of the left row reaches: disparity k of left pixel x
// reads extended column x + disparities − 1 − k. Zero where there is no right pixel, but for the `border`
// columns next to the row, which repeat it.
template <class Element>
void extend_row(const Element* row, int width, const CostModel& model, int border, Element* out) {
  const int columns = width + model.disparities() - 1;
  const std::int64_t first = static_cast<std::int64_t>(model.disparities()) - 1 + model.min_disparity;
  const auto inside = [&](std::int64_t column) {
    return static_cast<int>(std::clamp<std::int64_t>(column, -border, columns + border));
  };
  const int begin = inside(first), end = inside(first + width);
  std::fill(out - border, out + inside(first - border), Element{0});
  std::fill(out + inside(first - border), out + begin, row[0]);
  if (begin < end) std::copy_n(row + (begin - first), end - begin, out + begin);
  std::fill(out + end, out + inside(first + width + border), row[width - 1]);
  std::fill(out + inside(first + width + border), out + columns + border, Element{0});
}

// The validity of the pixels of row y, known before they are compared.
struct RowValidity {
  std::uint8_t* left;    // 255 where a pixel has data costs, else 0
  std::uint8_t* right;   // 255 where the extended row y has a right pixel, else 0
  std::uint8_t* status;  // status of each left pixel: matched, or the Status known before matching
};
// See DataCosts::prepare(); the pair's images are exchanged already.
void write_validity(const CostModel& model, const StereoPair& pair, bool mirrored, int y,
                    const RowValidity& row);

}  // namespace parallax::data_cost
