// The steps of parallax/refine.h on a GPU, in the memory and on the stream of a plan.
#pragma once

#include "parallax/refine.h"

#include "core/arena.h"
#include "devices/cuda/program.h"

namespace parallax::refine {

class CudaPipeline {
 public:
  CudaPipeline(const RefineParameters& parameters, Size size, ArenaLayout& layout);

  // Loads the kernels; `memory` is the arena that was laid out.
  void prepare(const cuda::SharedContext& context, std::byte* memory);
  // All steps that were asked for, in their order, on a map on the device; `right` is empty unless maps are
  // checked against each other.
  void enqueue(const DisparityMap& map, View<const float> right, cuda::StreamHandle stream) const;

 private:
  RefineParameters parameters_;
  Size size_;
};

}  // namespace parallax::refine
