// SPDX-License-Identifier: Apache-2.0
// Rectification on an OpenCL device as a part of a plan: from images beside the maps to images in any memory.
#pragma once

#include "core/arena.h"
#include "devices/opencl/program.h"
#include "remap/opencl_types.h"
#include "remap/remap.h"

namespace parallax::remap {

class OpenclStage {
 public:
  // Reserves memory for the maps.
  OpenclStage(const Problem& problem, ArenaLayout& layout);
  // Builds or loads the kernel, copies the maps to the memory that has the layout, and waits for the copy.
  void prepare(const Problem& problem, const opencl::Context& context, const opencl::Queue& queue,
               cl_mem memory);
  // Offsets of a pair's images, rows without gaps: `from` in that memory, the others in `target`. Negative
  // masks are not wanted.
  struct Places {
    cl_long from[sides], to[sides], mask[sides];
    cl_int channels[sides];
  };
  void enqueue(const Places& places, const opencl::Queue& queue, cl_mem target) const;

 private:
  OpenclRemap arguments_{};  // without images
  std::size_t pixels_an_item_ = 1;
  cl_mem memory_ = nullptr;
  opencl::Program program_;
  opencl::Kernel kernel_;
};

}  // namespace parallax::remap
