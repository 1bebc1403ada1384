// SPDX-License-Identifier: Apache-2.0
/// \file
/// What it costs a pixel of the left image to be a pixel of the right one, before any smoothness.
#pragma once

#pragma GCC visibility push(default)
namespace parallax {

enum class DataCost {
  absolute_difference,         ///< of gray values, in gray levels
  absolute_difference_colour,  ///< mean over red, green and blue, in gray levels
  census,  ///< Hamming distance of 9×7 census signatures, in bits (0…62): blind to gain and offset
  birchfield_tomasi,  ///< Birchfield & Tomasi 1998, of gray values: blind to the sampling of the image
  volume,             ///< the caller's, in StereoPair::costs
  /// Mean over 5×5 pixels of the absolute difference of gray values, in whole gray levels, rounded down;
  /// windows see repeated border pixels. For tiled belief propagation.
  mean_absolute_difference,
};

}  // namespace parallax
#pragma GCC visibility pop
