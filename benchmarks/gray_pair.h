// SPDX-License-Identifier: Apache-2.0
// Functions that the benchmarks of all matchers share.
#pragma once

#include <chrono>
#include <filesystem>

#include <opencv2/imgproc.hpp>

#include "parallax/image.h"

#include "tools/files/pictures.h"

namespace parallax::benchmarks {

// A pair in the form that OpenCV needs.
struct GrayPair {
  cv::Mat left, right;

  Size size() const { return {left.cols, left.rows}; }
  static View<const std::uint8_t> view(const cv::Mat& image) {
    return {image.ptr<std::uint8_t>(), {image.cols, image.rows}, static_cast<std::ptrdiff_t>(image.step[0])};
  }
  StereoPair views() const { return {view(left), view(right)}; }
};

// A view that shares the pixels.
inline cv::Mat as_mat(const ImageView& picture) {
  const int depth = picture.format.depth == BitDepth::bits8 ? CV_8U : CV_16U;
  return {picture.format.size.height, picture.format.size.width, CV_MAKETYPE(depth, picture.channels),
          const_cast<void*>(picture.data), static_cast<std::size_t>(picture.stride_bytes)};
}

// A copy of the pixels.
inline cv::Mat gray(const cv::Mat& rgb) {
  if (rgb.channels() == 1) return rgb.clone();
  cv::Mat result;
  cv::cvtColor(rgb, result, cv::COLOR_RGB2GRAY);
  return result;
}

inline cv::Mat gray(const tool::Picture& picture) {
  return gray(as_mat(picture.view()));
}

inline GrayPair load_gray_pair(const std::filesystem::path& folder) {
  return {gray(tool::read_picture((folder / "left.png").string())),
          gray(tool::read_picture((folder / "right.png").string()))};
}

template <class Run>
double milliseconds(const Run& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace parallax::benchmarks
