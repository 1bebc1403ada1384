// SPDX-License-Identifier: Apache-2.0
// A ROS 2 node like stereo_image_proc's disparity_node, with Parallax as the matcher. Subscribes to
// left/image_rect, left/camera_info, right/image_rect and right/camera_info, and publishes disparity.
#include <memory>
#include <optional>
#include <string>

#include <image_transport/subscriber_filter.hpp>
#include <message_filters/subscriber.h>
#include <message_filters/sync_policies/approximate_time.h>
#include <message_filters/sync_policies/exact_time.h>
#include <message_filters/synchronizer.h>
#include <rclcpp/rclcpp.hpp>

#include "messages.h"

namespace parallax_ros {

using sensor_msgs::msg::CameraInfo, sensor_msgs::msg::Image, stereo_msgs::msg::DisparityImage;

class DisparityNode : public rclcpp::Node {
 public:
  explicit DisparityNode(const rclcpp::NodeOptions& options)
      : rclcpp::Node("disparity", options),
        parameters_(parallax::parameters_from_json(
            declare_parameter<std::string>("matcher", R"({"method": "sgm", "disparities": 64})"))),
        device_(parallax::Device::parse(declare_parameter<std::string>("device", "cpu"))) {
    publisher_ = create_publisher<DisparityImage>("disparity", 1);
    // One message waits, so that a slow match drops frames instead of falling behind.
    const rclcpp::QoS quality = rclcpp::SensorDataQoS().keep_last(1);
    const std::string transport = declare_parameter<std::string>("image_transport", "raw");
    left_.subscribe(this, "left/image_rect", transport, quality.get_rmw_qos_profile());
    right_.subscribe(this, "right/image_rect", transport, quality.get_rmw_qos_profile());
    left_info_.subscribe(this, "left/camera_info", quality.get_rmw_qos_profile());
    right_info_.subscribe(this, "right/camera_info", quality.get_rmw_qos_profile());
    // Two cameras without a common trigger have time stamps that differ.
    const auto queue = static_cast<std::uint32_t>(declare_parameter<int>("queue_size", 5));
    if (declare_parameter<bool>("approximate_sync", false))
      connect(approximate_, queue);
    else
      connect(exact_, queue);
  }

 private:
  template <class Policy>
  using Pairs = std::optional<message_filters::Synchronizer<Policy>>;
  using Exact = message_filters::sync_policies::ExactTime<Image, CameraInfo, Image, CameraInfo>;
  using Approximate = message_filters::sync_policies::ApproximateTime<Image, CameraInfo, Image, CameraInfo>;

  template <class Policy>
  void connect(Pairs<Policy>& pairs, std::uint32_t queue) {
    pairs.emplace(Policy(queue), left_, left_info_, right_, right_info_);
    pairs->registerCallback(&DisparityNode::match, this);
  }

  // After an error, the node goes on with the next pair.
  void match(const Image::ConstSharedPtr& left, const CameraInfo::ConstSharedPtr& left_info,
             const Image::ConstSharedPtr& right, const CameraInfo::ConstSharedPtr& right_info) {
    try {
      const parallax::Calibration rig = calibration_of(*left_info, *right_info);
      const Picture left_picture = picture_of(*left), right_picture = picture_of(*right);
      plan(left_picture.view.format);
      matcher_->run({left_picture.view, right_picture.view}, map_->map());
      publisher_->publish(message_of(*map_, rig, parameters_, left->header));
    } catch (const std::exception& error) {
      RCLCPP_ERROR(get_logger(), "no disparity image: %s", error.what());
    }
  }

  // Pictures of another size or depth need another plan.
  void plan(const parallax::ImageFormat& format) {
    if (matcher_ && format == format_) return;
    matcher_.reset();
    matcher_.emplace(parameters_, device_, format);
    map_.emplace(matcher_->make_result());
    format_ = format;
  }

  const parallax::MatcherParameters parameters_;
  const parallax::Device device_;
  parallax::ImageFormat format_;
  std::optional<parallax::Matcher> matcher_;
  std::optional<parallax::Result> map_;
  rclcpp::Publisher<DisparityImage>::SharedPtr publisher_;
  image_transport::SubscriberFilter left_, right_;
  message_filters::Subscriber<CameraInfo> left_info_, right_info_;
  Pairs<Exact> exact_;
  Pairs<Approximate> approximate_;
};

}  // namespace parallax_ros

#include <rclcpp_components/register_node_macro.hpp>
RCLCPP_COMPONENTS_REGISTER_NODE(parallax_ros::DisparityNode)
