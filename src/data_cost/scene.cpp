// SPDX-License-Identifier: Apache-2.0
#include "data_cost/scene.h"

#include <cmath>
#include <limits>
#include <string>

#include "core/checks.h"

namespace parallax::data_cost {

void check_without_rows(const CostModel& model) {
  if (!model.space().is_flat())
    refuse("row_tolerance", model.row_offsets / 2, "0: a map of disparities alone has no energy with it");
}

Scene::Scene(const CostModel& model, const StereoPair& pair)
    : model_(model), size_(pair.left.format.size), costs_(model, size_) {
  check_image("left image", pair.left);
  check_image("right image", pair.right);
  check_size(size_);
  if (pair.right.format != pair.left.format)
    throw Error(ErrorCategory::argument, "the images differ in size or depth: give a pair of one format");
  check_mask("left mask", pair.left_mask, size_);
  check_mask("right mask", pair.right_mask, size_);
  if (model.cost == DataCost::volume &&
      (pair.costs.data == nullptr || pair.costs.size != size_ || pair.costs.labels != model.labels))
    throw Error(ErrorCategory::argument, "data costs are missing or of another size: give " + text(size_) +
                                             " with " + std::to_string(model.labels) + " labels");
  costs_.reserve(arena_);
  arena_.allocate();
  costs_.reserve(arena_);
  costs_.prepare(pair, false);
}

std::vector<float> Scene::volume() const {
  std::vector<float> volume;
  volume.reserve(size_.pixels() * to_size(model_.labels));
  for (int y = 0; y < size_.height; ++y)
    for (int x = 0; x < size_.width; ++x)
      for (int label = 0; label < model_.labels; ++label) volume.push_back(costs_.at(x, y, label));
  return volume;
}

void Scene::check_disparity(View<const float> disparity) const {
  check_view("disparity map", disparity, size_);
}

int Scene::label(float disparity) const {
  if (disparity == std::numeric_limits<float>::infinity()) return none;
  const float nearest = std::ceil(disparity - 0.5f) - static_cast<float>(model_.min_disparity);
  if (!(nearest >= 0 && nearest < static_cast<float>(model_.labels)))
    refuse("disparity", disparity, "a map whose values are in the range searched");
  return static_cast<int>(nearest);
}

}  // namespace parallax::data_cost
