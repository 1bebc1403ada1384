// SPDX-License-Identifier: Apache-2.0
// Pixels as the page gets them: parts of planes, scaled down.
#pragma once

#include <cstdint>
#include <vector>

#include "parallax/image.h"
#include "parallax/tiles.h"

namespace parallax::view {

// Pixels of the whole picture for one that the page gets, in each direction: 1 up to 2.2 million pixels.
int overview_scale(Size size);

// The size of a region of the picture, divided by the scale and rounded up.
Size scaled(Size region, int scale);

// The mean of each block of scale × scale pixels, in 8 bits.
std::vector<std::uint8_t> scale_picture(const ImageView& picture, const Rectangle& region, int scale);
// The value in the middle of each block.
std::vector<std::uint8_t> sample(View<const std::uint8_t> plane, const Rectangle& region, int scale);
// The same of values from 0 to 1, multiplied by 255.
std::vector<std::uint8_t> sample_shares(View<const float> plane, const Rectangle& region, int scale);

// Disparities in 16 bits: 0 = none, else disparity = lowest + (value − 1) / steps.
struct DisparityCode {
  double lowest = 0;
  int steps = 64;
};
// The finest code, up to 64 steps, that holds every disparity of a map.
DisparityCode code_for(View<const float> disparity);
std::vector<std::uint16_t> sample_disparities(View<const float> disparity, const DisparityCode& code,
                                              const Rectangle& region, int scale);

}  // namespace parallax::view
