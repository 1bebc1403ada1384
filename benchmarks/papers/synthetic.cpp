// SPDX-License-Identifier: Apache-2.0
#include <charconv>

#include "parallax/synth.h"

#include "benchmarks/papers/data.h"

namespace parallax::tool {
namespace {

constexpr std::string_view prefix = "synthetic ";

Size size_in(const std::string& pair) {
  Size size;
  const char *begin = pair.data() + prefix.size(), *end = pair.data() + pair.size();
  const char* cross = std::from_chars(begin, end, size.width).ptr;
  std::from_chars(cross + 1, end, size.height);
  return size;
}

Plane<std::uint8_t> gray(const Plane<std::uint8_t>& rgb) {
  Plane<std::uint8_t> plane({rgb.width() / 3, rgb.height()});
  for (int y = 0; y < plane.height(); ++y)
    for (int x = 0; x < plane.width(); ++x) {
      const std::uint8_t* pixel = rgb.row(y) + 3 * x;
      plane.at(x, y) = gray_of(pixel[0], pixel[1], pixel[2]);
    }
  return plane;
}

}  // namespace

bool is_synthetic(const std::string& pair) {
  return pair.starts_with(prefix);
}

PapersImages synthetic_images(const std::string& pair) {
  SynthParameters parameters;
  parameters.size = size_in(pair);
  parameters.disparities = 60;
  SynthPair rendered = synthesize(parameters);
  return {gray(rendered.left), gray(rendered.right), std::move(rendered.left_truth)};
}

}  // namespace parallax::tool
