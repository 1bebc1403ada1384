// SPDX-License-Identifier: Apache-2.0
#include "stereo_harness.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

namespace parallax_gst::test {
namespace {

void expect_ok(parallax_code code) {
  ASSERT_EQ(code, PARALLAX_OK) << parallax_error_message();
}

GstVideoInfo info_of(const Scene& scene, GstVideoFormat format, int views = 1) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, format, static_cast<guint>(scene.width * views),
                            static_cast<guint>(scene.height));
  return info;
}

// GRAY16_LE takes red and green as its two bytes, so that the lower byte matters, too.
Bytes converted(const Bytes& rgb, const Scene& scene, int first, int step, int count) {
  const GstVideoInfo info = info_of(scene, scene.format);
  const auto stride = static_cast<std::size_t>(GST_VIDEO_INFO_PLANE_STRIDE(&info, 0));
  Bytes pixels(GST_VIDEO_INFO_SIZE(&info));
  for (int y = 0; y < scene.height; ++y)
    for (int x = 0; x < scene.width; ++x)
      for (int i = 0; i < count; ++i)
        pixels[y * stride + x * count + i] =
            rgb[(static_cast<std::size_t>(y) * scene.width + x) * 3 + first + i * step];
  return pixels;
}

Bytes converted(const Bytes& rgb, const Scene& scene) {
  if (scene.format == GST_VIDEO_FORMAT_RGB) return converted(rgb, scene, 0, 1, 3);
  if (scene.format == GST_VIDEO_FORMAT_GRAY16_LE) return converted(rgb, scene, 1, -1, 2);
  return converted(rgb, scene, 1, 1, 1);
}

parallax_image image_of(const Scene& scene, const Bytes& pixels) {
  const GstVideoInfo info = info_of(scene, scene.format);
  return {sizeof(parallax_image),
          pixels.data(),
          scene.width,
          scene.height,
          GST_VIDEO_INFO_PLANE_STRIDE(&info, 0),
          scene.format == GST_VIDEO_FORMAT_GRAY16_LE ? PARALLAX_UINT16 : PARALLAX_UINT8,
          scene.format == GST_VIDEO_FORMAT_RGB ? 3 : 1};
}

template <class T>
parallax_output output_of(std::vector<T>& values, const Scene& scene, int channels, parallax_type type) {
  values.resize(static_cast<std::size_t>(scene.width) * scene.height * channels);
  return {sizeof(parallax_output),
          values.data(),
          scene.width,
          scene.height,
          static_cast<std::int64_t>(scene.width * channels * sizeof(T)),
          type,
          channels};
}

}  // namespace

Scene make_scene(int width, int height, GstVideoFormat format, std::uint64_t seed) {
  Scene scene{width, height, format, {}, {}};
  Bytes left, right;
  std::vector<float> truth;
  const parallax_output outputs[] = {output_of(left, scene, 3, PARALLAX_UINT8),
                                     output_of(right, scene, 3, PARALLAX_UINT8),
                                     output_of(truth, scene, 1, PARALLAX_FLOAT32)};
  expect_ok(parallax_synthesize("layers", 16, seed, &outputs[0], &outputs[1], &outputs[2]));
  scene.left = converted(left, scene);
  scene.right = converted(right, scene);
  return scene;
}

Bytes side_by_side(const Scene& scene) {
  const GstVideoInfo one = info_of(scene, scene.format), both = info_of(scene, scene.format, 2);
  const int from = GST_VIDEO_INFO_PLANE_STRIDE(&one, 0), to = GST_VIDEO_INFO_PLANE_STRIDE(&both, 0);
  const int row = scene.width * GST_VIDEO_INFO_COMP_PSTRIDE(&one, 0);
  Bytes pixels(GST_VIDEO_INFO_SIZE(&both));
  for (int y = 0; y < scene.height; ++y) {
    std::copy_n(&scene.left[static_cast<std::size_t>(y * from)], row,
                &pixels[static_cast<std::size_t>(y * to)]);
    std::copy_n(&scene.right[static_cast<std::size_t>(y * from)], row,
                &pixels[static_cast<std::size_t>(y * to + row)]);
  }
  return pixels;
}

Bytes expected_map(const Scene& scene, const std::string& method, const std::string& json, float scale,
                   parallax_temporal_filter* filter) {
  parallax_matcher* matcher = nullptr;
  expect_ok(parallax_matcher_create(method.c_str(), nullptr, &matcher));
  expect_ok(parallax_matcher_set_json(matcher, json.c_str()));
  parallax_image left = image_of(scene, scene.left), right = image_of(scene, scene.right);
  // The element finds which values of 16 bits are black and white.
  Bytes stretched[2];
  if (left.type == PARALLAX_UINT16) {
    const parallax_pair stored{sizeof(parallax_pair), &left, &right, nullptr, nullptr, nullptr};
    std::int32_t low = 0, high = 0;
    expect_ok(parallax_find_value_range(&stored, &low, &high));
    for (parallax_image* image : {&left, &right}) {
      Bytes& values = stretched[image == &left ? 0 : 1];
      values.resize(std::size_t{2} * scene.width * scene.height);
      const parallax_output output{sizeof(parallax_output),
                                   values.data(),
                                   scene.width,
                                   scene.height,
                                   2 * scene.width,
                                   PARALLAX_UINT16,
                                   1};
      expect_ok(parallax_stretch(image, low, high, &output));
      image->data = values.data();
      image->stride_bytes = output.stride_bytes;
    }
  }
  expect_ok(parallax_matcher_plan(matcher, scene.width, scene.height, left.type));
  std::vector<float> disparity;
  Bytes status;
  const parallax_output disparity_output = output_of(disparity, scene, 1, PARALLAX_FLOAT32);
  const parallax_output status_output = output_of(status, scene, 1, PARALLAX_UINT8);
  const parallax_pair pair{sizeof(parallax_pair), &left, &right, nullptr, nullptr, nullptr};
  const parallax_map map{sizeof(parallax_map), &disparity_output, &status_output, nullptr, nullptr, nullptr};
  expect_ok(parallax_matcher_run(matcher, &pair, &map));
  if (filter != nullptr) expect_ok(parallax_temporal_filter_run(filter, &pair, &map));
  parallax_matcher_release(matcher);

  const auto stride = static_cast<std::size_t>((2 * scene.width + 3) / 4 * 4);
  Bytes result(stride * scene.height);
  for (int y = 0; y < scene.height; ++y)
    for (int x = 0; x < scene.width; ++x) {
      const float d = disparity[static_cast<std::size_t>(y) * scene.width + x];
      int value = 0;
      if (std::isfinite(d))
        value = static_cast<int>(std::clamp(std::floor(d * scale + 0.5f), 1.0f, 65535.0f));
      result[y * stride + 2 * x] = static_cast<std::uint8_t>(value % 256);
      result[y * stride + 2 * x + 1] = static_cast<std::uint8_t>(value / 256);
    }
  return result;
}

std::string caps_of(const Scene& scene, int views) {
  return std::string("video/x-raw,format=") + gst_video_format_to_string(scene.format) +
         ",width=" + std::to_string(scene.width * views) + ",height=" + std::to_string(scene.height) +
         ",framerate=" + std::to_string(frames_per_second) + "/1";
}

GstBuffer* buffer_of(const Input& input) {
  GstBuffer* buffer = gst_buffer_new_memdup(input.pixels.data(), input.pixels.size());
  GST_BUFFER_PTS(buffer) = input.time;
  GST_BUFFER_DURATION(buffer) = frame_time;
  return buffer;
}

Bytes bytes_of(GstBuffer* buffer) {
  Bytes bytes(gst_buffer_get_size(buffer));
  gst_buffer_extract(buffer, 0, bytes.data(), bytes.size());
  return bytes;
}

std::vector<Message> take_messages(GstBus* bus) {
  std::vector<Message> found;
  const auto types = static_cast<GstMessageType>(GST_MESSAGE_WARNING | GST_MESSAGE_ERROR);
  while (GstMessage* message = gst_bus_pop_filtered(bus, types)) {
    GError* error = nullptr;
    const GstStructure* details = nullptr;
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_WARNING) {
      gst_message_parse_warning(message, &error, nullptr);
      gst_message_parse_warning_details(message, &details);
    } else {
      gst_message_parse_error(message, &error, nullptr);
    }
    const char* pad = details == nullptr ? nullptr : gst_structure_get_string(details, "pad");
    found.push_back({GST_MESSAGE_TYPE(message), error->message, pad == nullptr ? "" : pad});
    g_error_free(error);
    gst_message_unref(message);
  }
  return found;
}

StereoHarness::StereoHarness(const std::string& properties) : bus_(gst_bus_new()) {
  GError* error = nullptr;
  element_ = gst_parse_launch(("parallaxstereo " + properties).c_str(), &error);
  if (error != nullptr) throw std::runtime_error(error->message);
  gst_object_ref_sink(element_);
  gst_element_set_bus(element_, bus_);
  if (properties.find("side-by-side") != std::string::npos) {
    left_ = gst_harness_new_with_element(element_, "sink", "src");
  } else {
    left_ = gst_harness_new_with_element(element_, "sink_left", "src");
    right_ = gst_harness_new_with_element(element_, "sink_right", nullptr);
  }
}

StereoHarness::~StereoHarness() {
  for (GstBuffer* buffer : pulled_) gst_buffer_unref(buffer);
  if (right_ != nullptr) gst_harness_teardown(right_);
  gst_harness_teardown(left_);
  gst_element_set_bus(element_, nullptr);
  gst_object_unref(element_);
  gst_object_unref(bus_);
}

void StereoHarness::set_caps(const Scene& scene) {
  gst_harness_set_src_caps_str(left_, caps_of(scene, right_ == nullptr ? 2 : 1).c_str());
  if (right_ != nullptr) gst_harness_set_src_caps_str(right_, caps_of(scene).c_str());
}

std::vector<GstBuffer*> StereoHarness::run(const std::vector<Input>& left, const std::vector<Input>& right) {
  const auto push = [](GstHarness* harness, const std::vector<Input>& inputs) {
    for (const Input& input : inputs) gst_harness_push(harness, buffer_of(input));
    gst_harness_push_event(harness, gst_event_new_eos());
  };
  std::thread other([&] {
    if (right_ != nullptr) push(right_, right);
  });
  push(left_, left);
  other.join();
  for (bool ended = false; !ended;) {
    GstEvent* event = gst_harness_pull_event(left_);
    if (event == nullptr) throw std::runtime_error("the element did not end its stream within a minute");
    ended = GST_EVENT_TYPE(event) == GST_EVENT_EOS;
    gst_event_unref(event);
  }
  std::vector<GstBuffer*> outputs;
  while (GstBuffer* buffer = gst_harness_try_pull(left_)) outputs.push_back(buffer);
  pulled_.insert(pulled_.end(), outputs.begin(), outputs.end());
  return outputs;
}

Bytes StereoHarness::map_of(const Scene& scene, GstClockTime time) {
  if (right_ != nullptr) gst_harness_push(right_, buffer_of({scene.right, time}));
  gst_harness_push(left_, buffer_of({right_ == nullptr ? side_by_side(scene) : scene.left, time}));
  GstBuffer* buffer = gst_harness_pull(left_);
  if (buffer == nullptr) throw std::runtime_error("the element made no map within a minute");
  pulled_.push_back(buffer);
  return bytes_of(buffer);
}

std::uint64_t StereoHarness::unpaired() const {
  guint64 count = 0;
  g_object_get(element_, "unpaired", &count, nullptr);
  return count;
}

}  // namespace parallax_gst::test
