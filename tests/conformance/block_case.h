// SPDX-License-Identifier: Apache-2.0
// Random pairs and parameters of block matching.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "conformance/random_pair.h"
#include "conformance/random_refine.h"
#include "support.h"

namespace parallax::test {

class BlockCase {
 public:
  explicit BlockCase(unsigned seed) : random_(seed) {
    static constexpr Size sizes[] = {{1, 1},   {1, 7},  {9, 1},    {2, 3},   {7, 5},  {13, 11},
                                     {31, 17}, {64, 5}, {101, 13}, {53, 29}, {37, 41}};
    size_ = sizes[static_cast<std::size_t>(any(0, std::size(sizes) - 1))];
    depth_ = any(0, 2) == 0 ? Depth::bits16 : Depth::bits8;
    channels_ = any(0, 1) == 0 ? 1 : 3;
    choose_parameters();
    images_ = RandomPair(random_, {size_, depth_}, channels_,
                         parameters_.min_disparity + parameters_.disparities / 2);
  }

  StereoPair pair() const { return images_.pair(); }
  const BlockParameters& parameters() const { return parameters_; }
  bool with_confidence() const { return with_confidence_; }

  std::string description() const {
    const BlockParameters& p = parameters_;
    const auto number = [](auto value) { return std::to_string(static_cast<int>(value)); };
    return "size " + number(size_.width) + "x" + number(size_.height) + " depth " + number(depth_) +
           " channels " + number(channels_) + " min " + number(p.min_disparity) + " labels " +
           number(p.disparities) + " full row " + number(p.full_row) + " window " + number(p.window) +
           " cost " + number(p.cost) + " prefilter " + number(p.prefilter) + " cap " +
           number(p.prefilter_cap) + " uniqueness " + number(p.uniqueness) + " texture " +
           number(p.texture_threshold) + " sub-pixel " + number(p.sub_pixel) + " check " +
           number(p.refine.left_right_check) + " fill " + number(p.refine.fill) + " median " +
           number(p.refine.median) + " speckle " + number(p.refine.speckle_size) +
           description_of_guided(p.refine) + " confidence " + number(with_confidence_);
  }

 private:
  int any(int low, std::size_t high) { return random_number(random_, low, static_cast<int>(high)); }

  void choose_parameters() {
    BlockParameters& p = parameters_;
    p.cost = static_cast<BlockCost>(any(0, 2));
    // At least one label must lead into the image.
    p.min_disparity = any(-size_.width - 5, static_cast<std::size_t>(size_.width) - 1);
    p.disparities = std::max(any(1, 90), 2 - size_.width - p.min_disparity);
    p.full_row = any(0, 7) == 0;
    static constexpr int windows[] = {1, 3, 5, 7, 9, 15, 17, 31};
    p.window = windows[any(0, 7)];
    p.prefilter = any(0, 1) == 0 ? Prefilter::none : Prefilter::x_sobel;
    p.prefilter_cap = any(0, 2) == 0 ? 127 : any(1, 63);
    if (depth_ == Depth::bits16 && any(0, 1) == 0) p.prefilter_cap = 32767;
    p.uniqueness = any(0, 1) == 0 ? 0 : any(1, 100);
    p.texture_threshold = any(0, 1) == 0 ? 0 : any(1, 2000);
    p.sub_pixel = static_cast<SubPixel>(any(0, 2));
    p.refine.left_right_check = any(0, 1) == 0;
    p.refine.left_right_tolerance = static_cast<float>(any(0, 4)) / 2;
    p.refine.fill = any(0, 1) == 0 ? Fill::none : Fill::row;
    p.refine.median = any(0, 2) == 0 ? 0 : any(0, 1) == 0 ? 3 : 5;
    p.refine.speckle_size = any(0, 2) == 0 ? any(1, 30) : 0;
    choose_guided(random_, p.refine);
    with_confidence_ = any(0, 1) == 0;
  }

  std::mt19937 random_;
  Size size_;
  Depth depth_;
  int channels_;
  BlockParameters parameters_;
  bool with_confidence_;
  RandomPair images_;
};

}  // namespace parallax::test
