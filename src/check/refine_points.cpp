// SPDX-License-Identifier: Apache-2.0
// Positions to a fraction of a pixel, by least-squares matching (Grün 1985) of 15×15 pixels. The right window
// is modelled as
//
//     I(x + u + a·x + b·y, y + v) = α·T(x, y) + β
//
// where T is the left window: a shift in both directions, a slope of the disparity in both directions, gain
// and offset. A step regresses the sampled right window on T, 1 and the gradients of T; the coefficients of
// the gradients are the errors of u, v, a and b. Only the left window's gradients are used. Their noise does
// not depend on the right window's noise, so noise and interpolation do not pull the result towards full
// pixels.
#include <algorithm>
#include <cmath>

#include "check/check.h"
#include "rows/least_squares.h"

namespace parallax::check {
namespace {

constexpr int radius = 7;
constexpr int side = 2 * radius + 1;
constexpr int pitch = 16;  // pitch of a window's rows; the last column has weight 0
constexpr int pixels = side * pitch;
constexpr int max_steps = 10;
constexpr double close_enough = 0.004;  // last step in pixels
constexpr double farthest = 2.5;        // from the corner, in pixels
constexpr double steepest = 2;          // a and b, in pixels at the edge of the window
constexpr double max_uncertainty = 0.4;
// standard deviation of the residuals, relative to that of the window
constexpr double max_difference = 0.45;

enum Unknown { gain, offset, along_x, along_y, slope_x, slope_y, unknowns };

using Window = std::array<float, pixels>;

struct Warp {
  double u, v, a = 0, b = 0;
};

// Keys' cubic interpolation (1981).
std::array<float, 4> cubic(float t) {
  const float s = 1 - t;
  return {-0.5f * t * s * s, 1 + t * t * (1.5f * t - 2.5f), 1 + s * s * (1.5f * s - 2.5f), -0.5f * s * t * t};
}

// Samples the window around a corner; false if it leaves the image.
bool sample(const Plane<float>& image, const Corner& corner, const Warp& warp, Window& window) {
  constexpr int max_columns = 32;
  const double reach = radius + std::abs(warp.a) + std::abs(warp.b);
  const double left = std::floor(corner.x + warp.u - reach) - 1,
               top = std::floor(corner.y + warp.v) - radius - 1;
  const int columns = static_cast<int>(2 * reach) + 5;
  if (!(left >= 0 && left + columns <= image.width() && top >= 0 && top + side + 3 <= image.height()))
    return false;
  const int x0 = static_cast<int>(left), y0 = static_cast<int>(top);
  const std::array<float, 4> down = cubic(static_cast<float>(corner.y + warp.v - (y0 + radius + 1)));
  for (int j = 0; j < side; ++j) {
    std::array<float, max_columns> row;
    const float *r0 = image.row(y0 + j) + x0, *r1 = image.row(y0 + j + 1) + x0,
                *r2 = image.row(y0 + j + 2) + x0, *r3 = image.row(y0 + j + 3) + x0;
    for (int i = 0; i < columns; ++i)
      row[static_cast<std::size_t>(i)] =
          down[0] * r0[i] + down[1] * r1[i] + down[2] * r2[i] + down[3] * r3[i];
    const auto stretch = static_cast<float>(1 + warp.a / radius);
    const auto middle = static_cast<float>(corner.x + warp.u + warp.b * (j - radius) / radius - x0);
    for (int i = 0; i < side; ++i) {
      const float x = middle + stretch * static_cast<float>(i - radius);
      const int column = static_cast<int>(x);
      const std::array<float, 4> across = cubic(x - static_cast<float>(column));
      const float* p = row.data() + column - 1;
      window[static_cast<std::size_t>(j * pitch + i)] =
          across[0] * p[0] + across[1] * p[1] + across[2] * p[2] + across[3] * p[3];
    }
    window[static_cast<std::size_t>(j * pitch + side)] = 0;
  }
  return true;
}

double dot(const Window& a, const Window& b) {
  std::array<float, pitch> sums{};
  for (std::size_t row = 0; row < pixels; row += pitch)
    for (std::size_t i = 0; i < pitch; ++i) sums[i] += a[row + i] * b[row + i];
  double sum = 0;
  for (const float part : sums) sum += part;
  return sum;
}

// The left window with its gradients, ready for regressions.
class Template {
 public:
  Template(const Plane<float>& image, const Corner& corner) {
    double sum = 0;
    for (int y = -radius; y <= radius; ++y) {
      const float *above = image.row(corner.y + y - 1) + corner.x, *row = image.row(corner.y + y) + corner.x,
                  *below = image.row(corner.y + y + 1) + corner.x;
      for (int x = -radius; x <= radius; ++x) {
        const auto i = static_cast<std::size_t>((y + radius) * pitch + x + radius);
        const float gx = 0.5f * (row[x + 1] - row[x - 1]);
        columns_[gain][i] = row[x];
        columns_[offset][i] = 1;
        columns_[along_x][i] = gx;
        columns_[along_y][i] = 0.5f * (below[x] - above[x]);
        columns_[slope_x][i] = gx * static_cast<float>(x) / radius;
        columns_[slope_y][i] = gx * static_cast<float>(y) / radius;
        sum += row[x];
      }
    }
    mean_ = static_cast<float>(sum / (side * side));
    for (std::size_t i = 0; i < pixels; ++i) columns_[gain][i] -= mean_ * columns_[offset][i];
    factor();
  }

  bool usable() const { return factor_.has_value(); }

  // Coefficients of the window; `difference` receives the variance of what remains.
  rows::Vector<unknowns> regress(Window& window, double& difference) const {
    for (std::size_t i = 0; i < pixels; ++i) window[i] -= mean_ * columns_[offset][i];
    rows::Vector<unknowns> products;
    for (std::size_t k = 0; k < unknowns; ++k) products[k] = dot(columns_[k], window);
    const rows::Vector<unknowns> result = factor_->solve(products);
    double rest = dot(window, window);
    for (std::size_t k = 0; k < unknowns; ++k) rest -= result[k] * products[k];
    difference = std::max(0.0, rest) / (side * side - unknowns);
    return result;
  }

  double inverse_diagonal(Unknown unknown) const { return factor_->inverse_diagonal(unknown); }
  double variance() const { return dot(columns_[gain], columns_[gain]) / (side * side); }

 private:
  void factor() {
    rows::Cholesky<unknowns>::Matrix products{};
    for (std::size_t i = 0; i < unknowns; ++i)
      for (std::size_t j = 0; j <= i; ++j) products[i][j] = dot(columns_[i], columns_[j]);
    factor_ = rows::Cholesky<unknowns>::of(products);
  }

  std::array<Window, unknowns> columns_{};
  float mean_ = 0;
  std::optional<rows::Cholesky<unknowns>> factor_;
};

std::optional<CheckedPoint> refine(const GrayImage& left, const GrayImage& right, const Corner& from,
                                   const Corner& to) {
  const Template window(left.smooth, from);
  if (!window.usable()) return std::nullopt;
  Warp warp{static_cast<double>(to.x - from.x), static_cast<double>(to.y - from.y)};
  Window sampled;
  for (int step = 0; step < max_steps; ++step) {
    if (!sample(right.smooth, from, warp, sampled)) return std::nullopt;
    double difference = 0;
    const rows::Vector<unknowns> found = window.regress(sampled, difference);
    if (!(found[gain] > 0.1 && found[gain] < 10)) return std::nullopt;
    const double dx = found[along_x] / found[gain], dy = found[along_y] / found[gain];
    warp.u -= dx;
    warp.v -= dy;
    warp.a -= found[slope_x] / found[gain];
    warp.b -= found[slope_y] / found[gain];
    const double moved = std::max(std::abs(from.x + warp.u - to.x), std::abs(from.y + warp.v - to.y));
    if (!(moved <= farthest && std::abs(warp.a) <= steepest && std::abs(warp.b) <= steepest))
      return std::nullopt;
    if (std::max(std::abs(dx), std::abs(dy)) > close_enough) continue;
    const double uncertainty = std::sqrt(difference * window.inverse_diagonal(along_y)) / found[gain];
    const double relative = std::sqrt(difference / window.variance()) / found[gain];
    if (uncertainty > max_uncertainty || relative > max_difference) return std::nullopt;
    return CheckedPoint{static_cast<float>(from.x),          static_cast<float>(from.y),
                        static_cast<float>(from.x + warp.u), static_cast<float>(from.y + warp.v),
                        static_cast<float>(uncertainty),     0};
  }
  return std::nullopt;
}

}  // namespace

std::vector<CheckedPoint> refine_points(const GrayImage& left, const GrayImage& right,
                                        const std::vector<Corner>& left_corners,
                                        const std::vector<Corner>& right_corners,
                                        const std::vector<CornerMatch>& matches, const Workers& workers) {
  std::vector<std::optional<CheckedPoint>> refined(matches.size());
  for_row_ranges(workers, static_cast<int>(matches.size()), [&](int first, int last, int) {
    for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i)
      refined[i] = refine(left, right, left_corners[static_cast<std::size_t>(matches[i].left)],
                          right_corners[static_cast<std::size_t>(matches[i].right)]);
  });
  std::vector<CheckedPoint> points;
  for (const std::optional<CheckedPoint>& point : refined)
    if (point) points.push_back(*point);
  return points;
}

}  // namespace parallax::check
