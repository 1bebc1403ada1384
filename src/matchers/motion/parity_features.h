// SPDX-License-Identifier: Apache-2.0
// The features of both frames of a scale that data costs compare, in the layout of all_labels_kernels.h.
#pragma once

#include <vector>

#include "core/arena.h"
#include "core/workers.h"
#include "matchers/motion/all_labels_kernels.h"

namespace parallax::motion {

// The frames of a scale, the one whose pixels are matched first: gray samples in 256ths of a gray level, and
// masks, which are 0 where a pixel takes no part. Empty masks: all pixels take part.
struct ScaleFrames {
  View<const std::uint16_t> gray[2];
  View<const std::uint8_t> mask[2];
};

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
  using Planes = std::uint8_t * [data_cost::most_feature_planes];
  void extend_gray(View<const std::uint16_t> gray, int frame, int y) const;
  void write(const ScaleFrames& frames, int frame, int y, const Planes& scratch) const;
  std::size_t bytes() const {
    return static_cast<std::size_t>(layout_.row_bytes()) * static_cast<std::size_t>(size_.height);
  }

  Size size_;
  FeatureLayout layout_;
  std::uint8_t* features_[2] = {};
  View<std::uint16_t> extended_[2];  // gray samples with repeated borders, for the census
  struct Scratch {
    Planes planes;
  };
  std::vector<Scratch> scratch_;  // [slot]
};

}  // namespace parallax::motion
