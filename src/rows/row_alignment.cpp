// SPDX-License-Identifier: Apache-2.0
#include "rows/row_alignment.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/copy_rows.h"
#include "core/length.h"

namespace parallax::rows {
namespace {

// Points count for as much as their cells, of which the image has this many: corners crowd on few objects.
constexpr int cell_columns = 20, cell_rows = 14;
// Rows of points are known to this many pixels at best: surfaces are not quite smooth.
constexpr double min_uncertainty = 0.1;

// v is quadratic, linear or constant, depending on the variance of the places where it was measured, in the
// direction in which it is smallest, relative to that of places all over the image.
constexpr double min_spread_quadratic = 0.4, min_spread_linear = 0.1;
constexpr int fitting_rounds = 10;
// Rows are aligned already if the root mean square of v at the points is below this.
constexpr double negligible = 0.05;

// Offsets are rounded to 1/64 of a row.
constexpr int fraction_bits = 6, fractions = 1 << fraction_bits;
constexpr int weight_bits = 12;

using Terms = RowAlignment::Terms;
// Added to the diagonal of the normal equations.
constexpr Terms diagonal{1e-6, 4e-6, 4e-6, 16e-6, 16e-6, 16e-6};

using Offset = RowAlignment::Offset;

Terms terms_at(Size size, double column, double row) {
  const double x = position(column, size.width), y = position(row, size.height);
  return {1, x, y, x * x, x * y, y * y};
}

// Number of terms that can be fitted to places of this spread.
int terms_for(double spread) {
  return spread >= min_spread_quadratic ? 6 : spread >= min_spread_linear ? 3 : 1;
}

// The smallest variance of places in any direction, relative to that of places all over the image.
class Spread {
 public:
  void add(const Terms& terms) {
    ++count_;
    x_ += terms[1];
    y_ += terms[2];
    xx_ += terms[3];
    xy_ += terms[4];
    yy_ += terms[5];
  }

  // The smaller eigenvalue of the covariance matrix; that of the image is 1/3.
  double smallest() const {
    const double x = x_ / count_, y = y_ / count_;
    const double xx = xx_ / count_ - x * x, xy = xy_ / count_ - x * y, yy = yy_ / count_ - y * y;
    return 3 * ((xx + yy) / 2 - detail::length_of((xx - yy) / 2, xy));
  }

 private:
  double count_ = 0, x_ = 0, y_ = 0, xx_ = 0, xy_ = 0, yy_ = 0;
};

// The weight of a point falls with the variance of its row, and with what else its cell has.
std::vector<Offset> weighted_offsets(Size size, const std::vector<CheckedPoint>& points) {
  std::vector<double> cells(to_size(cell_columns * cell_rows));
  const auto cell = [&](const CheckedPoint& point) -> double& {
    const auto part = [](float pixel, int length, int parts) {
      return std::clamp(static_cast<int>(pixel) * parts / length, 0, parts - 1);
    };
    return cells[to_size(part(point.left_y, size.height, cell_rows) * cell_columns +
                         part(point.right_x, size.width, cell_columns))];
  };
  const auto certainty = [](const CheckedPoint& point) {
    const double deviation = std::max(min_uncertainty, static_cast<double>(point.uncertainty));
    return 1 / (deviation * deviation);
  };
  for (const CheckedPoint& point : points) cell(point) += certainty(point);
  std::vector<Offset> offsets;
  for (const CheckedPoint& point : points)
    offsets.push_back({terms_at(size, static_cast<double>(point.right_x), static_cast<double>(point.left_y)),
                       static_cast<double>(point.rows_off()), certainty(point) / cell(point)});
  return offsets;
}

// Catmull-Rom weights of four rows, in 1/2^weight_bits.
std::array<int, 4> weights_of(int fraction) {
  const double f = static_cast<double>(fraction) / fractions;
  const auto rounded = [](double weight) {
    return static_cast<int>(std::lround(weight * (1 << weight_bits)));
  };
  std::array<int, 4> weights{rounded(((-0.5 * f + 1) * f - 0.5) * f), 0,
                             rounded(((-1.5 * f + 2) * f + 0.5) * f), rounded((0.5 * f - 0.5) * f * f)};
  weights[1] = (1 << weight_bits) - weights[0] - weights[2] - weights[3];
  return weights;
}

}  // namespace

RowAlignment::RowAlignment(const ImageFormat& format) : format_(format) {}

void RowAlignment::reserve(Arena& arena) {
  moved_ = arena.reserve<std::byte>(format_.size.pixels() * 3 * bytes_per_sample(format_.depth));
  moved_mask_ = arena.reserve_plane<std::uint8_t>(format_.size);
}

bool RowAlignment::find(const std::vector<CheckedPoint>& points) {
  surface_ = {format_.size};
  mean_rows_ = 0;
  if (points.size() < min_points) return false;
  const std::vector<Offset> offsets = weighted_offsets(format_.size, points);
  if (fit(offsets)) limit(offsets);
  return moves();
}

bool RowAlignment::moves() const {
  return mean_rows_ >= negligible;
}

bool RowAlignment::fit(const std::vector<Offset>& offsets) {
  Spread spread;
  for (const Offset& offset : offsets) spread.add(offset.terms);
  const auto fitted = terms_for(spread.smallest());
  const auto found = min_absolute<6>(fitting_rounds, diagonal, [&](const auto& add) {
    for (const Offset& offset : offsets) {
      Terms terms = offset.terms;
      std::fill(terms.begin() + fitted, terms.end(), 0.0);
      add(terms, offset.rows, offset.weight);
    }
  });
  if (!found) return false;
  const auto [a, b, c, d, e, f] = *found;
  surface_.c = {a + (d + f) / 3, b, c, d, e, f};
  return true;
}

// Limits v to its range at the points.
void RowAlignment::limit(const std::vector<Offset>& offsets) {
  double lowest = std::numeric_limits<double>::max(), highest = -lowest, squares = 0, weights = 0;
  for (const Offset& offset : offsets) {
    const double rows = surface_.at(offset.terms[1], offset.terms[2]);
    lowest = std::min(lowest, rows);
    highest = std::max(highest, rows);
    squares += offset.weight * rows * rows;
    weights += offset.weight;
  }
  surface_.lowest = lowest;
  surface_.highest = highest;
  mean_rows_ = std::sqrt(squares / weights);
}

// Where the pixels [x, x + count) of row y lie in the right image, in units of 1/fractions of a row.
void RowAlignment::find_places(int x, int y, int count, int* places) const {
  // The surface along a row, v = a + column · (b + c₃·column).
  const std::array<double, 6>& c = surface_.c;
  const double row = position(y, format_.size.height), step = 2.0 / format_.size.width;
  const double a = c[0] + c[2] * row - c[3] / 3 + c[5] * (row * row - 1.0 / 3), b = c[1] + c[4] * row;
  // A conversion to int drops the fraction, which rounds a positive number down.
  constexpr int positive = 1 << 27;
  const double rounding = positive + 0.5 + static_cast<double>(y) * fractions;
  for (int i = 0; i < count; ++i) {
    const double column = (x + i) * step - 1;
    const double v = std::min(std::max(a + column * (b + c[3] * column), surface_.lowest), surface_.highest);
    places[i] = static_cast<int>(v * fractions + rounding) - positive;
  }
}

// Interpolates between the four rows around a place; rows outside the image are those of its border.
template <class Value>
void RowAlignment::move_run(const ImageView& right, int place, int x, int y, int count) const {
  static const auto weights = [] {
    std::array<std::array<int, 4>, fractions> all;
    for (int i = 0; i < fractions; ++i) all[to_size(i)] = weights_of(i);
    return all;
  }();
  const auto [w0, w1, w2, w3] = weights[to_size(place & (fractions - 1))];
  const int channels = right.channels, last = format_.size.height - 1, above = place >> fraction_bits;
  const auto row = [&](int k) {
    return static_cast<const Value*>(right.row(std::clamp(above + k, 0, last))) + x * channels;
  };
  const Value *r0 = row(-1), *r1 = row(0), *r2 = row(1), *r3 = row(2);
  Value* to =
      reinterpret_cast<Value*>(moved_) + (static_cast<std::ptrdiff_t>(y) * format_.size.width + x) * channels;
  for (int i = 0; i < count * channels; ++i) {
    const int sum = (1 << (weight_bits - 1)) + w0 * r0[i] + w1 * r1[i] + w2 * r2[i] + w3 * r3[i];
    to[i] = static_cast<Value>(std::clamp<int>(sum >> weight_bits, 0, std::numeric_limits<Value>::max()));
  }
}

// Neighbours mostly lie in one place of their columns, so that runs of them are interpolated alike.
template <class Value>
void RowAlignment::move_row(const ImageView& right, View<const std::uint8_t> mask, int y) const {
  constexpr int strip = 64;
  const int width = format_.size.width, last = format_.size.height - 1;
  for (int x = 0; x < width; x += strip) {
    std::array<int, strip> places;
    const int count = std::min(strip, width - x);
    find_places(x, y, count, places.data());
    for (int i = 0; i < count;) {
      const int first = i, place = places[to_size(i)];
      while (i < count && places[to_size(i)] == place) ++i;
      move_run<Value>(right, place, x + first, y, i - first);
      const int nearest = std::clamp((place + fractions / 2) >> fraction_bits, 0, last);
      if (!mask.empty())
        std::copy_n(mask.row(nearest) + x + first, i - first, moved_mask_.row(y) + x + first);
    }
  }
}

StereoPair RowAlignment::aligned(const StereoPair& pair, const Workers& workers) const {
  for_rows(workers, format_.size.height, [&](int y, int) {
    if (format_.depth == BitDepth::bits8)
      move_row<std::uint8_t>(pair.right, pair.right_mask, y);
    else
      move_row<std::uint16_t>(pair.right, pair.right_mask, y);
  });
  StereoPair aligned = pair;
  aligned.right = {moved_, format_, pair.right.channels,
                   static_cast<std::ptrdiff_t>(to_size(format_.size.width * pair.right.channels) *
                                               bytes_per_sample(format_.depth))};
  if (!pair.right_mask.empty()) aligned.right_mask = moved_mask_;
  return aligned;
}

}  // namespace parallax::rows
