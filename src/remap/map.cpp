// SPDX-License-Identifier: Apache-2.0
#include "remap/map.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/checks.h"
#include "core/floating_point.h"
#include "core/integers.h"
#include "geometry/matrix.h"

namespace parallax::remap {
namespace {

// Offsets have 10 bits for pixels; the largest offset is `unseen`.
constexpr int max_pixels = (1 << (16 - fraction_bits)) - 2;

// A position in 1/64 pixels.
struct Point {
  int x, y;
  bool seen;
};

class MapMaker {
 public:
  MapMaker(const Lookup& lookup, int reach, Map& map) : lookup_(lookup), reach_(reach), map_(map) {}

  void make_row(int y) const {
    for (int first = 0; first < map_.x.width(); first += group_columns) make_group(first, y);
  }

 private:
  using Group = std::array<Point, group_columns>;
  using Span = std::array<Point, block_columns>;

  bool is_seen(double value, int size) const {
    return value >= reach_ * steps && value <= (size - 1 - reach_) * steps;
  }

  // If columns are kept, the border is repeated, because masked pixels there would harm matches more.
  double nearest_seen(double value, int size) const {
    const double first = reach_ * steps, last = (size - 1 - reach_) * steps;
    return first < last ? std::clamp(value, first, last) : value;
  }

  Point point(int x, int y) const {
    if (x >= map_.size.width) return {0, 0, false};
    const std::optional<Position> position = lookup_.position(x, y);
    if (!position) return {0, 0, false};
    double column = std::floor((*position)[0] * steps + 0.5), row = std::floor((*position)[1] * steps + 0.5);
    if (lookup_.keeps_columns()) {
      column = nearest_seen(column, map_.camera.width);
      row = nearest_seen(row, map_.camera.height);
    }
    if (!is_seen(column, map_.camera.width) || !is_seen(row, map_.camera.height)) return {0, 0, false};
    return {static_cast<int>(column), static_cast<int>(row), true};
  }

  // The number of rows that the pixels of a block span, for the block that spans most.
  static int rows_of(const Group& group, int height) {
    int rows = 0;
    for (int first = 0; first < group_columns; first += block_columns) {
      const Block block = first_pixel(group, first);
      for (int i = first; i < first + block_columns; ++i) {
        const Point& point = group[static_cast<std::size_t>(i)];
        if (point.seen) rows = std::max(rows, (point.y >> fraction_bits) - block.y + 2);
      }
      // A block in the last row begins above it.
      if (rows == 2 && block.y > height - 2) rows = 3;
    }
    return rows;
  }

  // The lowest column and row of a block.
  static Block first_pixel(const Group& group, int first) {
    int x = std::numeric_limits<int>::max(), y = x;
    for (int i = first; i < first + block_columns; ++i) {
      const Point& point = group[static_cast<std::size_t>(i)];
      if (!point.seen) continue;
      x = std::min(x, point.x >> fraction_bits);
      y = std::min(y, point.y >> fraction_bits);
    }
    if (x == std::numeric_limits<int>::max()) return {0, 0};
    return {static_cast<std::int16_t>(x), static_cast<std::int16_t>(y)};
  }

  void make_group(int first, int y) const {
    Group group;
    for (int i = 0; i < group_columns; ++i) group[static_cast<std::size_t>(i)] = point(first + i, y);
    const int rows = rows_of(group, map_.camera.height);
    bool windows =
        rows <= std::min(map_.camera.height, no_windows - 1) && map_.camera.width >= window_columns;
    for (int i = 0; i < group_columns; i += block_columns) {
      Block block = first_pixel(group, i);
      // Windows end inside the image.
      block.x = static_cast<std::int16_t>(std::clamp<int>(map_.camera.width - window_columns, 0, block.x));
      block.y = static_cast<std::int16_t>(std::clamp<int>(map_.camera.height - rows, 0, block.y));
      map_.blocks.at((first + i) / block_columns, y) = block;
      windows = store_block(group, i, block, first, y) && windows;
    }
    map_.rows.at(first / group_columns, y) = windows ? static_cast<std::uint8_t>(rows) : no_windows;
  }

  // Returns whether all taps of the block are in its window.
  bool store_block(const Group& group, int first_of_block, Block block, int first, int y) const {
    bool inside = true;
    for (int i = first_of_block; i < first_of_block + block_columns; ++i) {
      const Point& point = group[static_cast<std::size_t>(i)];
      const int x = point.x - block.x * steps, row = point.y - block.y * steps;
      if (point.seen && std::max(x, row) >> fraction_bits > max_pixels)
        refuse("the rectified image shows more than " + std::to_string(max_pixels / block_columns) +
               " camera pixels in one: give a larger size or zoom");
      map_.x.at(first + i, y) = point.seen ? static_cast<std::uint16_t>(x) : unseen;
      map_.y.at(first + i, y) = point.seen ? static_cast<std::uint16_t>(row) : 0;
      inside = inside && (!point.seen || x <= (window_columns - 1) * steps);
    }
    return inside;
  }

  const Lookup& lookup_;
  int reach_;
  Map& map_;
};

}  // namespace

std::size_t Map::bytes() const {
  const auto bytes = [](const auto& plane, std::size_t element) { return plane.size().pixels() * element; };
  return bytes(x, sizeof(std::uint16_t)) + bytes(y, sizeof(std::uint16_t)) + bytes(blocks, sizeof(Block)) +
         bytes(rows, 1);
}

Lookup::Lookup(const Camera& camera, const Matrix3& rotation, double centre_x,
               const Rectification& rectification)
    : lens_(camera),
      back_(transposed(rotation)),
      focal_(rectification.focal),
      centre_x_(centre_x),
      centre_y_(rectification.centre_y),
      keep_columns_(rectification.keep_columns) {}

std::optional<Position> Lookup::position(double x, double y) const {
  if (!keep_columns_) return project(x, y);
  // The position on the rectified row that the camera saw in this column; rows change little along it.
  constexpr int steps = 4;
  double column = x;
  for (int step = 0; step < steps; ++step) {
    const std::optional<Position> seen = project(column, y);
    if (!seen) return std::nullopt;
    if (step + 1 == steps) return Position{x, (*seen)[1]};
    column += x - (*seen)[0];
  }
  return std::nullopt;
}

std::optional<Position> Lookup::project(double x, double y) const {
  return lens_.project(back_ * Vector3{(x - centre_x_) / focal_, (y - centre_y_) / focal_, 1});
}

Map make_map(const Camera& camera, const Matrix3& rotation, double centre_x,
             const Rectification& rectification, Interpolation interpolation, const Workers& workers) {
  const auto [width, height] = rectification.size;
  const int columns = round_up(width, group_columns);
  Map map{.size = rectification.size,
          .camera = camera.size,
          .x = Plane<std::uint16_t>({columns, height}),
          .y = Plane<std::uint16_t>({columns, height}),
          .blocks = Plane<Block>({columns / block_columns, height}),
          .rows = Plane<std::uint8_t>({columns / group_columns, height})};
  const Lookup lookup(camera, rotation, centre_x, rectification);
  const MapMaker maker(lookup, reach(interpolation), map);
  for_row_ranges(workers, height, [&](int first, int last, int) {
    const DefaultFloatingPoint environment;
    for (int y = first; y < last; ++y) maker.make_row(y);
  });
  return map;
}

// Lanczos (1956) as used for images by Turkowski (1990): sinc(x) sinc(x / 3), scaled to sum 1. Rounding
// errors are added to the largest weight.
Taps lanczos_taps() {
  const auto sinc = [](double x) {
    return x == 0 ? 1 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x);
  };
  Taps table{};
  for (int fraction = 0; fraction < steps; ++fraction) {
    std::array<double, taps> weights{};
    double sum = 0;
    for (int tap = 0; tap < taps; ++tap) {
      const double distance = tap - 2 - static_cast<double>(fraction) / steps;
      weights[static_cast<std::size_t>(tap)] = sinc(distance) * sinc(distance / 3);
      sum += weights[static_cast<std::size_t>(tap)];
    }
    auto& rounded = table[static_cast<std::size_t>(fraction)];
    int left_over = 1 << tap_bits;
    for (std::size_t tap = 0; tap < taps; ++tap) {
      rounded[tap] = static_cast<std::int16_t>(std::lround(weights[tap] / sum * (1 << tap_bits)));
      left_over -= rounded[tap];
    }
    rounded[fraction < steps / 2 ? 2 : 3] =
        static_cast<std::int16_t>(rounded[fraction < steps / 2 ? 2 : 3] + left_over);
  }
  return table;
}

}  // namespace parallax::remap
