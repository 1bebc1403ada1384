// SPDX-License-Identifier: Apache-2.0
// Those parts of ROS 2 that examples/ros2 uses, under the same names, without ROS: a test delivers messages
// and reads what is published and logged.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace std_msgs::msg {
struct Header {
  std::string frame_id;
};
}  // namespace std_msgs::msg

namespace sensor_msgs::msg {
struct Image {
  using ConstSharedPtr = std::shared_ptr<const Image>;
  std_msgs::msg::Header header;
  std::uint32_t height = 0, width = 0;
  std::string encoding;
  std::uint8_t is_bigendian = 0;
  std::uint32_t step = 0;
  std::vector<std::uint8_t> data;
};
struct CameraInfo {
  using ConstSharedPtr = std::shared_ptr<const CameraInfo>;
  std::array<double, 12> p = {};
};
struct RegionOfInterest {
  std::uint32_t x_offset = 0, y_offset = 0, height = 0, width = 0;
};
}  // namespace sensor_msgs::msg

namespace stereo_msgs::msg {
struct DisparityImage {
  std_msgs::msg::Header header;
  sensor_msgs::msg::Image image;
  float f = 0, t = 0;
  sensor_msgs::msg::RegionOfInterest valid_window;
  float min_disparity = 0, max_disparity = 0, delta_d = 0;
};
}  // namespace stereo_msgs::msg

struct rmw_qos_profile_t {};

namespace rclcpp {

using Value = std::variant<bool, int, std::string>;

struct QoS {
  QoS(std::size_t) {}
  QoS& keep_last(std::size_t) { return *this; }
  rmw_qos_profile_t get_rmw_qos_profile() const { return {}; }
};
struct SensorDataQoS : QoS {
  SensorDataQoS() : QoS(5) {}
};
struct Logger {};

struct NodeOptions {
  std::map<std::string, Value> parameters;
};

template <class Message>
struct Publisher {
  using SharedPtr = std::shared_ptr<Publisher>;
  void publish(const Message& message) { published.push_back(message); }
  std::vector<Message> published;
};

// What a test sees.
inline Publisher<stereo_msgs::msg::DisparityImage>::SharedPtr last_publisher;
inline std::string last_error;

class Node {
 public:
  Node(const std::string&, const NodeOptions& options) : options_(options) {}
  template <class T>
  T declare_parameter(const std::string& name, const T& otherwise) {
    const auto given = options_.parameters.find(name);
    return given == options_.parameters.end() ? otherwise : std::get<T>(given->second);
  }
  template <class Message>
  typename Publisher<Message>::SharedPtr create_publisher(const std::string&, const QoS&) {
    return last_publisher = std::make_shared<Publisher<Message>>();
  }
  Logger get_logger() const { return {}; }

 private:
  NodeOptions options_;
};

template <class... Arguments>
void log_error(const Logger&, const char* format, Arguments... arguments) {
  char line[1000];
  std::snprintf(line, sizeof line, format, arguments...);
  last_error = line;
}

}  // namespace rclcpp

#define RCLCPP_ERROR(...) rclcpp::log_error(__VA_ARGS__)
#define RCLCPP_COMPONENTS_REGISTER_NODE(type)

namespace message_filters {

template <class Message>
struct Subscriber {
  void subscribe(rclcpp::Node*, const std::string&, rmw_qos_profile_t) {}
};

namespace sync_policies {
template <class... Messages>
struct ExactTime {
  explicit ExactTime(std::uint32_t) {}
};
template <class... Messages>
struct ApproximateTime : ExactTime<Messages...> {
  using ExactTime<Messages...>::ExactTime;
};
}  // namespace sync_policies

// The callback of the last synchronizer, which a test calls.
inline std::function<void(
    const sensor_msgs::msg::Image::ConstSharedPtr&, const sensor_msgs::msg::CameraInfo::ConstSharedPtr&,
    const sensor_msgs::msg::Image::ConstSharedPtr&, const sensor_msgs::msg::CameraInfo::ConstSharedPtr&)>
    deliver;

template <class Policy>
struct Synchronizer {
  template <class... Filters>
  explicit Synchronizer(const Policy&, Filters&...) {}
  template <class Node, class... Messages>
  void registerCallback(void (Node::*callback)(Messages...), Node* node) {
    deliver = [=](Messages... messages) { (node->*callback)(messages...); };
  }
};

}  // namespace message_filters

namespace image_transport {
struct SubscriberFilter {
  void subscribe(rclcpp::Node*, const std::string&, const std::string&, rmw_qos_profile_t) {}
};
}  // namespace image_transport
