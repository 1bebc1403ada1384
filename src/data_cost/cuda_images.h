// SPDX-License-Identifier: Apache-2.0
// The inputs of data costs on a GPU: samples and validity of both images, and features computed once per
// pixel; for the given pair and for the mirrored one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/arena.h"
#include "data_cost/cuda_types.h"
#include "data_cost/data_cost.h"
#include "devices/cuda/program.h"

namespace parallax::data_cost {

// Size of a table of costs by integer gray levels or bits: 0 to highest_difference, and one beyond.
inline constexpr int cost_table_size = highest_difference / per_level + 2;

class CudaImages {
 public:
  enum Which { as_it_is, mirrored };

  // `both`: also for the mirrored pair. `at_once`: both pairs are used at the same time, so they share no
  // memory; otherwise find_features() of one pair overwrites the inputs of the other.
  CudaImages(const CostModel& model, const ImageFormat& format, bool both, ArenaLayout& layout,
             bool at_once = false);

  // Loads the kernels and fills tables. `memory`: an arena with the reserved layout.
  void prepare(const cuda::SharedContext& context, std::byte* memory, cuda::StreamHandle stream);
  void take(const StereoPair& pair, cuda::ChangingLaunches& launches) const;
  // In place of take(), with half the width and height, rounded up: a pixel is the mean of its up to four
  // children, rounded, and valid if one of them is. Of gray images only.
  void halve(const CudaImages& finer, cuda::StreamHandle stream) const;
  // The steps that precede a pair's costs, in this order.
  void smooth(cuda::StreamHandle stream) const;
  void mirror(cuda::StreamHandle stream) const;  // needed for the mirrored pair only
  // If both pairs are used at the same time, the given pair's features must be found first.
  void find_features(Which which, cuda::StreamHandle stream) const;

  // Writes signatures of two gray images, in the rows of `images`; without `right`, of the left one only.
  void find_census(const CudaSamples& images, std::uint64_t* left, std::uint64_t* right,
                   cuda::StreamHandle stream) const;

  // Another kernel of the same file.
  cuda::Kernel kernel(const char* name) const { return program_.kernel(name); }

  // The kernels' argument. `volume`: the caller's costs, without gaps.
  CudaCosts costs(Which which, const float* volume) const;
  View<const std::uint16_t> gray(Which which) const;
  // Each pixel's status before matching, and the stride of its rows.
  std::uint8_t* from_start(Which which = as_it_is) const { return at(inputs_[which].from_start); }
  int stride() const { return stride_; }
  // Whether differences are integer gray levels or bits.
  bool integer_differences() const;

 private:
  struct Pair {
    Buffer<std::uint16_t> samples[2];
    Buffer<std::uint32_t> validity[2];
  };

  // The buffers that find_features() and the matcher write.
  struct Inputs {
    Buffer<std::uint8_t> from_start;
    Buffer<std::byte> features[2];
  };

  bool smooths() const { return weights_.size() > 1; }
  int planes() const { return model_.cost == DataCost::absolute_difference_colour ? 4 : 1; }
  std::size_t feature_bytes() const;
  template <class T>
  T* at(const Buffer<T>& buffer) const {
    return buffer.in(memory_);
  }
  CudaSamples samples(Which which) const { return samples(pairs_[which].samples); }
  CudaSamples samples(const Buffer<std::uint16_t> (&buffers)[2]) const;
  CudaValidity validity(Which which) const;
  cuda::Shape census_grid() const;
  void find_census(Which which, cuda::StreamHandle stream) const;

  CostModel model_;
  ImageFormat format_;
  bool at_once_;
  std::vector<std::uint32_t> weights_;
  int stride_, validity_words_;
  Pair pairs_[2];
  Inputs inputs_[2];
  Buffer<std::uint16_t> half_smoothed_[2];
  Buffer<std::uint32_t> smoothing_;
  Buffer<float> cost_table_;
  std::byte* memory_ = nullptr;
  cuda::Program program_;
  cuda::Kernel take_, halve_, mirror_, smooth_, census_, census_of_opposites_, half_pixel_range_, gradients_;
};

}  // namespace parallax::data_cost
