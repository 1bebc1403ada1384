// SPDX-License-Identifier: Apache-2.0
// Random pairs and parameters of census matching.
#pragma once

#include <algorithm>
#include <string>

#include "conformance/random_pair.h"
#include "conformance/random_refine.h"
#include "support.h"

namespace parallax::test {

class CensusCase {
 public:
  explicit CensusCase(unsigned seed) : random_(seed) {
    // Narrower than a window, and wider than a tile.
    static constexpr Size sizes[] = {{1, 1},  {1, 7},    {9, 1},   {2, 3},   {7, 5},    {13, 11}, {31, 17},
                                     {64, 5}, {101, 13}, {53, 29}, {37, 41}, {141, 37}, {6, 67}};
    size_ = sizes[static_cast<std::size_t>(any(0, std::size(sizes) - 1))];
    depth_ = any(0, 2) == 0 ? Depth::bits16 : Depth::bits8;
    channels_ = any(0, 1) == 0 ? 1 : 3;
    choose_parameters();
    images_ = RandomPair(random_, {size_, depth_}, channels_,
                         parameters_.min_disparity + parameters_.disparities / 2);
  }

  StereoPair pair() const { return images_.pair(); }
  const CensusParameters& parameters() const { return parameters_; }

  std::string description() const {
    const CensusParameters& p = parameters_;
    const auto number = [](auto value) { return std::to_string(static_cast<int>(value)); };
    return "size " + number(size_.width) + "x" + number(size_.height) + " depth " + number(depth_) +
           " channels " + number(channels_) + " min " + number(p.min_disparity) + " labels " +
           number(p.disparities) + " transform " + number(p.transform) + " cost " + number(p.cost) +
           " truncation " + number(p.ad_truncation) + " window " + number(p.window) + " levels " +
           number(p.pyramid_levels) + " radius " + number(p.search_radius) + " uniqueness " +
           number(p.uniqueness) + " sub-pixel " + number(p.sub_pixel) + " check " +
           number(p.refine.left_right_check) + " fill " + number(p.refine.fill) + " median " +
           number(p.refine.median) + " speckle " + number(p.refine.speckle_size);
  }

 private:
  int any(int low, std::size_t high) { return random_number(random_, low, static_cast<int>(high)); }

  void choose_parameters() {
    CensusParameters& p = parameters_;
    // At least one label must lead into the image.
    p.min_disparity = any(-size_.width - 5, static_cast<std::size_t>(size_.width) - 1);
    p.disparities = std::max(any(1, 70), 2 - size_.width - p.min_disparity);
    p.transform = static_cast<CensusTransform>(any(0, 8));
    p.cost = static_cast<CensusCost>(any(0, 1));
    p.ad_truncation = any(0, 1) == 0 ? 127 : any(1, 60);
    static constexpr int windows[] = {1, 3, 5, 7, 9, 15};
    p.window = windows[any(0, 5)];
    // Often more than there are pixels.
    p.pyramid_levels = any(0, 1) == 0 ? any(1, 3) : any(1, 9);
    p.search_radius = any(0, 3) == 0 ? any(1, 1000) : any(1, 3);
    p.uniqueness = any(0, 1) == 0 ? 0 : any(1, 100);
    p.sub_pixel = static_cast<SubPixel>(any(0, 2));
    p.refine.left_right_check = any(0, 1) == 0;
    p.refine.left_right_tolerance = static_cast<float>(any(0, 4)) / 2;
    p.refine.fill = any(0, 1) == 0 ? Fill::none : Fill::row;
    p.refine.median = any(0, 2) == 0 ? 0 : any(0, 1) == 0 ? 3 : 5;
    p.refine.speckle_size = any(0, 2) == 0 ? any(1, 30) : 0;
    choose_guided(random_, p.refine);
  }

  std::mt19937 random_;
  Size size_;
  Depth depth_;
  int channels_;
  CensusParameters parameters_;
  RandomPair images_;
};

}  // namespace parallax::test
