// SPDX-License-Identifier: Apache-2.0
#include "matchers/planes/planes.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "data_cost/data_cost.h"
#include "matchers/registry.h"

namespace parallax::planes {

Model make_model(const PlanesParameters& p) {
  Model model;
  model.parameters = p;
  model.lowest = p.min_disparity * per_pixel - per_pixel / 2;
  model.highest = (p.min_disparity + p.disparities) * per_pixel - per_pixel / 2;
  model.truncation = static_cast<int>(std::lround(p.discontinuity_truncation * per_pixel));
  const double bit = static_cast<double>(p.data_weight) * per_pixel;
  const auto cost = [](double units) { return static_cast<int>(std::lround(units)); };
  model.max_census = cost(max_bits * bit);
  model.outside = model.max_census;
  model.level_cost = cost(bit / 2);
  model.gradient_cost = cost(bit * 3 / 2);
  for (int compared = 0; compared <= census_neighbours; ++compared) {
    const double scaled = bit * census_neighbours / std::max(compared, fewest_alike);
    model.bit_costs[to_size(compared)] = static_cast<std::uint16_t>(std::lround(scaled * (1 << bit_shift)));
  }
  for (int levels = 0; levels < static_cast<int>(data_cost::edge_table_size); ++levels) {
    const double weight = data_cost::edge_weight(levels, p.edge_contrast, p.edge_floor);
    model.edge_weights.push_back(static_cast<std::uint16_t>(std::lround(65535 * weight)));
  }
  return model;
}

// On weak texture, semi-global matching with a tolerance of the census starts the moves nearer to the truth.
MatcherParameters start_parameters(const PlanesParameters& p) {
  MatcherParameters start = preset("sgm", "default");
  start.min_disparity() = p.min_disparity;
  start.disparities() = p.disparities;
  set_parameter(start, "census_tolerance", std::to_string(census_tolerance));
  return start;
}

std::unique_ptr<detail::Plan> plan_start(const PlanesParameters& parameters, const Device& device,
                                         const ImageFormat& format) {
  const MatcherParameters start = start_parameters(parameters);
  return detail::find_backend(start, device).make(start, device, format, {});
}

std::uint16_t levels_of(std::uint16_t before, std::uint16_t sample, std::uint16_t after) {
  constexpr int level = data_cost::per_level;
  const int gray = std::min((sample + level / 2) / level, 255);
  const int gradient = (after - before + 2 * level * zero_gradient + level) / (2 * level);
  return static_cast<std::uint16_t>(gray | std::clamp(gradient, 0, 255) << 8);
}

void shift_row(const std::uint16_t* from, int width, int quarter, std::uint16_t* to) {
  // Weights of the samples before, at, after and two after the pixel, in 128ths.
  constexpr int weights[4][4] = {{0, 128, 0, 0}, {-9, 111, 29, -3}, {-8, 72, 72, -8}, {-3, 29, 111, -9}};
  const int* w = weights[quarter];
  for (int x = 0; x < width; ++x) {
    const int before = from[std::max(x - 1, 0)], after = from[std::min(x + 1, width - 1)],
              second = from[std::min(x + 2, width - 1)];
    const int sum = w[0] * before + w[1] * from[x] + w[2] * after + w[3] * second;
    to[x] = static_cast<std::uint16_t>(std::clamp((sum + 64) >> 7, 0, 65535));
  }
}

void write_reachable(const PlanesParameters& p, const std::uint8_t* mask, int width,
                     std::uint8_t* reachable) {
  const std::int64_t first = p.min_disparity, last = first + p.disparities - 1;
  // The last right pixel of a label before each column that is in the image and not masked.
  std::int64_t candidate = -1, next = 0;
  for (std::int64_t x = 0; x < width; ++x) {
    for (; next < width && next <= x - first; ++next)
      if (mask == nullptr || mask[next] != 0) candidate = next;
    reachable[x] = candidate >= std::max<std::int64_t>(x - last, 0);
  }
}

Cell make_cell(int x, int y, int side, Size image) {
  const auto clipped = [&](int left, int top, int right, int bottom) {
    return Box{std::max(left, 0), std::max(top, 0), std::min(right, image.width),
               std::min(bottom, image.height)};
  };
  const int left = x * side, top = y * side;
  return {x, y, side, clipped(left, top, left + side, top + side),
          clipped(left - side, top - side, left + 2 * side, top + 2 * side)};
}

Offers::Offers(const Cell& cell, int step) : cell_(cell) {
  const auto u = [](int value) { return static_cast<std::uint32_t>(value); };
  std::uint32_t hash = u(cell.x) * 0x9E3779B1u ^ u(cell.y) * 0x85EBCA77u ^ u(step + 1) * 0xC2B2AE3Du;
  hash = (hash ^ hash >> 15) * 0x2C1B3C6Du;
  hash = (hash ^ hash >> 12) * 0x297A2D39u;
  state_ = (hash ^ hash >> 15) | 1;
}

// Marsaglia 2003, "Xorshift RNGs".
std::uint32_t Offers::random() {
  state_ ^= state_ << 13;
  state_ ^= state_ >> 17;
  state_ ^= state_ << 5;
  return state_;
}

int Offers::below(int count) {
  return static_cast<int>(std::uint64_t{random()} * static_cast<std::uint32_t>(count) >> 32);
}

namespace {

std::int64_t rounded_quotient(std::int64_t dividend, std::int64_t divisor) {
  const std::int64_t half = divisor / 2;
  return (dividend < 0 ? dividend - half : dividend + half) / divisor;
}

std::int32_t bounded_slope(std::int64_t slope) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(slope, -steepest, steepest));
}

// Fits a plane to those of every `step`-th pixel of a region, in both directions, that are within a pixel of
// `plane`, which goes through (x, y): least squares of their disparities, slightly drawn to the given slopes.
Plane fitted(const Plane& plane, int x, int y, const Box& region, int step, const PlaneMap& planes) {
  std::int64_t n = 0, u = 0, v = 0, e = 0, uu = 0, uv = 0, vv = 0, ue = 0, ve = 0;
  for (int j = region.top; j < region.bottom; j += step)
    for (int i = region.left; i < region.right; i += step) {
      const std::int64_t error = planes.disparity.at(i, j) - plane.at(i - x, j - y);
      if (std::abs(error) > per_pixel) continue;
      const int column = i - x, row = j - y;
      n += 1, u += column, v += row, e += error;
      uu += column * column, uv += column * row, vv += row * row;
      ue += column * error, ve += row * error;
    }
  if (n < 10) return plane;
  const std::int64_t a = n * uu - u * u + n, b = n * uv - u * v, c = n * vv - v * v + n;
  const std::int64_t right = n * ue - u * e, below = n * ve - v * e;
  const std::int64_t determinant = a * c - b * b;
  const std::int64_t x_change = rounded_quotient(right * c - below * b, determinant),
                     y_change = rounded_quotient(below * a - right * b, determinant);
  return {plane.disparity + static_cast<std::int32_t>(rounded_quotient(e - x_change * u - y_change * v, n)),
          bounded_slope(plane.slope_x + x_change), bounded_slope(plane.slope_y + y_change)};
}

}  // namespace

Plane Offers::next(int index, const PlaneMap& planes) {
  const Box &pixels = cell_.pixels, &region = cell_.region;
  const int x = pixels.left + below(pixels.width()), y = pixels.top + below(pixels.height());
  Plane plane = planes.at(x, y);
  if (index == 2) {
    plane = fitted(plane, x, y, region, cell_.side / cell_sides.front(), planes);
  } else if (index > 2) {
    constexpr int disparities[] = {512, 204, 81}, slopes[] = {51, 20, 8};
    plane.disparity += within(disparities[index - 3]);
    plane.slope_x = bounded_slope(plane.slope_x + within(slopes[index - 3]));
    plane.slope_y = bounded_slope(plane.slope_y + within(slopes[index - 3]));
  }
  plane.disparity = plane.at(region.left - x, region.top - y);
  return plane;
}

}  // namespace parallax::planes
