// SPDX-License-Identifier: Apache-2.0
// The surface of row offsets (row_surface.h) from a map of the pair, and the right image moved by it. The map
// tells which columns match, so at a pixel with texture, v is the shift of the right window's rows that makes
// the windows most alike. The six coefficients follow by least squares, with (x, y) in the right image. If
// the textured pixels do not spread over the image, the surface is a plane or constant, and it is never
// beyond its range at these pixels.
#pragma once

#include <memory>

#include "core/arena.h"
#include "core/plan.h"
#include "core/workers.h"
#include "rows/row_surface.h"

namespace parallax::rows {

// Rows by which a point lies lower in column `column` of the right image than in the left one.
struct MeasuredOffset {
  float column, rows;  // rows is infinite where it cannot be measured
};

class RowAlignment {
 public:
  explicit RowAlignment(const ImageFormat& format);

  // Called twice, as Arena says, before any other function. Images of 1 or 3 channels fit.
  void reserve(Arena& arena);

  // Finds the surface by a map of the pair. False where rows are aligned already: if v is small in the mean,
  // or if there is too little texture to tell.
  bool find(const StereoPair& pair, const DisparityMap& map, const Workers& workers);
  const RowSurface& surface() const { return surface_; }

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
  RowSurface surface_;
};

// A plan of any method and device that matches with `plan`, moves the rows of the right image by the row
// offsets that the map shows, and matches again unless they were aligned already (align_rows).
std::unique_ptr<detail::Plan> with_aligned_rows(std::unique_ptr<detail::Plan> plan, const ImageFormat& format,
                                                int threads);

}  // namespace parallax::rows
