// SPDX-License-Identifier: Apache-2.0
// The features of both frames of a scale that data costs compare.
#pragma once

#include <array>
#include <vector>

#include "core/arena.h"
#include "core/integers.h"
#include "core/workers.h"
#include "matchers/motion/all_labels_kernels.h"

namespace parallax::motion {

// The frames of a scale, the one whose pixels are matched first: gray samples in 256ths of a gray level, and
// masks, which are 0 where a pixel takes no part. Empty masks: all pixels take part.
struct ScaleFrames {
  View<const std::uint16_t> gray[2];
  View<const std::uint8_t> mask[2];

  ScaleFrames exchanged() const { return {{gray[1], gray[0]}, {mask[1], mask[0]}}; }
};

// The census of both frames.
class FrameCensus {
 public:
  FrameCensus(Size size, int slots) : size_(size), planes_(to_size(slots)) {}

  // Called twice (see Arena), before any other function.
  void reserve(Arena& arena);
  // Called once, after reserve().
  void fill_memory() const;

  void prepare(const ScaleFrames& frames, const Workers& workers) const;

  // The bytes of a row's signatures, in planes of this slot's memory.
  using Planes = std::array<std::uint8_t*, data_cost::max_feature_planes>;
  const Planes& row(int frame, int y, int slot) const;

 private:
  Size size_;
  View<std::uint16_t> extended_[2];  // gray samples with repeated borders
  std::vector<Planes> planes_;       // [slot]
};

// The features in the layout of all_labels_kernels.h.
class ParityFeatures {
 public:
  // `cost`: census or absolute_difference.
  ParityFeatures(DataCost cost, Size size, int slots);

  // Called twice (see Arena), before any other function.
  void reserve(Arena& arena);
  // Called once, after reserve().
  void fill_memory();

  void prepare(const ScaleFrames& frames, const Workers& workers) const;

  const FeatureLayout& layout() const { return layout_; }
  const std::uint8_t* of(int frame) const { return features_[frame]; }

 private:
  void write(const ScaleFrames& frames, int frame, int y, int slot) const;
  std::size_t bytes() const { return to_size(layout_.row_bytes()) * to_size(size_.height); }

  Size size_;
  FeatureLayout layout_;
  std::uint8_t* features_[2] = {};
  FrameCensus census_;
};

}  // namespace parallax::motion
