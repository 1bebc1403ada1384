// SPDX-License-Identifier: Apache-2.0
// The steps of vectors.h on a GPU, in the memory and on the stream of a plan.
#pragma once

#include <optional>

#include "devices/cuda/program.h"
#include "refine/cuda_pipeline.h"
#include "refine/vectors.h"

namespace parallax::refine {

class CudaVectorPipeline {
 public:
  // `format`: format of the pair.
  CudaVectorPipeline(const RefineParameters& parameters, const ImageFormat& format, ArenaLayout& layout);

  // Loads the kernels; `memory` is the arena with the reserved layout.
  void prepare(const cuda::SharedContext& context, std::byte* memory, cuda::StreamHandle stream);
  // Enqueues the reads of gray levels for the steps, in memory that the GPU reaches.
  void take(const StereoPair& pair, cuda::ChangingLaunches& launches) const;
  // After take(): enqueues all requested steps, in their order, on a map on the device; `right` is empty
  // unless maps are checked against each other.
  void enqueue(const DisparityMap& map, const RightMap& right, cuda::StreamHandle stream) const;

 private:
  bool fills() const { return parameters_.fill != Fill::none; }
  bool refits() const { return parameters_.refit > 0; }

  void check(const DisparityMap& map, const RightMap& right, cuda::StreamHandle stream) const;
  void refit(const DisparityMap& map, cuda::StreamHandle stream) const;
  void fill(const DisparityMap& map, cuda::StreamHandle stream) const;

  RefineParameters parameters_;
  Size size_;
  CudaPipeline medians_;  // for each component
  PlaneBuffer<std::uint8_t> gray_[2];
  PlaneBuffer<CudaShift> shifts_;
  PlaneBuffer<float> candidates_[2];
  std::byte* memory_ = nullptr;
  cuda::Program program_, gray_program_;
  cuda::Kernel take_gray_, check_, find_shifts_, refit_, fill_, copy_;
};

}  // namespace parallax::refine
