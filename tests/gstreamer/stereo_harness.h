// SPDX-License-Identifier: Apache-2.0
// An element `parallaxstereo` between harnesses, and the maps that it must make.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gst/check/gstharness.h>
#include <gst/gst.h>
#include <gst/video/video.h>
#include <gtest/gtest.h>
#include <parallax/parallax_c.h>

namespace parallax_gst::test {

// Rows without gaps, or with the gaps of GstVideoInfo's default layout.
using Bytes = std::vector<std::uint8_t>;

struct Scene {
  int width, height;
  GstVideoFormat format;
  Bytes left, right;  // in the layout of GstVideoInfo
};
Scene make_scene(int width, int height, GstVideoFormat format, std::uint64_t seed = 1);
Bytes side_by_side(const Scene& scene);

// The map of the C interface, converted: floor(disparity · scale + 1/2) in 1…65535, 0 = none. `json` is the
// argument of parallax_matcher_set_json().
// `filter`, if any, steadies it.
Bytes expected_map(const Scene& scene, const std::string& method, const std::string& json, float scale = 256,
                   parallax_temporal_filter* filter = nullptr);

constexpr int frames_per_second = 25;
constexpr GstClockTime frame_time = GST_SECOND / frames_per_second;
std::string caps_of(const Scene& scene, int views = 1);

struct Input {
  Bytes pixels;
  GstClockTime time;
};
struct Message {
  GstMessageType type;
  std::string text;
  std::string pad;  // the pad in a warning about a frame without a partner
};

// Takes the warnings and errors from a bus.
std::vector<Message> take_messages(GstBus* bus);

class StereoHarness {
 public:
  // `properties` are written as for gst-launch: "method=block disparities=16".
  explicit StereoHarness(const std::string& properties);
  ~StereoHarness();
  StereoHarness(const StereoHarness&) = delete;
  StereoHarness& operator=(const StereoHarness&) = delete;

  GstElement* element() const { return element_; }
  GstHarness* left() const { return left_; }    // or the only input
  GstHarness* right() const { return right_; }  // NULL if side by side
  void set_caps(const Scene& scene);

  // Pushes all inputs and the ends of the streams at once, and returns all outputs.
  std::vector<GstBuffer*> run(const std::vector<Input>& left, const std::vector<Input>& right = {});
  // Pushes one pair and returns its map.
  Bytes map_of(const Scene& scene, GstClockTime time);

  std::vector<Message> messages() const { return take_messages(bus_); }
  std::uint64_t unpaired() const;

 private:
  GstElement* element_;
  GstBus* bus_;
  GstHarness *left_ = nullptr, *right_ = nullptr;
  std::vector<GstBuffer*> pulled_;
};

GstBuffer* buffer_of(const Input& input);
Bytes bytes_of(GstBuffer* buffer);

}  // namespace parallax_gst::test
