// SPDX-License-Identifier: Apache-2.0
// Alignment of rows: in a pair that is not perfectly rectified, what the left image shows on row y lies on row
// y + v of the right image, where v is a fraction of a row that varies smoothly,
//
//   v(x, y) = a₀ + a₁·ξ + a₂·η + a₃·ξ·η + a₄·ξ² + a₅·η²,   ξ = x / width − ½,   η = y / height − ½
//
// with (x, y) in the right image. A first map of the pair tells which columns match, so v can be measured at
// textured pixels, and the six coefficients follow by least squares. If these pixels do not spread over the image,
// v is linear or constant, and it is never beyond its range at these pixels. The pair is then matched again, with
// the right image moved by v.
#pragma once

#include <array>
#include <limits>
#include <memory>

#include "core/arena.h"
#include "core/plan.h"
#include "core/workers.h"

namespace parallax::belief_propagation {

// v, in rows: the coefficients a₀ to a₅, and the range to which it is limited.
struct RowOffset {
  std::array<double, 6> coefficients{};
  double lowest = -std::numeric_limits<double>::infinity(), highest = -lowest;
};

double offset_at(const RowOffset& offset, Size size, double x, double y);

// How much lower than in the left image a point lies in column `column` of the right one.
struct MeasuredOffset {
  float column, rows;  // rows is infinite where it cannot be measured
};

class RowAlignment {
 public:
  explicit RowAlignment(const ImageFormat& format);

  // Called twice, as Arena says, before any other function. Images of 1 or 3 channels fit.
  void reserve(Arena& arena);

  // Finds v by a map of the pair. False where rows are aligned already: if v is small in the mean, or if there
  // is too little texture to tell.
  bool find(const StereoPair& pair, const DisparityMap& map, const Workers& workers);
  const RowOffset& offset() const { return offset_; }

  // The pair with its right image and mask moved by v, in the memory of this object.
  StereoPair aligned(const StereoPair& pair, const Workers& workers) const;

 private:
  void measure_row(const DisparityMap& map, int row) const;
  template <class Each>
  void for_measured(const Each& each) const;
  void fit();
  double limit();
  template <class Value>
  void move_row(const ImageView& right, View<const std::uint8_t> mask, int y) const;

  ImageFormat format_;
  Size grid_;
  View<std::uint8_t> gray_[2];
  View<MeasuredOffset> measured_;  // at the pixels of a grid in the left image
  std::byte* moved_ = nullptr;
  View<std::uint8_t> moved_mask_;
  RowOffset offset_{};
};

// A plan that matches with `plan`, aligns the rows, and matches again unless they were aligned.
std::unique_ptr<detail::Plan> with_aligned_rows(std::unique_ptr<detail::Plan> plan, const ImageFormat& format,
                                                int threads);

}  // namespace parallax::belief_propagation
