// SPDX-License-Identifier: Apache-2.0
/// \file
/// Error of a disparity map against ground truth.
#pragma once

#include <cstddef>
#include <cstdint>

#include "parallax/image.h"

#pragma GCC visibility push(default)
namespace parallax {

/// Metrics over the evaluated pixels: those whose truth is finite and, where there is a mask, whose mask is
/// 255. With e = |disparity − truth|, "valid" = the disparity is finite.
struct ErrorMetrics {
  std::size_t count = 0;  ///< evaluated pixels
  double bad05 = 0;       ///< share of evaluated pixels with e > 0.5, or no value
  double bad1 = 0;        ///< e > 1, or no value
  double bad2 = 0;        ///< e > 2, or no value
  double bad4 = 0;        ///< e > 4, or no value
  double average = 0;     ///< mean of e over valid pixels; NaN when none is valid, as the next five
  double rms = 0;         ///< root of the mean of e²
  double a50 = 0;         ///< quantiles of e: element ⌊q·n⌋ of the n sorted errors
  double a90 = 0;
  double a95 = 0;
  double a99 = 0;
  double d1 = 0;        ///< KITTI 2015 outliers: share with e > 3 and e > 5 % of the truth, or no value
  double coverage = 0;  ///< share of evaluated pixels that are valid
  std::size_t mismatches =
      0;  ///< evaluated pixels whose rounded disparity is not the rounded truth, or no value
};

/// \param disparity estimate in pixels, not finite = no value
/// \param truth     ground truth in pixels, not finite = unknown
/// \param mask      255 = evaluate; an empty view = evaluate everywhere
/// \throws Error (argument) when sizes differ, or no pixel is left to evaluate.
ErrorMetrics evaluate(View<const float> disparity, View<const float> truth,
                      View<const std::uint8_t> mask = {});

}  // namespace parallax
#pragma GCC visibility pop
