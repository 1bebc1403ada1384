// SPDX-License-Identifier: Apache-2.0
// Corners by Shi and Tomasi (1994): pixels where the smaller eigenvalue of the gradients' second moments over
// 5×5 pixels is a local maximum. The image is divided into cells, each of which keeps its strongest corners,
// so that points cover the image.
#include <algorithm>
#include <cmath>

#include "check/check.h"
#include "core/integers.h"

namespace parallax::check {
namespace {

// In mean squared gray levels per pixel. Noise of two gray levels stays below it.
constexpr float min_strength = 0.5f;
constexpr int max_in_cell = 6;
constexpr int smallest_cell = 16;
constexpr int moment_radius = 2;
constexpr int moment_rows = 2 * moment_radius + 1;

// Products of the gradients of a row, summed over the columns of the window.
struct MomentRow {
  explicit MomentRow(int width) : xx(size(width)), xy(size(width)), yy(size(width)) {}
  static std::size_t size(int width) { return to_size(width); }

  std::vector<float> xx, xy, yy;
};

void sum_columns(const float* values, int width, std::vector<float>& sums) {
  for (int x = moment_radius; x < width - moment_radius; ++x)
    sums[to_size(x)] = values[x - 2] + values[x - 1] + values[x] + values[x + 1] + values[x + 2];
}

void write_moments(const Plane<float>& image, int y, MomentRow& products, MomentRow& sums) {
  const int width = image.width();
  const float *above = image.row(y - 1), *row = image.row(y), *below = image.row(y + 1);
  float *xx = products.xx.data(), *xy = products.xy.data(), *yy = products.yy.data();
  for (int x = 1; x < width - 1; ++x) {
    const float gx = 0.5f * (row[x + 1] - row[x - 1]), gy = 0.5f * (below[x] - above[x]);
    xx[x] = gx * gx;
    xy[x] = gx * gy;
    yy[x] = gy * gy;
  }
  sum_columns(xx, width, sums.xx);
  sum_columns(xy, width, sums.xy);
  sum_columns(yy, width, sums.yy);
}

void write_strengths(const std::vector<MomentRow>& rows, int width, float* out) {
  const auto total = [&](std::vector<float> MomentRow::*member, int x) {
    const auto i = to_size(x);
    return (rows[0].*member)[i] + (rows[1].*member)[i] + (rows[2].*member)[i] + (rows[3].*member)[i] +
           (rows[4].*member)[i];
  };
  constexpr float share = 1.0f / (moment_rows * moment_rows);
  for (int x = moment_radius; x < width - moment_radius; ++x) {
    const float xx = total(&MomentRow::xx, x), xy = total(&MomentRow::xy, x), yy = total(&MomentRow::yy, x);
    const float half = 0.5f * (xx - yy);
    out[x] = share * (0.5f * (xx + yy) - std::sqrt(half * half + xy * xy));
  }
}

// Sums rows in an order that does not depend on `first`, so that results are the same for any split.
void strengths_of_rows(const Plane<float>& image, int first, int last, Plane<float>& strengths) {
  const int reach = moment_radius + 1;
  first = std::max(first, reach);
  last = std::min(last, image.height() - reach);
  if (first >= last || image.width() < 2 * reach) return;
  MomentRow products(image.width());
  std::vector<MomentRow> rows(moment_rows, MomentRow(image.width()));
  for (int y = first - moment_radius; y < last + moment_radius; ++y) {
    write_moments(image, y, products, rows[to_size(y % moment_rows)]);
    if (y >= first + moment_radius) write_strengths(rows, image.width(), strengths.row(y - moment_radius));
  }
}

// The first of equal neighbours is the maximum.
bool is_maximum(const Plane<float>& strengths, int x, int y) {
  const float strength = strengths.at(x, y);
  for (int dy = -2; dy <= 2; ++dy) {
    const float* row = strengths.row(y + dy) + x;
    for (int dx = -2; dx <= 2; ++dx) {
      const bool before = dy < 0 || (dy == 0 && dx < 0);
      if (before ? row[dx] >= strength : row[dx] > strength) return false;
    }
  }
  return true;
}

// Whether no pixel that describes the corner is masked: the borders of the area that a rectified camera did
// not see would be edges.
bool is_seen(View<const std::uint8_t> mask, Flip flip, int x, int y) {
  if (mask.empty()) return true;
  if (flip.columns) x = mask.size.width - 1 - x;
  if (flip.rows) y = mask.size.height - 1 - y;
  for (int row = y - description_reach; row <= y + description_reach; ++row)
    for (int column = x - description_reach; column <= x + description_reach; ++column)
      if (mask.at(column, row) == 0) return false;
  return true;
}

struct Cell {
  int left, top, right, bottom;
};

std::vector<Corner> corners_of_cell(const Plane<float>& strengths, View<const std::uint8_t> mask, Flip flip,
                                    const Cell& cell) {
  std::vector<Corner> corners;
  for (int y = cell.top; y < cell.bottom; ++y) {
    const float* row = strengths.row(y);
    for (int x = cell.left; x < cell.right; ++x)
      if (row[x] >= min_strength && row[x] >= row[x - 1] && row[x] >= row[x + 1] &&
          is_maximum(strengths, x, y) && is_seen(mask, flip, x, y))
        corners.push_back({x, y, row[x]});
  }
  const auto stronger = [](const Corner& a, const Corner& b) {
    return a.strength != b.strength ? a.strength > b.strength : (a.y != b.y ? a.y < b.y : a.x < b.x);
  };
  std::sort(corners.begin(), corners.end(), stronger);
  if (corners.size() > max_in_cell) corners.resize(max_in_cell);
  return corners;
}

}  // namespace

std::vector<Corner> find_corners(const GrayImage& image, View<const std::uint8_t> mask, Flip flip, int wanted,
                                 const Workers& workers) {
  const Size size = image.size();
  if (size.width <= 2 * corner_margin || size.height <= 2 * corner_margin) return {};
  Plane<float> strengths(size);
  for_row_ranges(workers, size.height,
                 [&](int first, int last, int) { strengths_of_rows(image.smooth, first, last, strengths); });
  const double area = static_cast<double>(size.pixels()) * max_in_cell / wanted;
  const int side = std::max(smallest_cell, static_cast<int>(std::sqrt(area)));
  const int width = size.width - 2 * corner_margin, height = size.height - 2 * corner_margin;
  const int columns = divide_round_up(width, side), rows = divide_round_up(height, side);
  std::vector<std::vector<Corner>> of_cell_rows(to_size(rows));
  workers.for_each(rows, [&](int row, int) {
    std::vector<Corner>& corners = of_cell_rows[to_size(row)];
    for (int column = 0; column < columns; ++column) {
      const int left = corner_margin + column * side, top = corner_margin + row * side;
      const Cell cell{left, top, std::min(left + side, size.width - corner_margin),
                      std::min(top + side, size.height - corner_margin)};
      for (const Corner& corner : corners_of_cell(strengths, mask, flip, cell)) corners.push_back(corner);
    }
    std::sort(corners.begin(), corners.end(),
              [](const Corner& a, const Corner& b) { return a.y != b.y ? a.y < b.y : a.x < b.x; });
  });
  std::vector<Corner> all;
  for (const std::vector<Corner>& corners : of_cell_rows)
    all.insert(all.end(), corners.begin(), corners.end());
  return all;
}

}  // namespace parallax::check
