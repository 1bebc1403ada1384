// SPDX-License-Identifier: Apache-2.0
// ROS's messages as Parallax's types, and back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include <parallax/parallax.h>
#include <sensor_msgs/msg/camera_info.hpp>
#include <sensor_msgs/msg/image.hpp>
#include <stereo_msgs/msg/disparity_image.hpp>

namespace parallax_ros {

// A picture whose pixels are those of the message, or a copy in another order.
struct Picture {
  parallax::ImageView view;
  std::vector<std::uint8_t> copy;
};

// \throws std::runtime_error for an encoding other than mono8, mono16, rgb8, bgr8, or too few bytes
inline Picture picture_of(const sensor_msgs::msg::Image& image) {
  struct Encoding {
    const char* name;
    int channels;
    parallax::BitDepth depth;
    bool blue_first;
  };
  constexpr Encoding encodings[] = {{"mono8", 1, parallax::BitDepth::bits8, false},
                                    {"mono16", 1, parallax::BitDepth::bits16, false},
                                    {"rgb8", 3, parallax::BitDepth::bits8, false},
                                    {"bgr8", 3, parallax::BitDepth::bits8, true}};
  const auto* encoding = std::find_if(std::begin(encodings), std::end(encodings),
                                      [&](const Encoding& e) { return image.encoding == e.name; });
  if (encoding == std::end(encodings))
    throw std::runtime_error("the picture's encoding is " + image.encoding +
                             ": convert it to mono8, mono16, rgb8 or bgr8, as image_proc does");
  const std::size_t row_bytes =
      std::size_t{image.width} * encoding->channels * (encoding->depth == parallax::BitDepth::bits16 ? 2 : 1);
  if (image.step < row_bytes || image.data.size() < std::size_t{image.step} * image.height)
    throw std::runtime_error("the picture of " + std::to_string(image.width) + "×" +
                             std::to_string(image.height) + " pixels has only " +
                             std::to_string(image.data.size()) + " bytes");
  const bool swaps_bytes = encoding->depth == parallax::BitDepth::bits16 && image.is_bigendian != 0;
  Picture picture;
  const std::uint8_t* data = image.data.data();
  if (encoding->blue_first || swaps_bytes) {
    picture.copy = image.data;
    const std::size_t unit = encoding->blue_first ? 3 : 2;
    for (std::size_t y = 0; y < image.height; ++y)
      for (std::size_t i = 0; i + unit <= row_bytes; i += unit)
        std::swap(picture.copy[y * image.step + i], picture.copy[y * image.step + i + unit - 1]);
    data = picture.copy.data();
  }
  const parallax::ImageFormat format{{static_cast<int>(image.width), static_cast<int>(image.height)},
                                     encoding->depth};
  picture.view =
      parallax::ImageView(data, format, encoding->channels, static_cast<std::ptrdiff_t>(image.step));
  return picture;
}

// The rectified rig, in metres: from the projection matrices.
// \throws std::runtime_error where these are not those of a stereo pair
inline parallax::Calibration calibration_of(const sensor_msgs::msg::CameraInfo& left,
                                            const sensor_msgs::msg::CameraInfo& right) {
  parallax::Calibration rig;
  rig.focal = left.p[0];
  rig.centre_x = left.p[2];
  rig.centre_y = left.p[6];
  rig.doffs = right.p[2] - left.p[2];
  rig.baseline = right.p[0] > 0 ? -right.p[3] / right.p[0] : 0;
  rig.metres_per_unit = 1;
  if (!(rig.focal > 0) || !(rig.baseline > 0))
    throw std::runtime_error(
        "the matrices P of left and right camera_info have no baseline: calibrate the rig, and check that "
        "left and right "
        "are not exchanged");
  return rig;
}

// Disparities as stereo_msgs has them: Z = f·T / disparity, and −1 where there is no depth.
inline stereo_msgs::msg::DisparityImage message_of(const parallax::Result& map,
                                                   const parallax::Calibration& rig,
                                                   const parallax::MatcherParameters& parameters,
                                                   const std_msgs::msg::Header& header) {
  const parallax::Size size = map.disparity.size();
  stereo_msgs::msg::DisparityImage message;
  message.header = message.image.header = header;
  message.image.width = static_cast<std::uint32_t>(size.width);
  message.image.height = static_cast<std::uint32_t>(size.height);
  message.image.encoding = "32FC1";
  message.image.is_bigendian = 0;
  message.image.step = message.image.width * sizeof(float);
  message.image.data.resize(size.pixels() * sizeof(float));
  std::uint8_t* to = message.image.data.data();
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x, to += sizeof(float)) {
      const float disparity = map.disparity.at(x, y);
      const float shift =
          parallax::depth(rig, disparity) > 0 ? static_cast<float>(disparity + rig.doffs) : -1.0f;
      std::memcpy(to, &shift, sizeof shift);
    }
  const double lowest = parameters.min_disparity() + rig.doffs;
  message.f = static_cast<float>(rig.focal);
  message.t = static_cast<float>(rig.baseline);
  message.min_disparity = static_cast<float>(std::max(lowest, 0.0));
  message.max_disparity = static_cast<float>(std::max(lowest + parameters.disparities() - 1, 0.0));
  message.delta_d = 1.0f / 256;
  message.valid_window.width = message.image.width;
  message.valid_window.height = message.image.height;
  return message;
}

}  // namespace parallax_ros
