// SPDX-License-Identifier: Apache-2.0
#include "matchers/motion/motion.h"

#include <algorithm>
#include <string>

#include "core/checks.h"
#include "core/search_reach.h"

namespace parallax::motion {
namespace {

// The coarsest scale considers all labels: no more than these on each axis, unless its image is small.
constexpr int max_coarse_labels = 17, smallest_side = 16;

LabelSpace label_space(const MotionParameters& p) {
  return {{p.min_disparity, p.min_row_offset}, {p.disparities, p.row_offsets}};
}

LabelSpace halved(const LabelSpace& labels) {
  // Shifts round down.
  const Offset first{labels.first.x >> 1, labels.first.y >> 1},
      last{(labels.last().x + 1) >> 1, (labels.last().y + 1) >> 1};
  return {first, {last.x - first.x + 1, last.y - first.y + 1}};
}

}  // namespace

Model make_model(const MotionParameters& p) {
  Model model = {};
  model.parameters = p;
  model.cost = p.cost;
  model.min_disparity = p.min_disparity;
  model.labels = p.disparities * p.row_offsets;
  model.min_row_offset = p.min_row_offset;
  model.row_offsets = p.row_offsets;
  model.smoothing = p.smoothing;
  model.differences = data_cost::highest_counted(p.cost, p.data_truncation);
  model.has_outside = true;
  model.integer = p.arithmetic != Arithmetic::float32;
  model.bound = p.arithmetic == Arithmetic::fixed8 ? 31 : 4095;
  model.scale = model.integer ? static_cast<float>(model.bound) / p.discontinuity_truncation : 1.0f;
  model.cost_scale = p.data_weight * model.scale / data_cost::per_level;
  model.outside = model.rounded(p.outside_cost * model.scale);
  model.prediction_weight = p.prediction_weight * model.scale;
  for (int difference = 0; difference < static_cast<int>(data_cost::edge_table_size); ++difference) {
    const double weight = data_cost::edge_weight(difference, p.edge_contrast, p.edge_floor);
    const float slope = model.rounded(static_cast<float>(weight) * model.scale);
    model.truncations.push_back(
        model.rounded(static_cast<float>(weight) * p.discontinuity_truncation * model.scale));
    // At least one unit, because with 0 a message would say nothing; above the bound, a higher slope has no
    // effect.
    model.slopes.push_back(model.integer ? std::clamp(slope, 1.0f, static_cast<float>(model.bound)) : slope);
  }
  if (model.integer) data_cost::check_integers(model, p.discontinuity_truncation);
  return model;
}

void check_reachable(const LabelSpace& labels, Size size) {
  parallax::check_reachable(labels.first.x, labels.extent.width, size.width);
  if (labels.first.y < size.height && labels.last().y > -size.height) return;
  refuse("row offsets " + std::to_string(labels.first.y) + " to " + std::to_string(labels.last().y) +
         " lie outside an image " + std::to_string(size.height) +
         " pixels high at every pixel: choose min_row_offset and row_offsets within its height");
}

Margins margins(const MotionParameters& p, const ImageFormat& format, int padding) {
  const Size size = format.size;
  const Model model = make_model(p);
  check_reachable(model.space(), size);
  Margins margins = data_cost::margins(model, size, p.refine.left_right_check, padding);
  const SearchReach rows =
      search_reach(-model.space().last().y, -model.space().first.y, size.height, p.refine.left_right_check);
  margins.top += rows.left;
  margins.bottom += rows.right;
  // Tiles begin at multiples of two pixels of the coarsest scale's coarsest level, so that their scales and
  // levels are parts of the image's, with the same checkerboard colours.
  const std::vector<Scale> all = scales(p, size);
  margins.alignment = 1 << (all.size() - 1 + level_sizes(all.back().size, p.levels).size());
  return margins;
}

MotionParameters reversed(MotionParameters parameters) {
  const LabelSpace labels = label_space(parameters).reversed();
  parameters.min_disparity = labels.first.x;
  parameters.min_row_offset = labels.first.y;
  return parameters;
}

std::vector<Scale> scales(const MotionParameters& p, Size size) {
  LabelSpace labels = label_space(p);
  std::vector<Scale> scales;
  const auto window = [&] {
    return Size{std::min(p.active_window, labels.extent.width),
                std::min(p.active_window, labels.extent.height)};
  };
  while (p.active_window > 0 && std::max(labels.extent.width, labels.extent.height) > max_coarse_labels &&
         std::max(size.width, size.height) > smallest_side) {
    scales.push_back({size, labels, window()});
    labels = halved(labels);
    size = data_cost::halved(size);
  }
  scales.push_back({size, labels, labels.extent});
  return scales;
}

Offset nearest(const LabelSpace& labels, Offset offset) {
  return {std::clamp(offset.x, labels.first.x, labels.last().x),
          std::clamp(offset.y, labels.first.y, labels.last().y)};
}

Offset window_first(const Scale& scale, Offset prediction) {
  const LabelSpace starts{scale.labels.first,
                          {scale.labels.extent.width - scale.window.width + 1,
                           scale.labels.extent.height - scale.window.height + 1}};
  return nearest(starts, {prediction.x - scale.window.width / 2, prediction.y - scale.window.height / 2});
}

}  // namespace parallax::motion
