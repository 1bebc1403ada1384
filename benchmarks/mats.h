// SPDX-License-Identifier: Apache-2.0
// Pictures as OpenCV needs them, and the reverse.
#pragma once

#include <opencv2/imgproc.hpp>

#include "parallax/image.h"

namespace parallax::benchmarks {

// A matrix that shares the pixels.
inline cv::Mat as_mat(const ImageView& picture) {
  const int depth = picture.format.depth == BitDepth::bits8 ? CV_8U : CV_16U;
  return {picture.format.size.height, picture.format.size.width, CV_MAKETYPE(depth, picture.channels),
          const_cast<void*>(picture.data), static_cast<std::size_t>(picture.stride_bytes)};
}

// A view of its pixels.
inline ImageView as_view(const cv::Mat& image) {
  return {image.data,
          {{image.cols, image.rows}, image.depth() == CV_8U ? BitDepth::bits8 : BitDepth::bits16},
          image.channels(),
          static_cast<std::ptrdiff_t>(image.step)};
}

// A copy of the pixels.
inline cv::Mat gray(const cv::Mat& rgb) {
  if (rgb.channels() == 1) return rgb.clone();
  cv::Mat result;
  cv::cvtColor(rgb, result, cv::COLOR_RGB2GRAY);
  return result;
}

}  // namespace parallax::benchmarks
