// What the benchmarks of all matchers share.
#pragma once

#include <chrono>
#include <filesystem>

#include <opencv2/imgproc.hpp>

#include "parallax/image.h"

#include "tools/parallax/pictures.h"

namespace parallax::benchmarks {

// A pair as OpenCV takes it.
struct GrayPair {
  cv::Mat left, right;

  Size size() const { return {left.cols, left.rows}; }
  static View<const std::uint8_t> view(const cv::Mat& image) {
    return {image.ptr<std::uint8_t>(), {image.cols, image.rows}, static_cast<std::ptrdiff_t>(image.step[0])};
  }
  StereoPair views() const { return {view(left), view(right), {}, {}}; }
};

inline cv::Mat gray(const cv::Mat& rgb) {
  cv::Mat result = rgb;
  if (rgb.channels() == 3) cv::cvtColor(rgb, result, cv::COLOR_RGB2GRAY);
  return result;
}

inline GrayPair load_gray_pair(const std::filesystem::path& folder) {
  return {gray(tool::read_picture((folder / "left.png").string()).pixels),
          gray(tool::read_picture((folder / "right.png").string()).pixels)};
}

template <class Run>
double milliseconds(const Run& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace parallax::benchmarks
