// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "check/check.h"
#include "core/gray.h"

namespace parallax::check {
namespace {

std::uint16_t brightest(const ImageView& image) {
  const Size size = image.format.size;
  std::vector<std::uint16_t> row(static_cast<std::size_t>(size.width));
  std::uint16_t most = 0;
  for (int y = 0; y < size.height; ++y) {
    gray_row(image, y, row.data());
    most = std::max(most, *std::max_element(row.begin(), row.end()));
  }
  return most;
}

void smooth_columns(const Plane<float>& image, int y, float* out) {
  const auto row = [&](int dy) { return image.row(std::clamp(y + dy, 0, image.height() - 1)); };
  const float *a = row(-2), *b = row(-1), *c = row(0), *d = row(1), *e = row(2);
  for (int x = 0; x < image.width(); ++x)
    out[x] = 0.0625f * (a[x] + e[x]) + 0.25f * (b[x] + d[x]) + 0.375f * c[x];
}

void smooth_row(const float* in, int width, float* out) {
  const auto at = [&](int x) { return in[std::max(0, std::min(x, width - 1))]; };
  const auto sum = [](float a, float b, float c, float d, float e) {
    return 0.0625f * (a + e) + 0.25f * (b + d) + 0.375f * c;
  };
  const int inner = std::min(2, width);
  for (int x = 0; x < inner; ++x) out[x] = sum(at(x - 2), at(x - 1), at(x), at(x + 1), at(x + 2));
  for (int x = 2; x < width - 2; ++x) out[x] = sum(in[x - 2], in[x - 1], in[x], in[x + 1], in[x + 2]);
  for (int x = std::max(inner, width - 2); x < width; ++x)
    out[x] = sum(at(x - 2), at(x - 1), at(x), at(x + 1), at(x + 2));
}

}  // namespace

// Files of 16 bits often hold values of 10 or 12 bits.
float gray_scale(const StereoPair& pair) {
  if (pair.left.format.depth == BitDepth::bits8) return 1;
  return 255.0f / static_cast<float>(std::max<int>({brightest(pair.left), brightest(pair.right), 1}));
}

GrayImage gray_image(const ImageView& image, float scale, Flip flip, const Workers& workers) {
  const Size size = image.format.size;
  GrayImage result{Plane<float>(size), Plane<float>(size)};
  for_row_ranges(workers, size.height, [&](int first, int last, int) {
    std::vector<std::uint16_t> gray(static_cast<std::size_t>(size.width));
    for (int y = first; y < last; ++y) {
      gray_row(image, flip.rows ? size.height - 1 - y : y, gray.data());
      if (flip.columns) std::reverse(gray.begin(), gray.end());
      float* out = result.sharp.row(y);
      for (int x = 0; x < size.width; ++x)
        out[x] = scale * static_cast<float>(gray[static_cast<std::size_t>(x)]);
    }
  });
  for_row_ranges(workers, size.height, [&](int first, int last, int) {
    std::vector<float> columns(static_cast<std::size_t>(size.width));
    for (int y = first; y < last; ++y) {
      smooth_columns(result.sharp, y, columns.data());
      smooth_row(columns.data(), size.width, result.smooth.row(y));
    }
  });
  return result;
}

}  // namespace parallax::check
