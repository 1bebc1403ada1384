// SPDX-License-Identifier: Apache-2.0
#include "refine/cuda_vectors.h"

#include "devices/cuda/kernel_sources.h"
#include "devices/cuda/plan.h"
#include "refine/refit_vectors.h"

namespace parallax::refine {
namespace {

using cuda::Shape;
using cuda::StreamHandle;

constexpr unsigned pixel_threads = 128;

// One thread per pixel.
Shape pixels_of(Size size) {
  return {static_cast<unsigned>(size.height), cuda::blocks(width_of(size), pixel_threads)};
}

RefineParameters only_medians(const RefineParameters& given) {
  RefineParameters parameters = given;
  parameters.left_right_check = false;
  parameters.refit = 0;
  parameters.fill = Fill::none;
  return parameters;
}

CudaVectors vectors(const DisparityMap& map) {
  return {map.disparity.data, map.row_offset.data, map.status.data, map.disparity.stride(),
          map.status.stride()};
}

}  // namespace

CudaVectorPipeline::CudaVectorPipeline(const RefineParameters& parameters, const ImageFormat& format,
                                       ArenaLayout& layout)
    : parameters_(parameters), size_(format.size), medians_(only_medians(parameters), format, layout) {
  if (refits()) {
    for (auto& plane : gray_) plane = layout.reserve_plane<std::uint8_t>(size_);
    shifts_ = layout.reserve_plane<CudaShift>(size_);
  }
  if (fills())
    for (auto& plane : candidates_) plane = layout.reserve_plane<float>(size_);
}

void CudaVectorPipeline::prepare(const cuda::SharedContext& context, std::byte* memory, StreamHandle stream) {
  memory_ = memory;
  medians_.prepare(context, memory, stream);
  if (refits()) {
    gray_program_ = cuda::Program(context, cuda::refine_kernels_cu, CudaPipeline::options());
    take_gray_ = gray_program_.kernel("take_guide");
  }
  if (!refits() && !fills() && !parameters_.left_right_check) return;
  program_ = cuda::Program(context, cuda::refine_vectors_cu,
                           {cuda::define("WINDOW", parameters_.refit),
                            cuda::define("STIFFNESS", static_cast<int>(refit_stiffness)),
                            cuda::define("UNUSABLE", Shifts::unusable), cuda::define("REACH", fill_reach)});
  check_ = program_.kernel("check_vectors");
  find_shifts_ = program_.kernel("find_shifts");
  refit_ = program_.kernel("refit_vectors");
  fill_ = program_.kernel("fill_vectors");
  copy_ = program_.kernel("copy_vectors");
}

void CudaVectorPipeline::take(const StereoPair& pair, cuda::ChangingLaunches& launches) const {
  medians_.take(pair, launches);
  if (!refits()) return;
  std::uint32_t* const no_colours = nullptr;
  for (int side = 0; side < 2; ++side) {
    const View<std::uint8_t> gray = gray_[side].in(memory_);
    take_gray_.launch(launches, pixels_of(size_), {pixel_threads}, 0,
                      cuda::kernel_image(side == 0 ? pair.left : pair.right), size_.width, gray.data,
                      static_cast<int>(gray.stride()), no_colours, 0);
  }
}

void CudaVectorPipeline::enqueue(const DisparityMap& map, const RightMap& right, StreamHandle stream) const {
  if (parameters_.left_right_check) check(map, right, stream);
  if (refits()) refit(map, stream);
  if (fills()) fill(map, stream);
  for (const View<float> component : {map.disparity, map.row_offset})
    medians_.enqueue({component, map.status}, {}, stream);
}

void CudaVectorPipeline::check(const DisparityMap& map, const RightMap& right, StreamHandle stream) const {
  check_.launch(stream, pixels_of(size_), {pixel_threads}, 0, vectors(map), right.disparity.data,
                right.row_offset.data, static_cast<long long>(right.disparity.stride()), size_.width,
                size_.height, parameters_.left_right_tolerance);
}

void CudaVectorPipeline::refit(const DisparityMap& map, StreamHandle stream) const {
  const View<std::uint8_t> left = gray_[0].in(memory_), right = gray_[1].in(memory_);
  const View<CudaShift> shifts = shifts_.in(memory_);
  const CudaVectorRefit refit{.map = vectors(map),
                              .left = left.data,
                              .right = right.data,
                              .shifts = shifts.data,
                              .gray_stride = static_cast<int>(left.stride()),
                              .shift_stride = static_cast<int>(shifts.stride()),
                              .width = size_.width,
                              .height = size_.height};
  find_shifts_.launch(stream, pixels_of(size_), {pixel_threads}, 0, refit);
  refit_.launch(stream, pixels_of(size_), {pixel_threads}, 0, refit);
}

void CudaVectorPipeline::fill(const DisparityMap& map, StreamHandle stream) const {
  const View<float> disparity = candidates_[0].in(memory_), row_offset = candidates_[1].in(memory_);
  const CudaVectors before{disparity.data, row_offset.data, nullptr, disparity.stride(), 0};
  copy_.launch(stream, pixels_of(size_), {pixel_threads}, 0, vectors(map), before, size_.width);
  fill_.launch(stream, pixels_of(size_), {pixel_threads}, 0, before, vectors(map), size_.width, size_.height);
}

}  // namespace parallax::refine
