// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string_view>

#include "tools/command/command.h"
#include "tools/files/pictures/codecs.h"
#include "tools/files/pictures/picture.h"
#include "tools/match/check_report.h"

namespace parallax::tool {
namespace {

using Rgb = std::array<std::uint8_t, 3>;

// Five rows of three bits each, the top row first.
struct Glyph {
  char letter;
  std::array<std::uint8_t, 5> rows;
};
constexpr Glyph glyphs[] = {{'0', {7, 5, 5, 5, 7}}, {'1', {2, 6, 2, 2, 7}}, {'2', {7, 1, 7, 4, 7}},
                            {'3', {7, 1, 3, 1, 7}}, {'4', {5, 5, 7, 1, 1}}, {'5', {7, 4, 7, 1, 7}},
                            {'6', {7, 4, 7, 5, 7}}, {'7', {7, 1, 1, 2, 2}}, {'8', {7, 5, 7, 5, 7}},
                            {'9', {7, 5, 7, 1, 7}}, {'.', {0, 0, 0, 0, 2}}, {'-', {0, 0, 7, 0, 0}},
                            {'+', {0, 2, 7, 2, 0}}, {'p', {0, 7, 5, 7, 4}}, {'x', {0, 5, 2, 2, 5}}};

class Canvas {
 public:
  explicit Canvas(Size size) : picture_({size, BitDepth::bits8}, 3) {}

  void set(int x, int y, Rgb colour) {
    if (x < 0 || y < 0 || x >= picture_.size().width || y >= picture_.size().height) return;
    auto* pixel = reinterpret_cast<std::uint8_t*>(picture_.row(y)) + 3 * static_cast<std::ptrdiff_t>(x);
    std::copy(colour.begin(), colour.end(), pixel);
  }
  void fill(int left, int top, int width, int height, Rgb colour) {
    for (int y = top; y < top + height; ++y)
      for (int x = left; x < left + width; ++x) set(x, y, colour);
  }
  void dot(int x, int y, int radius, Rgb colour) {
    for (int dy = -radius - 1; dy <= radius + 1; ++dy)
      for (int dx = -radius - 1; dx <= radius + 1; ++dx) {
        const int distance = dx * dx + dy * dy;
        if (distance <= radius * (radius + 1))
          set(x + dx, y + dy, colour);
        else if (distance <= (radius + 1) * (radius + 2))
          set(x + dx, y + dy, {0, 0, 0});
      }
  }
  // Letters are 3×5 pixels of this size.
  void write(int left, int top, int pixel, std::string_view text) {
    for (const char letter : text) {
      for (const Glyph& glyph : glyphs) {
        if (glyph.letter != letter) continue;
        for (int j = 0; j < 5; ++j)
          for (int i = 0; i < 3; ++i)
            if ((glyph.rows[static_cast<std::size_t>(j)] >> (2 - i)) & 1)
              fill(left + i * pixel, top + j * pixel, pixel, pixel, {255, 255, 255});
      }
      left += 4 * pixel;
    }
  }
  const Picture& picture() const { return picture_; }

 private:
  Picture picture_;
};

// Blue at −1, green at 0, red at 1.
Rgb colour_of(double share) {
  const double s = std::clamp(share, -1.0, 1.0), near = 1 - std::abs(s);
  const auto level = [](double value) { return static_cast<std::uint8_t>(std::lround(255 * value)); };
  const double side = std::sqrt(std::abs(s));
  return {level(s > 0 ? side : 0), level(std::sqrt(near)), level(s < 0 ? side : 0)};
}

// Dimmed, and tinted where there are row offsets.
void draw_background(const ImageView& left, View<const float> row_offset, double full, Canvas& canvas) {
  for (int y = 0; y < left.format.size.height; ++y)
    for (int x = 0; x < left.format.size.width; ++x) {
      const auto channel = [&](int c) -> int {
        const int element = x * left.channels + (left.channels == 3 ? c : 0);
        return left.format.depth == BitDepth::bits8
                   ? static_cast<const std::uint8_t*>(left.row(y))[element]
                   : static_cast<const std::uint16_t*>(left.row(y))[element] >> 8;
      };
      const auto dimmed = static_cast<std::uint8_t>((channel(0) + 2 * channel(1) + channel(2)) / 6);
      Rgb colour{dimmed, dimmed, dimmed};
      if (row_offset.data != nullptr && std::isfinite(row_offset.at(x, y))) {
        const Rgb tint = colour_of(static_cast<double>(row_offset.at(x, y)) / full);
        for (std::size_t i = 0; i < colour.size(); ++i)
          colour[i] = static_cast<std::uint8_t>((colour[i] + tint[i]) / 2);
      }
      canvas.set(x, y, colour);
    }
}

void draw_scale(Size size, double full, int pixel, Canvas& canvas) {
  const std::string least = "-" + with_decimals(full, 1), most = "+" + with_decimals(full, 1) + "px";
  const int letter = 4 * pixel, height = 9 * pixel, bar = 30 * letter / 4;
  const int left = 2 * pixel, top = size.height - height - 2 * pixel;
  const int from = left + letter * (static_cast<int>(least.size()) + 1);
  const int width = bar + letter * (static_cast<int>(least.size() + most.size()) + 3);
  canvas.fill(left, top, width, height, {0, 0, 0});
  canvas.write(left + pixel, top + 2 * pixel, pixel, least);
  for (int x = 0; x < bar; ++x)
    canvas.fill(from + x, top + 2 * pixel, 1, 5 * pixel, colour_of(2.0 * x / bar - 1));
  canvas.write(from + bar + letter, top + 2 * pixel, pixel, most);
}

}  // namespace

std::vector<std::byte> draw_rows_off(const ImageView& left, const PairReport& report, double full,
                                     const std::optional<DenseCheck>& dense) {
  const Size size = left.format.size;
  Canvas canvas(size);
  draw_background(left, dense ? dense->row_offset.view() : View<const float>(), full, canvas);
  const int pixel = std::max(1, size.width / 320);
  for (const CheckedPoint& point : report.points)
    canvas.dot(static_cast<int>(std::lround(point.left_x)), static_cast<int>(std::lround(point.left_y)),
               pixel + 1, colour_of(static_cast<double>(point.rows_off()) / full));
  draw_scale(size, full, pixel, canvas);
  return encode_png(canvas.picture().view());
}

}  // namespace parallax::tool
