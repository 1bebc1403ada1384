// SPDX-License-Identifier: Apache-2.0
#include "data_cost/cuda_images.h"

#include "core/integers.h"
#include "devices/cuda/kernel_sources.h"
#include "devices/cuda/plan.h"

namespace parallax::data_cost {
namespace {

using cuda::Shape;
using cuda::StreamHandle;

constexpr unsigned block_threads = 128, census_rows = 4;

}  // namespace

CudaImages::CudaImages(const CostModel& model, const ImageFormat& format, bool both, ArenaLayout& layout,
                       bool at_once)
    : model_(model),
      format_(format),
      at_once_(both && at_once),
      weights_(smoothing_weights(model.smoothing)),
      stride_(round_up(format.size.width, 64)),
      validity_words_(divide_round_up(format.size.width, 32)) {
  const auto rows = to_size(format.size.height);
  const auto plane = rows * to_size(stride_);
  const auto all_planes = plane * to_size(planes());
  for (Pair& pair : pairs_) {
    if (&pair == &pairs_[mirrored] && !both) break;
    for (int side = 0; side < 2; ++side) {
      pair.samples[side] = layout.reserve<std::uint16_t>(all_planes);
      pair.validity[side] = layout.reserve<std::uint32_t>(rows * to_size(validity_words_));
    }
  }
  for (Inputs& inputs : inputs_) {
    if (&inputs == &inputs_[mirrored] && !at_once) {
      inputs = inputs_[as_it_is];
      break;
    }
    inputs.from_start = layout.reserve<std::uint8_t>(plane);
    for (auto& buffer : inputs.features) buffer = layout.reserve<std::byte>(plane * feature_bytes());
  }
  if (smooths())
    for (auto& buffer : half_smoothed_) buffer = layout.reserve<std::uint16_t>(all_planes);
  smoothing_ = layout.reserve<std::uint32_t>(weights_.size());
  cost_table_ = layout.reserve<float>(cost_table_size);
}

std::size_t CudaImages::feature_bytes() const {
  switch (model_.cost) {
    case DataCost::census:
      return sizeof(std::uint64_t);
    case DataCost::census_centre_symmetric:
    case DataCost::birchfield_tomasi:
      return sizeof(std::uint32_t);
    case DataCost::gradient_birchfield_tomasi:
      return sizeof(CudaGradient);
    default:
      return 0;
  }
}

bool CudaImages::integer_differences() const {
  return model_.cost == DataCost::census || model_.cost == DataCost::census_centre_symmetric ||
         model_.cost == DataCost::mean_absolute_difference ||
         (model_.cost == DataCost::absolute_difference && !smooths() && format_.depth == BitDepth::bits8);
}

void CudaImages::prepare(const cuda::SharedContext& context, std::byte* memory, StreamHandle stream) {
  memory_ = memory;
  program_ =
      cuda::Program(context, cuda::data_cost_images_cu,
                    {cuda::define("CENSUS_BLOCK", block_threads), cuda::define("CENSUS_ROWS", census_rows),
                     cuda::define("CENSUS_TOLERANCE", model_.census_tolerance * per_level)});
  take_ = program_.kernel("take");
  halve_ = program_.kernel("halve");
  mirror_ = program_.kernel("mirror");
  smooth_ = program_.kernel("smooth");
  census_ = program_.kernel("census");
  census_of_opposites_ = program_.kernel("census_of_opposites");
  half_pixel_range_ = program_.kernel("half_pixel_range");
  gradients_ = program_.kernel("gradients");
  cuda::upload(weights_, at(smoothing_), stream);
  std::vector<float> table;
  for (int level = 0; level < cost_table_size; ++level) table.push_back(model_.data_cost(level * per_level));
  cuda::upload(table, at(cost_table_), stream);
}

CudaSamples CudaImages::samples(const Buffer<std::uint16_t> (&buffers)[2]) const {
  const Size size = format_.size;
  return {.left = at(buffers[0]),
          .right = at(buffers[1]),
          .width = size.width,
          .height = size.height,
          .stride = stride_,
          .planes = planes(),
          .plane = static_cast<long long>(stride_) * size.height};
}

CudaValidity CudaImages::validity(Which which) const {
  return {at(pairs_[which].validity[0]), at(pairs_[which].validity[1]), validity_words_};
}

View<const std::uint16_t> CudaImages::gray(Which which) const {
  const std::int64_t plane = static_cast<std::int64_t>(stride_) * format_.size.height;
  return {at(pairs_[which].samples[0]) + (planes() - 1) * plane, format_.size,
          stride_ * static_cast<std::ptrdiff_t>(sizeof(std::uint16_t))};
}

CudaCosts CudaImages::costs(Which which, const float* volume) const {
  return {.samples = samples(which),
          .left_features = at(inputs_[which].features[0]),
          .right_features = at(inputs_[which].features[1]),
          .validity = validity(which),
          .table = at(cost_table_),
          .volume = volume,
          .volume_row_stride = static_cast<long long>(format_.size.width) * model_.labels,
          .min_disparity = model_.min_disparity,
          .differences = model_.differences,
          .cost_scale = model_.cost_scale,
          .outside = model_.outside,
          .volume_scale = model_.volume_scale,
          .volume_limit = model_.volume_limit,
          .mirrored = which == mirrored,
          .frame = model_.frame,
          .status = from_start(which)};
}

void CudaImages::take(const StereoPair& pair, cuda::ChangingLaunches& launches) const {
  constexpr std::size_t pixels_a_thread = 4;
  take_.launch(launches, cuda::grid_of_rows(format_.size, block_threads * pixels_a_thread, 2),
               {block_threads}, 0, cuda::kernel_image(pair.left), cuda::kernel_image(pair.right),
               cuda::kernel_mask(pair.left_mask), cuda::kernel_mask(pair.right_mask), samples(as_it_is),
               validity(as_it_is));
}

void CudaImages::halve(const CudaImages& finer, StreamHandle stream) const {
  halve_.launch(stream, cuda::grid_of_rows(format_.size, block_threads, 2), {block_threads}, 0,
                finer.samples(as_it_is), finer.validity(as_it_is), samples(as_it_is), validity(as_it_is));
}

void CudaImages::mirror(StreamHandle stream) const {
  mirror_.launch(stream, cuda::grid_of_rows(format_.size, block_threads, 2), {block_threads}, 0,
                 samples(as_it_is), validity(as_it_is), samples(mirrored), validity(mirrored));
}

void CudaImages::find_features(Which which, StreamHandle stream) const {
  const auto launch = [&](const cuda::Kernel& kernel, Shape grid) {
    kernel.launch(stream, grid, {block_threads}, 0, samples(which), at(inputs_[which].features[0]),
                  at(inputs_[which].features[1]));
  };
  const Shape pixels = cuda::grid_of_rows(format_.size, block_threads, 2);
  if (model_.cost == DataCost::census && !(at_once_ && which == mirrored)) find_census(which, stream);
  if (model_.cost == DataCost::census_centre_symmetric) launch(census_of_opposites_, census_grid());
  if (model_.cost == DataCost::birchfield_tomasi) launch(half_pixel_range_, pixels);
  if (model_.cost == DataCost::gradient_birchfield_tomasi) launch(gradients_, pixels);
}

Shape CudaImages::census_grid() const {
  return {cuda::blocks(format_.size.height, census_rows), cuda::blocks(format_.size.width, block_threads), 2};
}

void CudaImages::find_census(const CudaSamples& images, std::uint64_t* left, std::uint64_t* right,
                             StreamHandle stream) const {
  std::uint64_t* const none = nullptr;
  Shape grid = census_grid();
  if (right == nullptr) grid.z = 1;
  census_.launch(stream, grid, {block_threads}, 0, images, left, right, none, none);
}

// If both pairs are used at the same time, computes the mirrored pair's signatures, too.
void CudaImages::find_census(Which which, StreamHandle stream) const {
  const auto signatures = [&](Which of, int side) {
    return reinterpret_cast<std::uint64_t*>(at(inputs_[of].features[side]));
  };
  std::uint64_t* const none = nullptr;
  census_.launch(stream, census_grid(), {block_threads}, 0, samples(which), signatures(which, 0),
                 signatures(which, 1), at_once_ ? signatures(mirrored, 0) : none,
                 at_once_ ? signatures(mirrored, 1) : none);
}

void CudaImages::smooth(StreamHandle stream) const {
  if (!smooths()) return;
  const auto radius = static_cast<int>(weights_.size()) - 1;
  const Shape grid = cuda::grid_of_rows(format_.size, block_threads, 2 * static_cast<unsigned>(planes()));
  smooth_.launch(stream, grid, {block_threads}, 0, samples(as_it_is), samples(half_smoothed_), at(smoothing_),
                 radius, 0);
  smooth_.launch(stream, grid, {block_threads}, 0, samples(half_smoothed_), samples(as_it_is), at(smoothing_),
                 radius, 1);
}

}  // namespace parallax::data_cost
