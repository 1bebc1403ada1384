// SPDX-License-Identifier: Apache-2.0
#include "refine/planes.h"

#include "core/checks.h"
#include "core/floating_point.h"
#include "devices/program.h"
#include "refine/refine.h"

namespace parallax {
namespace refine {
namespace {

template <class Value>
void take(const Value* from, int channels, int step, int count, std::uint8_t* const to[3]) {
  constexpr int dropped_bits = 8 * sizeof(Value) - 8;
  const int second = channels == 3 ? 1 : 0, third = channels == 3 ? 2 : 0;
  for (int i = 0; i < count; ++i, from += step * channels) {
    to[0][i] = static_cast<std::uint8_t>(from[0] >> dropped_bits);
    to[1][i] = static_cast<std::uint8_t>(from[second] >> dropped_bits);
    to[2][i] = static_cast<std::uint8_t>(from[third] >> dropped_bits);
  }
}

}  // namespace

void take_colours(const ImageView& image, int x, int y, int step, int count,
                  std::uint8_t* const channels[3]) {
  const int first = x * image.channels;
  if (image.format.depth == BitDepth::bits8)
    take(static_cast<const std::uint8_t*>(image.row(y)) + first, image.channels, step, count, channels);
  else
    take(static_cast<const std::uint16_t*>(image.row(y)) + first, image.channels, step, count, channels);
}

std::vector<std::string> plane_definitions() {
  using gpu::define;
  return {define("CELL_SIDE", cell_side),
          define("SAMPLE_STEP", sample_step),
          define("COLOUR_WEIGHT", colour_weight),
          define("FARTHEST", farthest),
          define("PLANE_UNIT", plane_unit),
          define("LARGEST", largest),
          define("WIDEST_TOLERANCE", plane_tolerances[0]),
          define("LEAST_SAMPLES", min_samples),
          define("SAMPLES_PER_VALUE", samples_per_value),
          define("NEAR_VALUES", near_values),
          define("OF_VALUES", of_values)};
}

}  // namespace refine

void fill_planes(const DisparityMap& map, const ImageView& guide, int threads) {
  const DefaultFloatingPoint environment;
  check_map(map);
  refine::check_bordered(map.disparity);
  refine::check_guide(guide, map.disparity.size);
  const Workers workers = refine::checked_workers(threads);
  Arena arena;
  refine::PlaneFill(map.disparity.size, arena);
  arena.allocate();
  refine::fill_planes(map, guide, refine::PlaneFill(map.disparity.size, arena), workers);
}

}  // namespace parallax
