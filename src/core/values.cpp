// SPDX-License-Identifier: Apache-2.0
#include "parallax/values.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "core/checks.h"
#include "core/floating_point.h"

namespace parallax {
namespace {

// The values that are left without the `ignored` lowest and the `ignored` highest.
ValueRange range_without(std::uint64_t ignored, const std::vector<std::uint64_t>& counts) {
  std::size_t low = 0, high = counts.size() - 1;
  for (std::uint64_t below = counts[low]; below <= ignored && low < high; below += counts[++low]) {
  }
  for (std::uint64_t above = counts[high]; above <= ignored && high > low; above += counts[--high]) {
  }
  return {static_cast<int>(low), static_cast<int>(high)};
}

// Stretched values per value. With 9 to 15 bits, there are as many steps between all levels of 8 bits.
double factor_of(const ValueRange& range, int white) {
  const int count = range.high - range.low + 1;
  const bool has_bits = count >= 512 && count <= 32768 && std::has_single_bit(static_cast<unsigned>(count));
  return has_bits ? 65536 / count : static_cast<double>(white) / (count - 1);
}

template <class Value>
void stretch_rows(const ImageView& image, const ValueRange& range, const ImageOutput& stretched) {
  constexpr int most = std::numeric_limits<Value>::max(), white = most == 255 ? 255 : 255 * 256;
  if (range.low < 0 || range.high > most || range.low >= range.high)
    refuse("the range of values is " + std::to_string(range.low) + " to " + std::to_string(range.high) +
           ": choose a low and a higher value from 0 to " + std::to_string(most));
  // The products are off by less than 2^-30; what is not half a whole number is at least 2^-17 from it.
  constexpr double half_and_a_bit = 0.5 + 1.0 / (1 << 20);
  const double factor = factor_of(range, white);
  const int length = image.channels * image.format.size.width;
  for (int y = 0; y < image.format.size.height; ++y) {
    const auto* from = static_cast<const Value*>(image.row(y));
    auto* to = reinterpret_cast<Value*>(static_cast<std::byte*>(stretched.data) + y * stretched.stride_bytes);
    for (int x = 0; x < length; ++x) {
      const int value = std::clamp<int>(from[x], range.low, range.high) - range.low;
      to[x] = static_cast<Value>(static_cast<int>(value * factor + half_and_a_bit));
    }
  }
}

int span(const ValueRange& range) {
  return range.high - range.low;
}

// The highest value of as many bits, 8 to 16, as this one needs.
int highest_of_bits(int value) {
  return (1 << std::max(static_cast<int>(std::bit_width(static_cast<unsigned>(value))), 8)) - 1;
}

// Whether values are those of a thermal camera, which hardly differ.
bool is_far_from_0(const ValueRange& range) {
  return 8 * span(range) < highest_of_bits(range.high);
}

// The range of all values of as many bits as the values need, from 0 or, where they are far from 0, from the lowest
// value; or the values themselves, if they are few of those.
ValueRange whole_bits(const ValueRange& range) {
  if (!is_far_from_0(range)) return {0, highest_of_bits(range.high)};
  const int most = highest_of_bits(span(range));
  return 4 * span(range) < 3 * most ? range : ValueRange{range.low, range.low + most};
}

}  // namespace

void ValueHistogram::add(const ImageView& image, const View<const std::uint8_t>& mask) {
  check_image("image", image);
  if (image.format.depth != BitDepth::bits16) refuse("the image has 8 bits: give one of 16 bits");
  check_mask("mask", mask, image.format.size);
  const auto [width, height] = image.format.size;
  for (int y = 0; y < height; ++y) {
    const auto* values = static_cast<const std::uint16_t*>(image.row(y));
    for (int x = 0; x < width; ++x, values += image.channels)
      if (mask.empty() || mask.at(x, y) != 0)
        for (int channel = 0; channel < image.channels; ++channel) ++counts_[values[channel]];
  }
}

ValueRange ValueHistogram::range(int zero) const {
  constexpr std::uint64_t share = 1000;
  const std::uint64_t total = std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
  const auto from_zero = [&](ValueRange range) {
    const int first = range.low < zero ? 0 : zero;
    return ValueRange{range.low - first, range.high - first};
  };
  ValueRange range = range_without(0, counts_);
  const ValueRange most = range_without(total / share, counts_);
  if (is_far_from_0(from_zero(most)) && 2 * span(most) < span(range)) range = most;
  if (range.low >= range.high) return {};
  if (range.low < zero) zero = 0;
  const ValueRange bits = whole_bits(from_zero(range));
  const int beyond = std::max(bits.high + zero - 65535, 0);
  return {bits.low + zero - beyond, bits.high + zero - beyond};
}

ValueRange find_value_range(const StereoPair& pair) {
  check_image("left", pair.left);
  check_image("right", pair.right);
  if (pair.left.format.depth != pair.right.format.depth)
    refuse("left and right differ in depth: give images of one depth");
  if (pair.left.format.depth == BitDepth::bits8) return {0, 255};
  ValueHistogram histogram;
  histogram.add(pair.left, pair.left_mask);
  histogram.add(pair.right, pair.right_mask);
  return histogram.range();
}

void stretch(const ImageView& image, const ValueRange& range, const ImageOutput& stretched) {
  const DefaultFloatingPoint environment;
  check_image("image", image);
  check_image("stretched image", stretched);
  if (stretched.format != image.format || stretched.channels != image.channels)
    refuse("the stretched image differs from the image: give one of its size, depth and channels");
  if (image.format.depth == BitDepth::bits8)
    stretch_rows<std::uint8_t>(image, range, stretched);
  else
    stretch_rows<std::uint16_t>(image, range, stretched);
}

}  // namespace parallax
