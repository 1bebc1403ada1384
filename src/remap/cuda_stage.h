// SPDX-License-Identifier: Apache-2.0
// Rectification on a GPU as a part of a plan: from images to images in memory that the GPU reaches.
#pragma once

#include "core/arena.h"
#include "devices/cuda/program.h"
#include "remap/cuda_types.h"
#include "remap/remap.h"

namespace parallax::remap {

class CudaStage {
 public:
  // Reserves memory for the maps.
  CudaStage(const Problem& problem, ArenaLayout& layout);
  // Compiles or loads the kernel, copies the maps to `memory`, which has the layout, and waits for the copy.
  // The context must be current.
  void prepare(const Problem& problem, const cuda::SharedContext& context, std::byte* memory,
               cuda::StreamHandle stream);
  // Addresses may differ from run to run. Images of 16 bits need even addresses.
  template <class Launches>  // a StreamHandle, or ChangingLaunches
  void enqueue(const Images& images, Launches&& launches) const {
    constexpr unsigned threads = 64, pixels_a_thread = 4;
    const cuda::Shape grid{static_cast<unsigned>(size_.height),
                           cuda::blocks(static_cast<std::size_t>(size_.width), threads * pixels_a_thread),
                           sides};
    kernel_.launch(launches, grid, {threads}, 0, arguments(images));
  }

 private:
  struct Buffers {
    Buffer<std::uint16_t> positions;
    Buffer<Block> blocks;
  };
  CudaRemap arguments(const Images& images) const;

  Size size_;
  Buffers buffers_[sides];
  Buffer<std::int16_t> taps_;
  CudaRemap arguments_{};  // without images
  cuda::Program program_;
  cuda::Kernel kernel_;
};

}  // namespace parallax::remap
