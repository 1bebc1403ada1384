// SPDX-License-Identifier: Apache-2.0
/// \file
/// Data costs: how badly a pixel of the left image matches a pixel of the right one, before any smoothness.
#pragma once

#pragma GCC visibility push(default)
namespace parallax {

/// How a left pixel is compared with a right one; a lower cost is a better match.
enum class DataCost {
  absolute_difference,         ///< absolute difference of gray values, in gray levels
  absolute_difference_colour,  ///< mean over red, green and blue, in gray levels
  census,  ///< Hamming distance of 9×7 census signatures, in bits (0…62): invariant to gain and offset
  birchfield_tomasi,  ///< Birchfield & Tomasi 1998, on gray values: insensitive to image sampling
  volume,             ///< costs from the caller, in StereoPair::costs
  /// Mean absolute difference of gray values over 5×5 pixels, in gray levels, rounded down to an integer.
  /// Border pixels are repeated outside the image. Only for tiled belief propagation.
  mean_absolute_difference,
  /// Hamming distance of 31 bits, in bits: for each pair of pixels that lie opposite in a 9×7 window, whether
  /// the first one, row by row, is brighter (Spangenberg, Langner & Rojas 2013; libSGM's). Only for
  /// semi-global matching.
  census_centre_symmetric,
  /// As OpenCV's StereoSGBM: Birchfield & Tomasi on horizontal Sobel gradients, cut at ±15 gray levels, plus
  /// a quarter of the same on gray values. Only for semi-global matching.
  gradient_birchfield_tomasi,
};

}  // namespace parallax
#pragma GCC visibility pop
