// SPDX-License-Identifier: Apache-2.0
// What data costs are made from, on a GPU: the samples of both images, which of them are valid, and what is
// found once for each pixel; of the pair as it is, and of the mirrored one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/arena.h"
#include "data_cost/cuda_types.h"
#include "data_cost/data_cost.h"
#include "devices/cuda/program.h"

namespace parallax::data_cost {

// Costs of differences of integer gray levels, or bits: of 0 to highest_difference, and one beyond.
inline constexpr int cost_table_size = highest_difference / per_level + 2;

class CudaImages {
 public:
  enum Which { as_it_is, mirrored };

  CudaImages(const CostModel& model, const ImageFormat& format, bool both, ArenaLayout& layout);

  // Loads the kernels and fills tables; `memory` is the arena that was laid out.
  void prepare(const cuda::SharedContext& context, std::byte* memory, cuda::StreamHandle stream);
  void take(const StereoPair& pair, cuda::ChangingLaunches& launches) const;
  // Before the mirrored pair is made ready.
  void mirror(cuda::StreamHandle stream) const;
  // Smooths, and finds what costs are made from.
  void make_ready(Which which, cuda::StreamHandle stream) const;

  // Another kernel of the same file.
  cuda::Kernel kernel(const char* name) const { return program_.kernel(name); }

  // As kernels take it. `volume`: the caller's costs, side by side.
  CudaCosts costs(Which which, const float* volume) const;
  View<const std::uint16_t> gray(Which which) const;
  // What each pixel is from the start, and how far its rows are apart.
  std::uint8_t* from_start() const { return at(from_start_); }
  int stride() const { return stride_; }
  // Differences are integer gray levels, or bits.
  bool integer_differences() const;

 private:
  struct Pair {
    Buffer<std::uint16_t> samples[2];
    Buffer<std::uint32_t> validity[2];
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
  void smooth(Which which, cuda::StreamHandle stream) const;

  CostModel model_;
  ImageFormat format_;
  std::vector<std::uint32_t> weights_;
  int stride_, validity_words_;
  Pair pairs_[2];
  Buffer<std::uint8_t> from_start_;
  Buffer<std::uint16_t> half_smoothed_[2];
  Buffer<std::byte> features_[2];
  Buffer<std::uint32_t> smoothing_;
  Buffer<float> cost_table_;
  std::byte* memory_ = nullptr;
  cuda::Program program_;
  cuda::Kernel take_, mirror_, smooth_, census_, half_pixel_range_;
};

}  // namespace parallax::data_cost
