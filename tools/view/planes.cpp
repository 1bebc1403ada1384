// SPDX-License-Identifier: Apache-2.0
#include "tools/view/planes.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace parallax::view {
namespace {

constexpr std::size_t max_overview_pixels = 2'200'000;
constexpr int greatest_code = 65535, finest_steps = 64;

// The middle of a block, within a region of this extent.
int middle(int extent, int block, int scale) {
  return std::min(block * scale + scale / 2, extent - 1);
}

template <class Value, class Convert>
auto sample_each(View<Value> plane, const Rectangle& region, int scale, const Convert& convert) {
  const Size size = scaled(region.size, scale);
  std::vector<decltype(convert(plane.at(0, 0)))> values(size.pixels());
  auto* next = values.data();
  for (int y = 0; y < size.height; ++y, next += size.width) {
    const Value* row = plane.row(region.y + middle(region.size.height, y, scale)) + region.x;
    if (scale == 1)
      std::transform(row, row + size.width, next, convert);
    else
      for (int x = 0; x < size.width; ++x) next[x] = convert(row[middle(region.size.width, x, scale)]);
  }
  return values;
}

template <class Value>
std::uint8_t block_mean(const ImageView& picture, const Rectangle& block, int channel) {
  unsigned sum = 0;
  for (int y = block.y; y < block.y + block.size.height; ++y) {
    const auto* row = static_cast<const Value*>(picture.row(y));
    for (int x = block.x; x < block.x + block.size.width; ++x)
      sum += row[x * picture.channels + channel] >> (8 * (sizeof(Value) - 1));
  }
  return static_cast<std::uint8_t>(sum / block.size.pixels());
}

std::vector<std::uint8_t> copy_picture(const ImageView& picture, const Rectangle& region) {
  const std::size_t channels = static_cast<std::size_t>(picture.channels);
  std::vector<std::uint8_t> values;
  values.reserve(region.size.pixels() * channels);
  for (int y = region.y; y < region.y + region.size.height; ++y) {
    const auto* first = static_cast<const std::uint8_t*>(picture.row(y)) + region.x * picture.channels;
    values.insert(values.end(), first, first + static_cast<std::size_t>(region.size.width) * channels);
  }
  return values;
}

}  // namespace

int overview_scale(Size size) {
  int scale = 1;
  while (scaled(size, scale).pixels() > max_overview_pixels) ++scale;
  return scale;
}

Size scaled(Size region, int scale) {
  return {(region.width + scale - 1) / scale, (region.height + scale - 1) / scale};
}

std::vector<std::uint8_t> scale_picture(const ImageView& picture, const Rectangle& region, int scale) {
  if (scale == 1 && picture.format.depth == BitDepth::bits8) return copy_picture(picture, region);
  const Size size = scaled(region.size, scale);
  std::vector<std::uint8_t> values;
  values.reserve(size.pixels() * static_cast<std::size_t>(picture.channels));
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      Rectangle block{region.x + x * scale, region.y + y * scale, {}};
      block.size = {std::min(scale, region.x + region.size.width - block.x),
                    std::min(scale, region.y + region.size.height - block.y)};
      for (int channel = 0; channel < picture.channels; ++channel)
        values.push_back(picture.format.depth == BitDepth::bits8
                             ? block_mean<std::uint8_t>(picture, block, channel)
                             : block_mean<std::uint16_t>(picture, block, channel));
    }
  return values;
}

std::vector<std::uint8_t> sample(View<const std::uint8_t> plane, const Rectangle& region, int scale) {
  return sample_each(plane, region, scale, [](std::uint8_t value) { return value; });
}

std::vector<std::uint8_t> sample_shares(View<const float> plane, const Rectangle& region, int scale) {
  return sample_each(plane, region, scale,
                     [](float value) { return static_cast<std::uint8_t>(255 * value + 0.5F); });
}

DisparityCode code_for(View<const float> disparity) {
  constexpr float none = std::numeric_limits<float>::infinity();
  float lowest = none, highest = -none;
  for (int y = 0; y < disparity.size.height; ++y) {
    const float* row = disparity.row(y);
    for (int x = 0; x < disparity.size.width; ++x) {
      const bool is_finite = std::abs(row[x]) < none;
      lowest = std::min(lowest, is_finite ? row[x] : none);
      highest = std::max(highest, is_finite ? row[x] : -none);
    }
  }
  if (lowest > highest) return {};
  DisparityCode code{std::floor(static_cast<double>(lowest)), finest_steps};
  while (code.steps > 1 && (highest - code.lowest) * code.steps + 1 > greatest_code) code.steps /= 2;
  return code;
}

std::vector<std::uint16_t> sample_disparities(View<const float> disparity, const DisparityCode& code,
                                              const Rectangle& region, int scale) {
  return sample_each(disparity, region, scale, [code](float value) {
    const bool is_finite = std::abs(value) < std::numeric_limits<float>::infinity();
    const double steps = ((is_finite ? value : code.lowest) - code.lowest) * code.steps;
    const int number = static_cast<int>(std::min(steps + 1.5, double(greatest_code)));
    return static_cast<std::uint16_t>(is_finite ? number : 0);
  });
}

}  // namespace parallax::view
