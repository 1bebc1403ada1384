// SPDX-License-Identifier: Apache-2.0
// The inputs of data costs on an OpenCL device: the samples of both images, and the features and the validity
// of pixels, of the pair as it is or of the mirrored one.
#pragma once

#include <cstdint>
#include <vector>

#include "core/arena.h"
#include "data_cost/data_cost.h"
#include "data_cost/opencl_types.h"
#include "devices/opencl/program.h"

namespace parallax::data_cost {

class OpenclImages {
 public:
  // The layout of the features of a row.
  struct Rows {
    int parts;   // see OpenclInputs
    int around;  // padding elements on both sides of a part
  };
  OpenclImages(const CostModel& model, const ImageFormat& format, Rows rows, ArenaLayout& layout);

  // Builds the kernels, and writes tables into `memory`, which has the reserved layout.
  void prepare(const opencl::Context& context, const opencl::Queue& queue, cl_mem memory);
  // Enqueue the steps that precede costs, in this order.
  void take(const opencl::Pair& pair, opencl::Queue& queue) const;
  // Of `count` pairs, from `first` on: 0 = the given one, 1 = the mirrored one.
  void find_inputs(const opencl::Pair& pair, int first, int count, opencl::Queue& queue);

  // What kernels read of one pair comes last in the layout, from here on. That of the mirrored pair may lie
  // elsewhere, so that both can be matched at once; see OpenclInputs.
  std::size_t start_of_pair() const { return start_of_pair_; }
  void place_mirrored(cl_long bytes_apart) { inputs_.apart = bytes_apart; }

  // The kernels' argument, and the macros of features.
  const OpenclInputs& inputs() const { return inputs_; }
  OpenclCosts costs(const opencl::Pair& pair) const;
  opencl::Options options() const;
  // The value of OpenclCosts::per_bit.
  int cost_of_a_bit() const;

 private:
  bool smooths() const { return weights_.size() > 1; }
  bool is_colour() const { return model_.cost == DataCost::absolute_difference_colour; }
  int feature_planes() const;
  const char* feature_type() const;
  std::size_t feature_bytes() const;
  opencl::Shape groups_of(std::size_t deep) const;

  CostModel model_;
  ImageFormat format_;
  Rows rows_;
  std::vector<std::uint32_t> weights_;
  OpenclInputs inputs_{};
  std::size_t start_of_pair_ = 0;
  cl_mem memory_ = nullptr;
  std::size_t lanes_ = 1, items_ = 1;  // pixels of a work item that finds features, and work items of a group
  opencl::Program program_;
  opencl::Kernel take_, smooth_, find_inputs_;
};

}  // namespace parallax::data_cost
