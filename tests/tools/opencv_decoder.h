// SPDX-License-Identifier: Apache-2.0
// The gray values that OpenCV reads from the file of a picture; other decoders must give the same.
#pragma once

#include <optional>
#include <span>

#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "tools/files/pictures/picture.h"

namespace parallax::test {

// Gray as the library computes it from R, G, B.
inline unsigned gray_value(unsigned red, unsigned green, unsigned blue) {
  return (9797 * red + 19234 * green + 3737 * blue) >> 15;
}

inline Plane<std::uint16_t> gray_of(const tool::Picture& picture) {
  Plane<std::uint16_t> gray(picture.size());
  const bool is_deep = picture.view().format.depth == BitDepth::bits16;
  for (int y = 0; y < gray.height(); ++y) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(picture.row(y));
    const auto* words = reinterpret_cast<const std::uint16_t*>(picture.row(y));
    const auto value = [&](int i) -> unsigned { return is_deep ? words[i] : bytes[i]; };
    for (int x = 0; x < gray.width(); ++x)
      gray.at(x, y) = static_cast<std::uint16_t>(
          picture.channels() == 1 ? value(x) : gray_value(value(3 * x), value(3 * x + 1), value(3 * x + 2)));
  }
  return gray;
}

// Returns nothing if OpenCV cannot read the file.
inline std::optional<Plane<std::uint16_t>> gray_by_opencv(tool::Bytes file) {
  cv::Mat pixels;
  try {
    const cv::Mat encoded(1, static_cast<int>(file.size()), CV_8U, const_cast<std::byte*>(file.data()));
    pixels = cv::imdecode(encoded, cv::IMREAD_UNCHANGED);
  } catch (const cv::Exception&) {
  }
  if (pixels.empty() || (pixels.depth() != CV_8U && pixels.depth() != CV_16U)) return std::nullopt;
  cv::Mat deep;
  pixels.convertTo(deep, CV_16U);
  const int channels = deep.channels();
  Plane<std::uint16_t> gray({deep.cols, deep.rows});
  for (int y = 0; y < deep.rows; ++y) {
    for (int x = 0; x < deep.cols; ++x) {
      const auto* p = deep.ptr<std::uint16_t>(y) + channels * x;
      gray.at(x, y) = static_cast<std::uint16_t>(channels < 3 ? p[0] : gray_value(p[2], p[1], p[0]));
    }
  }
  return gray;
}

// The number of pixels that differ; all of them if the sizes do.
inline std::size_t count_differences(const Plane<std::uint16_t>& a, const Plane<std::uint16_t>& b) {
  if (a.size() != b.size()) return a.size().pixels();
  std::size_t count = 0;
  for (int y = 0; y < a.height(); ++y)
    for (int x = 0; x < a.width(); ++x) count += a.at(x, y) != b.at(x, y);
  return count;
}

}  // namespace parallax::test
