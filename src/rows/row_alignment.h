// SPDX-License-Identifier: Apache-2.0
// The surface of row offsets (row_surface.h) from corners that both images show, and the right image moved by
// it. The six coefficients follow by least absolute residuals, with (x, y) in the right image. If the corners
// do not spread over the image, the surface is a plane or constant, and it is never beyond its range at them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "parallax/check.h"

#include "core/arena.h"
#include "core/workers.h"
#include "rows/least_squares.h"
#include "rows/row_surface.h"

namespace parallax::rows {

class RowAlignment {
 public:
  // Fewer points tell nothing.
  static constexpr std::size_t min_points = 30;

  using Terms = Vector<6>;  // 1, x, y, x², x·y, y²

  // By how many rows a point is off.
  struct Offset {
    Terms terms;
    double rows, weight;
  };

  explicit RowAlignment(const ImageFormat& format);

  // Called twice, as Arena says, before any other function. Images of 1 or 3 channels fit.
  void reserve(Arena& arena);

  // Finds the surface, and returns moves().
  bool find(const std::vector<CheckedPoint>& points);
  // Whether rows have to be moved: not if v is small in the mean, or if there were too few points to tell.
  bool moves() const;
  const RowSurface& surface() const { return surface_; }
  // The root mean square of v at the points, each with its weight.
  double mean_rows() const { return mean_rows_; }

  // The pair with its right image and mask moved by v, in the memory of this object.
  StereoPair aligned(const StereoPair& pair, const Workers& workers) const;

 private:
  bool fit(const std::vector<Offset>& offsets);
  void limit(const std::vector<Offset>& offsets);
  void find_places(int x, int y, int count, int* places) const;
  template <class Value>
  void move_run(const ImageView& right, int place, int x, int y, int count) const;
  template <class Value>
  void move_row(const ImageView& right, View<const std::uint8_t> mask, int y) const;

  ImageFormat format_;
  std::byte* moved_ = nullptr;
  View<std::uint8_t> moved_mask_;
  RowSurface surface_;
  double mean_rows_ = 0;
};

}  // namespace parallax::rows
