// SPDX-License-Identifier: Apache-2.0
// The ROS 2 node of examples/ros2, compiled against fake_ros.h: pictures in colour and of 16 bits become the
// disparity images that Parallax computes, in the conventions of stereo_msgs; after an error it goes on.
#include "examples/ros2/src/disparity_node.cpp"

#include <cstring>
#include <memory>

#include <gtest/gtest.h>

namespace parallax_ros {
namespace {

using parallax::SynthPair;

constexpr parallax::Size size{96, 40};
constexpr const char* matcher = R"({"method": "sgm", "disparities": 24})";

const SynthPair& pair() {
  static const SynthPair made = parallax::synthesize({.size = size, .disparities = 24});
  return made;
}

// Rows are 6 bytes longer than their pixels.
Image empty_image(const char* encoding, std::uint32_t pixel_bytes) {
  Image image;
  image.header.frame_id = "left_camera";
  image.width = size.width;
  image.height = size.height;
  image.encoding = encoding;
  image.step = size.width * pixel_bytes + 6;
  image.data.resize(image.step * image.height);
  return image;
}

Image colour_image(const parallax::Plane<std::uint8_t>& from, bool blue_first) {
  Image image = empty_image(blue_first ? "bgr8" : "rgb8", 3);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      for (int c = 0; c < 3; ++c)
        image.data[static_cast<std::size_t>(y) * image.step + static_cast<std::size_t>(3 * x + c)] =
            from.at(3 * x + (blue_first ? 2 - c : c), y);
  return image;
}

// Red as 16 bits.
Image deep_image(const parallax::Plane<std::uint8_t>& from, bool big_endian) {
  Image image = empty_image("mono16", 2);
  image.is_bigendian = big_endian;
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      std::uint8_t* to =
          &image.data[static_cast<std::size_t>(y) * image.step + static_cast<std::size_t>(2 * x)];
      to[big_endian ? 0 : 1] = from.at(3 * x, y);
      to[big_endian ? 1 : 0] = 7;
    }
  return image;
}

CameraInfo info(double centre_x, double translation) {
  CameraInfo camera;
  camera.p = {500, 0, centre_x, translation, 0, 500, 20, 0, 0, 0, 1, 0};
  return camera;
}
const CameraInfo left_info = info(48, 0), right_info = info(51, -60);  // 3 columns apart, 0.12 m

void send(const Image& left, const Image& right, const CameraInfo& first = left_info,
          const CameraInfo& second = right_info) {
  message_filters::deliver(std::make_shared<Image>(left), std::make_shared<CameraInfo>(first),
                           std::make_shared<Image>(right), std::make_shared<CameraInfo>(second));
}

float value_at(const DisparityImage& message, int x, int y) {
  float value;
  std::memcpy(
      &value,
      &message.image.data[static_cast<std::size_t>(y) * message.image.step + 4u * static_cast<unsigned>(x)],
      sizeof value);
  return value;
}

rclcpp::NodeOptions options(bool approximate = false, const char* json = matcher) {
  return {{{"matcher", std::string(json)}, {"approximate_sync", approximate}}};
}

TEST(DisparityNodeTest, PublishesTheMapOfThePair) {
  const DisparityNode node(options());
  send(colour_image(pair().left, false), colour_image(pair().right, true));
  ASSERT_EQ(rclcpp::last_publisher->published.size(), 1u) << rclcpp::last_error;
  const DisparityImage& message = rclcpp::last_publisher->published.front();
  const parallax::Result expected =
      parallax::match(pair().left_view(), pair().right_view(), parallax::parameters_from_json(matcher));
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      ASSERT_EQ(value_at(message, x, y), expected.disparity.at(x, y) + 3) << x << ", " << y;
  EXPECT_EQ(message.header.frame_id, "left_camera");
  EXPECT_EQ(message.image.encoding, "32FC1");
  EXPECT_EQ(message.f, 500);
  EXPECT_FLOAT_EQ(message.t, 0.12f);
  EXPECT_EQ(message.min_disparity, 3);
  EXPECT_EQ(message.max_disparity, 26);
  EXPECT_EQ(message.valid_window.width, 96u);
  EXPECT_EQ(message.valid_window.height, 40u);
}

TEST(DisparityNodeTest, PixelsWithoutADepthAreMinusOne) {
  const DisparityNode node(options(true, R"({"method": "block", "disparities": 24, "fill": "none"})"));
  send(colour_image(pair().left, false), colour_image(pair().right, false));
  ASSERT_EQ(rclcpp::last_publisher->published.size(), 1u) << rclcpp::last_error;
  const parallax::Result expected = parallax::match(
      pair().left_view(), pair().right_view(),
      parallax::parameters_from_json(R"({"method": "block", "disparities": 24, "fill": "none"})"));
  int none = 0;
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      if (!(expected.disparity.at(x, y) < 1000)) {
        ++none;
        EXPECT_EQ(value_at(rclcpp::last_publisher->published.front(), x, y), -1);
      }
  EXPECT_GT(none, 0);
}

TEST(DisparityNodeTest, BytesOf16BitPicturesMayBeInEitherOrder) {
  const DisparityNode node(options());
  for (const bool big_endian : {false, true})
    send(deep_image(pair().left, big_endian), deep_image(pair().right, big_endian));
  ASSERT_EQ(rclcpp::last_publisher->published.size(), 2u) << rclcpp::last_error;
  EXPECT_EQ(rclcpp::last_publisher->published[0].image.data, rclcpp::last_publisher->published[1].image.data);
}

TEST(DisparityNodeTest, ABadPairCostsItsOwnMap) {
  const DisparityNode node(options());
  const Image good = colour_image(pair().left, false);
  Image raw = good, cut = good, other = deep_image(pair().right, false);
  raw.encoding = "bayer_rggb8";
  cut.data.resize(100);
  const auto expect_error = [](const std::string& reason) {
    EXPECT_TRUE(rclcpp::last_publisher->published.empty());
    EXPECT_NE(rclcpp::last_error.find(reason), std::string::npos) << rclcpp::last_error;
  };
  send(raw, good);
  expect_error("bayer_rggb8: convert it");
  send(good, cut);
  expect_error("only 100 bytes");
  send(good, other);
  expect_error("no disparity image");
  send(good, good, right_info, left_info);
  expect_error("no baseline");
  send(good, colour_image(pair().right, true));
  EXPECT_EQ(rclcpp::last_publisher->published.size(), 1u);
}

TEST(DisparityNodeTest, PicturesMayChangeTheirFormat) {
  const DisparityNode node(options());
  send(colour_image(pair().left, false), colour_image(pair().right, false));
  send(deep_image(pair().left, false), deep_image(pair().right, false));
  EXPECT_EQ(rclcpp::last_publisher->published.size(), 2u) << rclcpp::last_error;
}

}  // namespace
}  // namespace parallax_ros
