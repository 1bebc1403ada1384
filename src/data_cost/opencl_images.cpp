// SPDX-License-Identifier: Apache-2.0
#include "data_cost/opencl_images.h"

#include "core/integers.h"
#include "devices/opencl/kernel_sources.h"
#include "devices/opencl/plan.h"

namespace parallax::data_cost {
namespace {

using opencl::define;
using opencl::groups_for;
using opencl::Shape;

constexpr std::size_t group_pixels = 64;

}  // namespace

OpenclImages::OpenclImages(const CostModel& model, const ImageFormat& format, Rows rows, ArenaLayout& layout)
    : model_(model), format_(format), rows_(rows), weights_(smoothing_weights(model.smoothing)) {
  const auto reserve = [&](std::size_t bytes) { return opencl::offset(layout.reserve<std::byte>(bytes)); };
  const auto height = to_size(format.size.height);
  inputs_.width = format.size.width;
  inputs_.height = format.size.height;
  inputs_.stride = round_up(format.size.width, 64);
  inputs_.planes = is_colour() ? 4 : 1;
  inputs_.radius = static_cast<int>(weights_.size()) - 1;
  inputs_.weights = reserve(weights_.size() * sizeof(cl_uint));
  const std::size_t plane = height * to_size(inputs_.stride),
                    samples = plane * to_size(inputs_.planes) * sizeof(cl_ushort);
  inputs_.feature_stride =
      round_up(divide_round_up(format.size.width, rows.parts), rows.around) + 2 * rows.around;
  const std::size_t features = to_size(rows.parts) * height * to_size(inputs_.feature_stride);
  for (int side = 0; side < 2; ++side) {
    inputs_.samples[side] = reserve(samples);
    if (smooths()) inputs_.half_smoothed[side] = reserve(samples);
  }
  start_of_pair_ = layout.bytes();
  for (int side = 0; side < 2; ++side) {
    inputs_.features[side] = reserve(features * to_size(feature_planes()) * feature_bytes()) +
                             rows.around * static_cast<cl_long>(feature_bytes());
    inputs_.validity[side] = reserve(features) + rows.around;
  }
  inputs_.gray = reserve(plane * sizeof(cl_ushort));
  inputs_.status = reserve(plane);
}

int OpenclImages::feature_planes() const {
  switch (model_.cost) {
    case DataCost::absolute_difference_colour:
    case DataCost::birchfield_tomasi:
      return 3;
    case DataCost::gradient_birchfield_tomasi:
      return 6;
    default:
      return 1;
  }
}

std::size_t OpenclImages::feature_bytes() const {
  return model_.cost == DataCost::census                    ? sizeof(cl_ulong)
         : model_.cost == DataCost::census_centre_symmetric ? sizeof(cl_uint)
                                                            : sizeof(cl_ushort);
}

const char* OpenclImages::feature_type() const {
  return feature_bytes() == sizeof(cl_ulong)  ? "ulong"
         : feature_bytes() == sizeof(cl_uint) ? "uint"
                                              : "ushort";
}

opencl::Options OpenclImages::options() const {
  return {define("COST", model_.cost), define("FEATURE_PLANES", feature_planes()),
          define("PARTS", rows_.parts), define("FEATURE", feature_type())};
}

void OpenclImages::prepare(const opencl::Context& context, const opencl::Queue& queue, cl_mem memory) {
  memory_ = memory;
  lanes_ = context.info().is_processor ? 64 : 4;
  items_ = context.info().is_processor ? 1 : 32;
  opencl::Options all = options();
  all.push_back(define("SAMPLE", format_.depth == BitDepth::bits16 ? "ushort" : "uchar"));
  all.push_back(define("LANES", lanes_));
  all.push_back(define("CENSUS_TOLERANCE", model_.census_tolerance * per_level));
  program_ = opencl::Program(
      context, {opencl::data_cost_types_cl, opencl::data_cost_features_cl, opencl::data_cost_images_cl}, all);
  take_ = program_.kernel("take");
  smooth_ = program_.kernel("smooth");
  find_inputs_ = program_.kernel("find_inputs");
  opencl::write(queue, memory, inputs_.weights, weights_.size() * sizeof(cl_uint), weights_.data());
}

// One work item for each pixel.
Shape OpenclImages::groups_of(std::size_t deep) const {
  return {groups_for(inputs_.width, group_pixels), to_size(inputs_.height), deep};
}

void OpenclImages::take(const opencl::Pair& pair, opencl::Queue& queue) const {
  take_.launch(queue, groups_of(2), {group_pixels}, memory_, pair, inputs_);
  for (cl_int down = 0; smooths() && down < 2; ++down)
    smooth_.launch(queue, groups_of(2 * to_size(inputs_.planes)), {group_pixels}, memory_, inputs_, down);
}

void OpenclImages::find_inputs(const opencl::Pair& pair, int first, int count, opencl::Queue& queue) {
  inputs_.mirrored = first;
  find_inputs_.launch(
      queue, {groups_for(inputs_.width, lanes_ * items_), to_size(inputs_.height), to_size(2 * count)},
      {items_}, memory_, pair, inputs_, first);
}

int OpenclImages::cost_of_a_bit() const {
  if (model_.cost != DataCost::census && model_.cost != DataCost::census_centre_symmetric) return 0;
  const float cost = model_.data_cost(per_level);
  const int highest = highest_counted(model_.cost, 0) / per_level;
  for (int i = 0; i <= highest; ++i)
    if (model_.data_cost(i * per_level) != static_cast<float>(i) * cost) return 0;
  return static_cast<int>(cost);
}

OpenclCosts OpenclImages::costs(const opencl::Pair& pair) const {
  return {.min_disparity = model_.min_disparity,
          .differences = model_.differences,
          .scale = model_.cost_scale,
          .per_bit = cost_of_a_bit(),
          .has_outside = model_.has_outside ? 1 : 0,
          .outside = model_.outside,
          .volume = pair.costs,
          .volume_scale = model_.volume_scale,
          .volume_limit = model_.volume_limit};
}

}  // namespace parallax::data_cost
