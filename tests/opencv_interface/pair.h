// SPDX-License-Identifier: Apache-2.0
// Synthetic pairs as OpenCV's images.
#pragma once

#include <opencv2/core.hpp>

#include "support.h"

namespace parallax::test {

// A view that shares the pixels.
inline cv::Mat as_mat(const ImageView& image) {
  const int depth = image.format.depth == BitDepth::bits8 ? CV_8U : CV_16U;
  return {image.format.size.height, image.format.size.width, CV_MAKETYPE(depth, image.channels),
          const_cast<void*>(image.data), static_cast<std::size_t>(image.stride_bytes)};
}

inline cv::Mat as_bgr(const ImageView& rgb) {
  cv::Mat bgr(rgb.format.size.height, rgb.format.size.width, CV_8UC3);
  const cv::Mat from = as_mat(rgb);
  for (int y = 0; y < bgr.rows; ++y)
    for (int x = 0; x < bgr.cols; ++x) {
      const auto& pixel = from.at<cv::Vec3b>(y, x);
      bgr.at<cv::Vec3b>(y, x) = {pixel[2], pixel[1], pixel[0]};
    }
  return bgr;
}

// A gray pair: the green channel of a synthetic one.
struct Pictures {
  cv::Mat left, right;

  Pictures(cv::Mat left_image, cv::Mat right_image)
      : left(std::move(left_image)), right(std::move(right_image)) {}
  explicit Pictures(int depth) {
    const SynthPair pair = synth(Scene::planes);
    cv::extractChannel(as_mat(pair.left_view()), left, 1);
    cv::extractChannel(as_mat(pair.right_view()), right, 1);
    if (depth == CV_16U) {
      left.convertTo(left, CV_16U, 257);
      right.convertTo(right, CV_16U, 257);
    }
  }

  StereoPair views() const { return {view(left), view(right)}; }

 private:
  static ImageView view(const cv::Mat& image) {
    const BitDepth depth = image.depth() == CV_8U ? BitDepth::bits8 : BitDepth::bits16;
    return {image.data, {{image.cols, image.rows}, depth}, 1, static_cast<std::ptrdiff_t>(image.step[0])};
  }
};

}  // namespace parallax::test
