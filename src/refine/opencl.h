// The steps of parallax/refine.h on an OpenCL device, in the memory and on the queue of a plan.
#pragma once

#include <cstdint>

#include "parallax/refine.h"

#include "core/arena.h"
#include "devices/opencl/program.h"
#include "devices/opencl/types.h"

namespace parallax::refine {

class OpenclPipeline {
 public:
  OpenclPipeline(const RefineParameters& parameters, Size size, ArenaLayout& layout);

  // Builds the kernels; `memory`: what was laid out.
  void prepare(const opencl::Context& context, cl_mem memory);
  // All steps that were asked for, in their order; `right` is empty unless maps are checked against each
  // other.
  void enqueue(const opencl::Map& map, const PlaneBuffer<float>& right, opencl::Queue& queue) const;

 private:
  bool removes_speckles() const { return parameters_.speckle_size > 1; }
  bool fills() const { return parameters_.fill == Fill::row; }
  bool takes_median() const { return parameters_.median > 0; }

  void check_left_right(const opencl::Map& map, const PlaneBuffer<float>& right, opencl::Queue& queue) const;
  void remove_speckles(const opencl::Map& map, opencl::Queue& queue) const;
  void fill_row(const opencl::Map& map, opencl::Queue& queue) const;
  void median(const opencl::Map& map, opencl::Queue& queue) const;

  RefineParameters parameters_;
  Size size_;
  Buffer<std::int32_t> links_, sizes_;
  PlaneBuffer<float> bordered_;
  cl_mem memory_ = nullptr;
  std::size_t items_of_row_ = 1, lanes_ = 1;
  opencl::Program program_;
  opencl::Kernel check_left_right_, link_rows_, join_rows_, add_sizes_, remove_speckles_, fill_row_, border_,
      median_;
};

}  // namespace parallax::refine
