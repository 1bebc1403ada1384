// SPDX-License-Identifier: Apache-2.0
// Definitions that all versions of fill_planes() share. parallax/refine.h has the equations.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "parallax/image.h"

#include "core/arena.h"
#include "core/integers.h"
#include "core/workers.h"

namespace parallax::refine {

// One superpixel begins in each cell, and takes pixels of that cell and of the eight around it.
inline constexpr int cell_side = 32;
// Superpixels and planes are found from samples: the pixels of even columns and rows.
inline constexpr int sample_step = 2;
inline constexpr int cell_samples = cell_side / sample_step;
inline constexpr int max_samples = 9 * cell_samples * cell_samples;
inline constexpr int superpixel_rounds = 3;
// A squared difference in colour counts as much as this many square pixels.
inline constexpr int colour_weight = 40;
// Maximum distance from a pixel to its superpixel, in square pixels.
inline constexpr int farthest = 4096;
// Rows beyond which nothing counts for a pixel, so that maps that are refined in strips get the same bytes.
// Its value comes from a plane of the next cell, a plane from samples of the next one, and a round moves a
// centre by samples of the next one, which have chosen among the centres of the next one. All these cells
// must be complete, and begin where those of the image do.
inline constexpr int plane_reach = (1 + 2 * superpixel_rounds + 1) * cell_side - 1;

// Disparities are in 1/plane_unit pixels. Disparities beyond `largest` pixels take no part.
inline constexpr int plane_unit = 256;
inline constexpr int largest = 1 << 20;
inline constexpr std::int32_t no_sample = std::numeric_limits<std::int32_t>::max();
inline constexpr std::int32_t plane_tolerances[] = {4 * plane_unit, 2 * plane_unit, plane_unit};
inline constexpr int min_samples = 8;
// A superpixel with a plane has a value for each `samples_per_value` samples, and at least
// near_values/of_values of its values lie within a pixel of the plane.
inline constexpr int samples_per_value = 8;
inline constexpr int near_values = 3, of_values = 5;

// These numbers as options for compilers of kernels: -DCELL_SIDE=32 and so on.
std::vector<std::string> plane_definitions();

inline Size cells_of(Size map) {
  return {divide_round_up(map.width, cell_side), divide_round_up(map.height, cell_side)};
}

inline std::int32_t sample_of(float disparity) {
  if (!(std::abs(disparity) <= static_cast<float>(largest))) return no_sample;
  return static_cast<std::int32_t>(std::nearbyint(disparity * plane_unit));
}

// The lowest and the highest value of samples.
struct SampleRange {
  std::int32_t lowest = no_sample, highest = -no_sample;

  void add(std::int32_t value) {
    if (value == no_sample) return;
    lowest = std::min(lowest, value);
    highest = std::max(highest, value);
  }
  void add(const SampleRange& other) {
    lowest = std::min(lowest, other.lowest);
    highest = std::max(highest, other.highest);
  }
  std::int32_t nearest(std::int32_t value) const { return std::clamp(value, lowest, highest); }
};

// The integer nearest a/b, ties away from 0; b > 0.
inline std::int64_t nearest_integer(std::int64_t a, std::int64_t b) {
  return a < 0 ? -((b / 2 - a) / b) : (b / 2 + a) / b;
}

// Sums over samples: their places relative to the superpixel's centre, and residuals. There are up to
// `max_samples`, not farther than 3·cell_side, with residuals up to plane_tolerances[0], so they fit.
struct PlaneSums {
  std::int32_t n = 0, x = 0, y = 0, r = 0, xx = 0, xy = 0, yy = 0, xr = 0, yr = 0;
};

// z = base + a·x + b·y + c, where (x, y) is relative to the superpixel's centre. `base` is in 1/plane_unit
// pixels; a, b and c are in 1/plane_unit of that.
struct FittedPlane {
  static constexpr std::int64_t steepest = 2 * plane_unit * plane_unit;

  bool exists = false;
  std::int32_t base = 0, a = 0, b = 0, c = 0;

  // Height above `base`.
  std::int32_t height(int x, int y) const { return (a * x + b * y + c + plane_unit / 2) >> 8; }

  // Adds the least-squares plane of the residuals. False if there are too few samples, they are nearly on a
  // line, or the plane becomes too steep.
  bool correct(const PlaneSums& s) {
    if (s.n < min_samples) return false;
    const std::int64_t n = s.n;
    const auto moment = [n](std::int64_t product, std::int64_t first, std::int64_t second) {
      return product - nearest_integer(first * second, n);
    };
    const std::int64_t xx = moment(s.xx, s.x, s.x), xy = moment(s.xy, s.x, s.y), yy = moment(s.yy, s.y, s.y);
    const std::int64_t xr = moment(s.xr, s.x, s.r), yr = moment(s.yr, s.y, s.r);
    const std::int64_t determinant = xx * yy - xy * xy;
    if (determinant < n * n) return false;
    const std::int64_t da = nearest_integer((xr * yy - yr * xy) * plane_unit, determinant);
    const std::int64_t db = nearest_integer((yr * xx - xr * xy) * plane_unit, determinant);
    if (std::abs(a + da) > steepest || std::abs(b + db) > steepest) return false;
    a += static_cast<std::int32_t>(da);
    b += static_cast<std::int32_t>(db);
    c += static_cast<std::int32_t>(nearest_integer(plane_unit * std::int64_t{s.r} - da * s.x - db * s.y, n));
    return true;
  }
};

struct Superpixel {
  int x, y, colour[3];  // the centre
  FittedPlane plane;
  SampleRange range;  // values of its samples; only with a plane
};

// The nine cells whose superpixels a pixel may join, and the nine whose samples may belong to a superpixel,
// are counted row by row: 4 is the pixel's own cell.
inline constexpr std::uint8_t own_cell = 4;
inline constexpr std::uint8_t outside = 255;  // outside the image

// The memory of fill_planes(). Planes of samples consist of full cells.
struct PlaneFill {
  Size cells, samples;
  View<std::uint8_t> colour[3];
  View<std::int32_t> value;  // no_sample: none
  // index of the superpixel that the sample belongs to, among the nine cells, or `outside`
  View<std::uint8_t> joined;
  Superpixel* superpixels = nullptr;

  PlaneFill() = default;
  // Called twice (see Arena).
  PlaneFill(Size map, Arena& arena)
      : cells(cells_of(map)), samples{(map.width + 1) / sample_step, (map.height + 1) / sample_step} {
    const Size full{cells.width * cell_samples, cells.height * cell_samples};
    for (auto& channel : colour) channel = arena.reserve_plane<std::uint8_t>(full);
    value = arena.reserve_plane<std::int32_t>(full);
    joined = arena.reserve_plane<std::uint8_t>(full);
    superpixels = arena.reserve<Superpixel>(cells.pixels());
  }

  bool is_inside(int cell_x, int cell_y) const {
    return cell_x >= 0 && cell_x < cells.width && cell_y >= 0 && cell_y < cells.height;
  }
  Superpixel& superpixel(int cell_x, int cell_y) const {
    return superpixels[to_size(cell_y) * to_size(cells.width) + to_size(cell_x)];
  }
};

// Writes the colours of every `step`th pixel of a row from column x on, in 8 bits (the upper 8 of 16-bit
// images). A gray image has three equal channels.
void take_colours(const ImageView& image, int x, int y, int step, int count, std::uint8_t* const channels[3]);

// `left` has the size of the map.
void fill_planes(const DisparityMap& map, const ImageView& left, const PlaneFill& memory,
                 const Workers& workers);
// The same, written directly from the equations.
void fill_planes_reference(const DisparityMap& map, const ImageView& left, const PlaneFill& memory);

}  // namespace parallax::refine
