// SPDX-License-Identifier: Apache-2.0
// Compares exposure, colour and sharpness of the right picture with the left one, at the points that both
// show.
#include <algorithm>
#include <cmath>

#include "check/check.h"
#include "rows/least_squares.h"

namespace parallax::check {
namespace {

constexpr int box_radius = 3;
constexpr int detail_radius = 7;
constexpr int channels = 4;  // gray, R, G, B
// Boxes with means outside these limits may be clipped.
constexpr double darkest = 4, brightest_mean = 251;
constexpr int gain_rounds = 10;

// Means of a box in gray levels of 255, one per channel.
using Means = std::array<double, channels>;

struct Colours {
  const ImageView& image;
  const GrayImage& gray;  // in the flipped picture's orientation
  Flip flip;
  double scale;

  double value(int x, int y, int channel) const {
    const int column = flip.columns ? image.format.size.width - 1 - x : x;
    const void* row = image.row(flip.rows ? image.format.size.height - 1 - y : y);
    const int element = column * image.channels + (image.channels == 3 ? channel : 0);
    return image.format.depth == BitDepth::bits8 ? static_cast<const std::uint8_t*>(row)[element]
                                                 : static_cast<const std::uint16_t*>(row)[element];
  }

  // Means of a box inside the image.
  Means means(int x0, int y0) const {
    Means sums{};
    for (int y = y0 - box_radius; y <= y0 + box_radius; ++y)
      for (int x = x0 - box_radius; x <= x0 + box_radius; ++x) {
        sums[0] += static_cast<double>(gray.sharp.at(x, y));
        for (int c = 1; c < channels; ++c) sums[static_cast<std::size_t>(c)] += scale * value(x, y, c - 1);
      }
    constexpr int side = 2 * box_radius + 1;
    for (double& sum : sums) sum /= side * side;
    return sums;
  }
};

// The ratio of the detail finer than the smoothing to the gradients that the smoothing leaves.
double sharpness(const GrayImage& image, int x0, int y0) {
  double fine = 0, coarse = 0;
  for (int y = y0 - detail_radius; y <= y0 + detail_radius; ++y) {
    const float *sharp = image.sharp.row(y), *smooth = image.smooth.row(y), *above = image.smooth.row(y - 1),
                *below = image.smooth.row(y + 1);
    for (int x = x0 - detail_radius; x <= x0 + detail_radius; ++x) {
      const float difference = sharp[x] - smooth[x], gx = smooth[x + 1] - smooth[x - 1],
                  gy = below[x] - above[x];
      fine += static_cast<double>(difference * difference);
      coarse += static_cast<double>(gx * gx + gy * gy);
    }
  }
  return coarse > 0 ? fine / coarse : 0;
}

// The line right = gain · left + offset through means of boxes, by reweighted least squares.
Exposure fit_exposure(const std::vector<std::array<Means, 2>>& means, std::size_t channel) {
  std::vector<std::array<double, 2>> pairs;
  for (const auto& [left, right] : means)
    if (std::min(left[channel], right[channel]) > darkest &&
        std::max(left[channel], right[channel]) < brightest_mean)
      pairs.push_back({left[channel], right[channel]});
  Exposure line;
  double noise = 255;
  for (int round = 0; round < gain_rounds; ++round) {
    rows::NormalEquations<2> equations;
    for (const auto& [x, y] : pairs) {
      const double share = (y - line.gain * x - line.offset) / (4.685 * noise);
      if (share * share >= 1) continue;
      const double weight = (1 - share * share) * (1 - share * share);
      equations.add({x, 1}, y, weight);
    }
    const auto factor = rows::Cholesky<2>::of(equations.products);
    if (!factor) return {};
    const rows::Vector<2> found = factor->solve(equations.sums);
    line = {found[0], found[1]};
    std::vector<double> distances;
    for (const auto& [x, y] : pairs) distances.push_back(std::abs(y - line.gain * x - line.offset));
    noise = std::max(0.5, rows::deviation(distances));
  }
  return line;
}

}  // namespace

void compare_appearance(const StereoPair& pair, const GrayImage& left, const GrayImage& right, Flip flip,
                        float scale, const Workers& workers, PairReport& report) {
  const Colours left_colours{pair.left, left, {}, static_cast<double>(scale)};
  const Colours right_colours{pair.right, right, flip, static_cast<double>(scale)};
  const std::size_t count = report.points.size();
  std::vector<std::array<Means, 2>> means(count);
  std::vector<double> ratios(count);
  for_rows(workers, static_cast<int>(count), [&](int index, int) {
    const auto i = static_cast<std::size_t>(index);
    const CheckedPoint& point = report.points[i];
    const int lx = static_cast<int>(point.left_x), ly = static_cast<int>(point.left_y);
    const int rx = static_cast<int>(std::lround(point.right_x)),
              ry = static_cast<int>(std::lround(point.right_y));
    means[i] = {left_colours.means(lx, ly), right_colours.means(rx, ry)};
    const double of_left = sharpness(left, lx, ly);
    ratios[i] = of_left > 0 ? sharpness(right, rx, ry) / of_left : 1;
  });
  report.exposure = fit_exposure(means, 0);
  for (std::size_t c = 0; c < 3; ++c) report.colour[c] = fit_exposure(means, c + 1);
  report.sharpness = std::sqrt(rows::quantile(ratios, 0.5));
}

}  // namespace parallax::check
