// SPDX-License-Identifier: Apache-2.0
// The positions in a camera's image of a rectified image's pixels, as integers: computed once for a camera,
// and the same data on every device.
//
// A position in the camera's image is rounded to 1/64 of a pixel. It is stored as the distance to the first
// pixel of a block of 8 columns, so that a rectified pixel takes 4.5 bytes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "parallax/rectify.h"

#include "core/workers.h"
#include "geometry/lens.h"

namespace parallax::remap {

inline constexpr int fraction_bits = 6, steps = 1 << fraction_bits;
inline constexpr int block_columns = 8;

// The camera's pixel from which the positions of a block count.
struct Block {
  std::int16_t x, y;
};

// The value in Map::x for a pixel that the camera did not see.
inline constexpr std::uint16_t unseen = 0xFFFF;

// The cpu device reads windows of 16 columns for a block, and the same rows for a group of blocks.
inline constexpr int window_columns = 16, group_columns = 32;
inline constexpr std::uint8_t no_windows = 255;

struct Map {
  Size size;    // size of the rectified image
  Size camera;  // size of the camera's images
  // 64 · (column − column of the block), or unseen; width rounded up to group_columns
  Plane<std::uint16_t> x;
  Plane<std::uint16_t> y;  // the same for rows
  Plane<Block> blocks;     // [row][column / block_columns]
  // For bilinear interpolation, [row][column / group_columns]: the number of rows, counted from each block's
  // own row, that the pixels of the group have; 0 = the group has no pixels, no_windows = its pixels are not
  // in windows. 2 only if every pixel's upper row is the block's row.
  Plane<std::uint8_t> rows;

  std::size_t bytes() const;
};

// The elements of a plane, rows without gaps.
template <class T>
std::vector<T> packed(const Plane<T>& plane) {
  std::vector<T> elements;
  elements.reserve(plane.size().pixels());
  for (int y = 0; y < plane.height(); ++y)
    elements.insert(elements.end(), plane.row(y), plane.row(y) + plane.width());
  return elements;
}

// The number of columns left of a position, and of rows above it, that interpolation reads besides the pixel
// itself. On the other side there is one more.
constexpr int reach(Interpolation interpolation) {
  return interpolation == Interpolation::lanczos3 ? 2 : 0;
}

// \throws Error (argument) if neighbours in the rectified image are too far apart in the camera's image
Map make_map(const Camera& camera, const Matrix3& rotation, double centre_x,
             const Rectification& rectification, Interpolation interpolation, const Workers& workers);

// The position in the camera's image of a rectified pixel, before rounding.
class Lookup {
 public:
  Lookup(const Camera& camera, const Matrix3& rotation, double centre_x, const Rectification& rectification);
  std::optional<Position> position(double x, double y) const;
  bool keeps_columns() const { return keep_columns_; }

 private:
  std::optional<Position> project(double x, double y) const;

  Lens lens_;
  Matrix3 back_;
  double focal_, centre_x_, centre_y_;
  bool keep_columns_;
};

// Weights of Lanczos's window, a = 3, in units of 1/4096: [fraction][tap], for columns −2 to 3, and two
// zeros. They add up to 4096.
inline constexpr int tap_bits = 12, taps = 6, tap_stride = 8;
using Taps = std::array<std::array<std::int16_t, tap_stride>, steps>;
Taps lanczos_taps();

// Fractional bits that a column's sum keeps before columns are weighted: for pixels of 8 bits the sum fits in
// 16 bits, and all sums fit in 32 bits.
constexpr int kept_bits(BitDepth depth) {
  return depth == BitDepth::bits8 ? 6 : 1;
}

}  // namespace parallax::remap
