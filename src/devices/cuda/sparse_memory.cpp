// SPDX-License-Identifier: Apache-2.0
#include "devices/cuda/sparse_memory.h"

#include <numeric>

namespace parallax::cuda {

std::size_t SparseMemory::bytes(const Context& context) const {
  if (!context.has_managed_memory()) return layout_.bytes();
  return std::accumulate(usual_.begin(), usual_.end(), std::size_t{0},
                         [](std::size_t sum, const Part& part) { return sum + part.bytes; });
}

void SparseMemory::allocate(const SharedContext& context, StreamHandle stream) {
  if (layout_.bytes() == 0) return;
  if (!context->has_managed_memory()) {
    memory_ = cuda::allocate(context, layout_.bytes());
    return;
  }
  memory_ = allocate_managed(context, layout_.bytes());
  for (const Part& part : usual_)
    check(driver().cuMemPrefetchAsync(memory_.get() + part.offset, part.bytes, context->device(), stream),
          "cuMemPrefetchAsync of " + std::to_string(part.bytes) + " bytes");
}

}  // namespace parallax::cuda
