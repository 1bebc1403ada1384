#include "refine/cuda.h"

namespace parallax::refine {

CudaPipeline::CudaPipeline(const RefineParameters& parameters, Size size, ArenaLayout&)
    : parameters_(parameters), size_(size) {}

void CudaPipeline::prepare(const cuda::SharedContext&, std::byte*) {}

void CudaPipeline::enqueue(const DisparityMap&, View<const float>, cuda::StreamHandle) const {}

}  // namespace parallax::refine
