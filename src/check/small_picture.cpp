// SPDX-License-Identifier: Apache-2.0
// Pictures for the coarse match: means of blocks, their gradients, and what a mask leaves of them.
#include <algorithm>
#include <cmath>

#include "check/coarse_match.h"
#include "core/integers.h"

namespace parallax::check {
namespace {

constexpr double mean_gradient = 8;
constexpr float largest_gradient = 60;
// In gray levels of 255. Fainter pictures show nothing but noise.
constexpr double least_mean = 0.5;
// Pixels around a masked one that its border may change.
constexpr int near_mask = 2;

// Means of blocks; those of the right picture are `rows_down` pixels lower.
Plane<float> shrunk(const Plane<float>& image, int scale, const RowsDown& rows_down, const Workers& workers) {
  const Size size{image.width() / scale, image.height() / scale};
  Plane<float> result(size);
  for_rows(workers, size.height, [&](int y, int) {
    for (int x = 0; x < size.width; ++x) {
      const int left = x * scale;
      const int top = std::clamp(y * scale + rows_down(left, y * scale), 0, image.height() - scale);
      float sum = 0;
      for (int row = top; row < top + scale; ++row) {
        const float* pixels = image.row(row) + left;
        for (int i = 0; i < scale; ++i) sum += pixels[i];
      }
      result.at(x, y) = sum / static_cast<float>(scale * scale);
    }
  });
  return result;
}

// Calls use(x, y, gx, gy) for each pixel.
template <class Use>
void for_gradients(const Plane<float>& image, const Use& use) {
  const int width = image.width(), height = image.height();
  for (int y = 0; y < height; ++y) {
    const float *row = image.row(y), *above = image.row(std::max(y - 1, 0)),
                *below = image.row(std::min(y + 1, height - 1));
    for (int x = 0; x < width; ++x)
      use(x, y, row[std::min(x + 1, width - 1)] - row[std::max(x - 1, 0)], below[x] - above[x]);
  }
}

Plane<std::uint8_t> seen_blocks(Size size, View<const std::uint8_t> mask, int scale) {
  Plane<std::uint8_t> seen(size, 1);
  if (mask.empty()) return seen;
  const int reach = near_mask * scale;
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      const int left = std::max(0, x * scale - reach),
                right = std::min(mask.size.width, (x + 1) * scale + reach);
      const int bottom = std::min(mask.size.height, (y + 1) * scale + reach);
      for (int row = std::max(0, y * scale - reach); row < bottom; ++row) {
        const std::uint8_t* pixels = mask.row(row);
        if (std::find(pixels + left, pixels + right, 0) != pixels + right) seen.at(x, y) = 0;
      }
    }
  return seen;
}

}  // namespace

SmallPicture small_picture(const Plane<float>& image, View<const std::uint8_t> mask, int scale,
                           const RowsDown& rows_down, const Workers& workers) {
  const Plane<float> small = shrunk(image, scale, rows_down, workers);
  double sum = 0;
  for_gradients(
      small, [&](int, int, float gx, float gy) { sum += static_cast<double>(std::abs(gx) + std::abs(gy)); });
  const double mean = sum / (2.0 * static_cast<double>(std::max<std::size_t>(1, small.size().pixels())));
  const auto unit = static_cast<float>(mean_gradient / std::max(least_mean, mean));
  const auto rounded = [&](float gradient) {
    return static_cast<std::int16_t>(
        std::lrint(std::clamp(unit * gradient, -largest_gradient, largest_gradient)));
  };
  SmallPicture result{Plane<std::int16_t>(small.size()), Plane<std::int16_t>(small.size()),
                      seen_blocks(small.size(), mask, scale)};
  for_gradients(small, [&](int x, int y, float gx, float gy) {
    result.along_x.at(x, y) = rounded(gx);
    result.along_y.at(x, y) = rounded(gy);
  });
  return result;
}

}  // namespace parallax::check
