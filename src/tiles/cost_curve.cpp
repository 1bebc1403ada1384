// SPDX-License-Identifier: Apache-2.0
#include "parallax/cost_curve.h"

#include <algorithm>

#include "parallax/margins.h"
#include "parallax/tiles.h"

#include "core/checks.h"
#include "core/floating_point.h"
#include "core/plan.h"
#include "matchers/planning.h"

namespace parallax {
namespace {

// Padding of the surrounding image for totals.
constexpr int padding = 48;

// The columns or rows around one of them.
struct Extent {
  int first, count;
};

Extent extent_around(int position, int before, int after, int alignment, int size) {
  const int first = std::max(0, position - before) / alignment * alignment;
  return {first, std::min(size, position + after + 1) - first};
}

ImageView part(const ImageView& image, const Rectangle& region) {
  const std::ptrdiff_t pixel_bytes = image.channels * static_cast<int>(image.format.depth) / 8;
  ImageView part = image;
  part.data = static_cast<const std::byte*>(image.row(region.y)) + region.x * pixel_bytes;
  part.format.size = region.size;
  return part;
}

View<const std::uint8_t> part(View<const std::uint8_t> mask, const Rectangle& region) {
  if (mask.empty()) return mask;
  return {mask.row(region.y) + region.x, region.size, mask.stride_bytes};
}

// No refinement after the match.
RefineParameters no_steps() {
  RefineParameters steps;
  steps.left_right_check = false;
  steps.speckle_size = 0;
  steps.fill = Fill::none;
  steps.median = 0;
  return steps;
}

void check_images(const StereoPair& pair) {
  check_image("left image", pair.left);
  check_image("right image", pair.right);
  if (pair.right.format != pair.left.format)
    throw Error(ErrorCategory::argument,
                "the right image has another size or depth than the left one: give images of one format");
  check_mask("left mask", pair.left_mask, pair.left.format.size);
  check_mask("right mask", pair.right_mask, pair.left.format.size);
}

// Keeps, for each disparity, the row offset with the lowest total.
void keep_best_row_offsets(CostCurve& curve, std::size_t disparities) {
  const std::size_t labels = curve.data_costs.size();
  for (std::size_t label = disparities; label < labels && curve.totals.size() == labels; ++label) {
    const std::size_t d = label % disparities;
    if (curve.totals[label] >= curve.totals[d]) continue;
    curve.totals[d] = curve.totals[label];
    curve.data_costs[d] = curve.data_costs[label];
  }
  curve.data_costs.resize(std::min(labels, disparities));
  curve.totals.resize(std::min(curve.totals.size(), disparities));
}

}  // namespace

CostCurve cost_curve(const MatcherParameters& given, const StereoPair& pair, int x, int y) {
  const DefaultFloatingPoint environment;
  MatcherParameters parameters = given;
  parameters.refine() = no_steps();
  const ImageFormat& format = pair.left.format;
  const Margins around = margins(parameters, format, padding);
  check_images(pair);
  check_range("x", x, 0, format.size.width - 1);
  check_range("y", y, 0, format.size.height - 1);
  const Extent columns = extent_around(x, around.left, around.right, around.alignment, format.size.width),
               rows = extent_around(y, around.top, around.bottom, around.alignment, format.size.height);
  const Rectangle region{columns.first, rows.first, {columns.count, rows.count}};
  const ImageFormat part_format{region.size, format.depth};
  const std::unique_ptr<detail::Plan> plan =
      detail::make_plan(parameters, Device{DeviceKind::reference}, part_format, {});
  detail::allocate(*plan, {});
  Plane<float> disparity(region.size);
  Plane<std::uint8_t> status(region.size);
  const StereoPair surroundings{part(pair.left, region), part(pair.right, region),
                                part(pair.left_mask, region), part(pair.right_mask, region)};
  const DisparityMap map{disparity.view(), status.view()};
  detail::check_run(*plan, part_format, surroundings, map);
  plan->run(surroundings, map);
  CostCurve curve = plan->cost_curve(x - region.x, y - region.y);
  if (curve.data_costs.empty())
    throw Error(ErrorCategory::argument,
                "method " + method_name(parameters) +
                    " has no cost curve: choose a method for stereo pairs, such as bp");
  keep_best_row_offsets(curve, static_cast<std::size_t>(parameters.disparities()));
  curve.min_disparity = parameters.min_disparity();
  return curve;
}

}  // namespace parallax
