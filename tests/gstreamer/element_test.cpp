// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "stereo_harness.h"

namespace parallax_gst::test {
namespace {

constexpr const char* fast = "method=block disparities=16";
constexpr const char* fast_json = R"({"disparities": 16})";

Scene small(std::uint64_t seed = 1) {
  return make_scene(97, 41, GST_VIDEO_FORMAT_GRAY8, seed);
}

GstClockTime at(int frame) {
  return static_cast<GstClockTime>(frame) * frame_time;
}

void expect_same(const Bytes& expected, const Bytes& actual, const std::string& what) {
  EXPECT_TRUE(expected == actual) << what << ": " << expected.size() << " and " << actual.size() << " bytes";
}

// Frames that differ, with the map of each.
struct Sequence {
  explicit Sequence(int count) {
    for (int i = 0; i < count; ++i) {
      const Scene scene = small(static_cast<std::uint64_t>(i % 5));
      left.push_back({scene.left, at(i)});
      right.push_back({scene.right, at(i)});
      both.push_back({side_by_side(scene), at(i)});
      maps.push_back(expected_map(scene, "block", fast_json));
    }
  }
  std::vector<Input> left, right, both;
  std::vector<Bytes> maps;
};

// Expects the maps of the frames that `skipped` does not name.
void expect_maps(const Sequence& sequence, const std::vector<GstBuffer*>& outputs,
                 const std::vector<int>& skipped = {}) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < sequence.maps.size(); ++i) {
    if (std::find(skipped.begin(), skipped.end(), static_cast<int>(i)) != skipped.end()) continue;
    ASSERT_LT(next, outputs.size());
    GstBuffer* output = outputs[next++];
    expect_same(sequence.maps[i], bytes_of(output), "frame " + std::to_string(i));
    EXPECT_EQ(GST_BUFFER_PTS(output), sequence.left[i].time);
    EXPECT_EQ(GST_BUFFER_DURATION(output), frame_time);
  }
  EXPECT_EQ(next, outputs.size());
}

TEST(Element, EveryMethodGivesTheMapOfTheCInterface) {
  for (const std::string method : {"block", "bp", "census", "tiled-bp"})
    for (const GstVideoFormat format :
         {GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_GRAY16_LE, GST_VIDEO_FORMAT_RGB}) {
      const Scene scene = make_scene(97, 41, format);
      StereoHarness harness("disparities=16 threads=1 method=" + method);
      harness.set_caps(scene);
      expect_same(expected_map(scene, method, fast_json), harness.map_of(scene, 0),
                  method + " " + gst_video_format_to_string(format));
    }
}

TEST(Element, TemporalSteadiesTheMapsOfAStream) {
  const auto frame = [](int width, unsigned number) {
    Scene scene = make_scene(width, 120, GST_VIDEO_FORMAT_GRAY8);
    for (std::size_t i = 0; i < scene.left.size(); ++i)  // noise
      scene.left[i] = static_cast<std::uint8_t>(scene.left[i] + (i * 7919 + number * 104729) % 5);
    return scene;
  };
  StereoHarness harness("method=census disparities=16 temporal=true");
  for (const int width : {160, 200}) {  // a new size is a new stream
    parallax_temporal_filter* filter = nullptr;
    ASSERT_EQ(parallax_temporal_filter_create(width, 120, PARALLAX_UINT8, 0, 1, &filter), PARALLAX_OK);
    for (unsigned number = 0; number < 4; ++number) {
      const Scene scene = frame(width, number);
      if (number == 0) harness.set_caps(scene);
      const Bytes alone = expected_map(scene, "census", fast_json),
                  steadied = expected_map(scene, "census", fast_json, 256, filter);
      expect_same(steadied, harness.map_of(scene, at(static_cast<int>(number))), std::to_string(number));
      EXPECT_EQ(number == 0, alone == steadied) << number;
    }
    parallax_temporal_filter_release(filter);
  }
}

TEST(Element, OddSizesOfBothLayouts) {
  for (const int width : {1, 32, 33, 34, 35})
    for (const int height : {1, 27}) {
      const Scene scene = make_scene(width, height, GST_VIDEO_FORMAT_RGB);
      const Bytes expected = expected_map(scene, "block", fast_json);
      for (const std::string layout : {"pads", "side-by-side"}) {
        StereoHarness harness(std::string(fast) + " layout=" + layout);
        harness.set_caps(scene);
        expect_same(expected, harness.map_of(scene, 0), layout + " " + std::to_string(width));
      }
    }
}

TEST(Element, ThirtyFramesOnTwoPads) {
  const Sequence sequence(30);
  StereoHarness harness(fast);
  harness.set_caps(small());
  expect_maps(sequence, harness.run(sequence.left, sequence.right));
  EXPECT_TRUE(harness.messages().empty());
  EXPECT_EQ(harness.unpaired(), 0u);
}

TEST(Element, ThirtyFramesSideBySide) {
  const Sequence sequence(30);
  StereoHarness harness(std::string(fast) + " layout=side-by-side");
  harness.set_caps(small());
  expect_maps(sequence, harness.run(sequence.both));
  EXPECT_TRUE(harness.messages().empty());
}

// Reverses the columns of rows without gaps.
template <class Pixel>
Bytes mirrored(const Bytes& bytes, int width) {
  Bytes result(bytes.size());
  const auto* from = reinterpret_cast<const Pixel*>(bytes.data());
  auto* to = reinterpret_cast<Pixel*>(result.data());
  for (std::size_t i = 0; i < bytes.size() / sizeof(Pixel); ++i) {
    const std::size_t x = i % static_cast<std::size_t>(width);
    to[i - x + static_cast<std::size_t>(width) - 1 - x] = from[i];
  }
  return result;
}

TEST(Element, BothMapsLieSideBySide) {
  const Scene scene = make_scene(96, 41, GST_VIDEO_FORMAT_GRAY8);
  Scene mirror = scene;
  mirror.left = mirrored<std::uint8_t>(scene.right, 96);
  mirror.right = mirrored<std::uint8_t>(scene.left, 96);
  const Bytes left = expected_map(scene, "block", fast_json);
  const Bytes right = mirrored<std::uint16_t>(expected_map(mirror, "block", fast_json), 96);
  ASSERT_NE(left, right);
  Bytes expected;
  for (std::size_t row = 0; row < left.size(); row += 2 * 96)
    for (const Bytes* half : {&left, &right})
      expected.insert(expected.end(), half->begin() + static_cast<std::ptrdiff_t>(row),
                      half->begin() + static_cast<std::ptrdiff_t>(row + 2 * 96));
  for (const std::string layout : {"pads", "side-by-side"}) {
    StereoHarness harness(std::string(fast) + " maps=both layout=" + layout);
    harness.set_caps(scene);
    expect_same(expected, harness.map_of(scene, 0), layout);
    EXPECT_TRUE(harness.messages().empty());
    gst_util_set_object_arg(G_OBJECT(harness.element()), "maps", "left");
    const std::vector<Message> messages = harness.messages();
    ASSERT_EQ(messages.size(), 1u);
    EXPECT_NE(messages[0].text.find("maps cannot change while"), std::string::npos);
  }
}

TEST(Element, OutputCaps) {
  const Scene scene = small();
  StereoHarness harness(std::string(fast) + " layout=side-by-side");
  harness.set_caps(scene);
  harness.map_of(scene, 0);
  GstCaps* caps = gst_pad_get_current_caps(harness.left()->sinkpad);
  GstCaps* expected = gst_caps_from_string(
      "video/x-raw,format=GRAY16_LE,width=97,height=41,framerate=25/1,pixel-aspect-ratio=1/1");
  EXPECT_TRUE(gst_caps_is_subset(caps, expected)) << gst_caps_to_string(caps);
  gst_caps_unref(caps);
  gst_caps_unref(expected);
}

TEST(Element, FramesWithoutAPartnerAreReported) {
  Sequence sequence(8);
  std::vector<Input> left = sequence.left, right = sequence.right;
  left.erase(left.begin() + 2);
  right.erase(right.begin() + 5);
  StereoHarness harness(fast);
  harness.set_caps(small());
  const std::vector<GstBuffer*> outputs = harness.run(left, right);
  expect_maps(sequence, outputs, {2, 5});
  EXPECT_EQ(harness.unpaired(), 2u);
  const std::vector<Message> messages = harness.messages();
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0].type, GST_MESSAGE_WARNING);
  EXPECT_EQ(messages[0].pad, "sink_right");
  EXPECT_NE(messages[0].text.find("the frame of sink_right at 0.08"), std::string::npos) << messages[0].text;
  EXPECT_EQ(messages[1].pad, "sink_left");
  for (std::size_t i = 1; i < outputs.size(); ++i)
    EXPECT_EQ(GST_BUFFER_FLAG_IS_SET(outputs[i], GST_BUFFER_FLAG_DISCONT), i == 2 || i == 4) << i;
}

TEST(Element, TheRestOfALongerStreamIsReported) {
  for (const bool left_is_longer : {true, false}) {
    const Sequence sequence(6);
    const std::vector<Input> shorter_left(sequence.left.begin(),
                                          sequence.left.end() - (left_is_longer ? 0 : 3));
    const std::vector<Input> shorter_right(sequence.right.begin(),
                                           sequence.right.end() - (left_is_longer ? 3 : 0));
    StereoHarness harness(fast);
    harness.set_caps(small());
    expect_maps(sequence, harness.run(shorter_left, shorter_right), {3, 4, 5});
    EXPECT_EQ(harness.unpaired(), 3u);
    EXPECT_EQ(harness.messages().size(), 3u);
  }
}

TEST(Element, TimesMayDifferByHalfAFrame) {
  for (const auto& [shift, pairs] :
       std::map<GstClockTime, std::size_t>{{frame_time / 2, 4}, {frame_time / 2 + 1, 3}}) {
    Sequence sequence(4);
    for (Input& input : sequence.right) input.time += shift;
    StereoHarness harness(fast);
    harness.set_caps(small());
    EXPECT_EQ(harness.run(sequence.left, sequence.right).size(), pairs);
    EXPECT_EQ(harness.unpaired(), 2 * (4 - pairs));
  }
}

// Running times count: the segment of one pad may start elsewhere.
TEST(Element, PairsByRunningTime) {
  Sequence sequence(3);
  StereoHarness harness(fast);
  harness.set_caps(small());
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  segment.start = segment.time = at(100);
  gst_harness_push_event(harness.right(), gst_event_new_segment(&segment));
  for (Input& input : sequence.right) input.time += at(100);
  expect_maps(sequence, harness.run(sequence.left, sequence.right));
}

TEST(Element, FramesWithoutTimesArePairedInOrder) {
  Sequence sequence(3);
  for (Input& input : sequence.left) input.time = GST_CLOCK_TIME_NONE;
  StereoHarness harness(fast);
  harness.set_caps(small());
  expect_maps(sequence, harness.run(sequence.left, sequence.right));
}

TEST(Element, AGapIsNoFrame) {
  const Sequence sequence(2);
  StereoHarness harness(fast);
  harness.set_caps(small());
  gst_harness_push_event(harness.left(), gst_event_new_gap(0, frame_time));
  expect_maps(sequence, harness.run({sequence.left[1]}, sequence.right), {0});
  EXPECT_EQ(harness.unpaired(), 1u);
}

TEST(Element, CapsMayChange) {
  StereoHarness harness(fast);
  GstClockTime time = 0;
  for (const auto format : {GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_GRAY16_LE, GST_VIDEO_FORMAT_RGB})
    for (const int width : {64, 97}) {
      const Scene scene = make_scene(width, width / 2, format);
      harness.set_caps(scene);
      expect_same(expected_map(scene, "block", fast_json), harness.map_of(scene, time),
                  std::to_string(width));
      time += frame_time;
    }
}

TEST(Element, PropertiesMayChange) {
  const Scene scene = small();
  StereoHarness harness(fast);
  harness.set_caps(scene);
  harness.map_of(scene, 0);
  g_object_set(harness.element(), "disparities", 24, "window", 5, nullptr);
  expect_same(expected_map(scene, "block", R"({"disparities": 24, "window": 5})"),
              harness.map_of(scene, frame_time), "changed");
}

TEST(Element, RunsAgainAfterAFlushAndAfterAStop) {
  const Scene scene = small();
  const Bytes expected = expected_map(scene, "block", fast_json);
  StereoHarness harness(fast);
  harness.set_caps(scene);
  expect_same(expected, harness.map_of(scene, at(10)), "first");
  for (GstHarness* input : {harness.left(), harness.right()})
    gst_harness_push_event(input, gst_event_new_flush_start());
  for (GstHarness* input : {harness.left(), harness.right()}) {
    gst_harness_push_event(input, gst_event_new_flush_stop(TRUE));
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_harness_push_event(input, gst_event_new_segment(&segment));
  }
  expect_same(expected, harness.map_of(scene, at(3)), "after a flush");

  gst_element_set_state(harness.element(), GST_STATE_NULL);
  gst_element_set_state(harness.element(), GST_STATE_PLAYING);
  for (GstHarness* input : {harness.left(), harness.right()})
    gst_harness_push_event(input, gst_event_new_stream_start("again"));
  harness.set_caps(scene);
  for (GstHarness* input : {harness.left(), harness.right()}) {
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_harness_push_event(input, gst_event_new_segment(&segment));
  }
  expect_same(expected, harness.map_of(scene, 0), "after a stop");
}

TEST(Element, ScaleAndLimits) {
  const Scene scene = small();
  StereoHarness opencv(std::string(fast) + " scale=16");
  opencv.set_caps(scene);
  expect_same(expected_map(scene, "block", fast_json, 16), opencv.map_of(scene, 0), "scale 16");
  EXPECT_TRUE(opencv.messages().empty());

  StereoHarness limited(std::string(fast) + " scale=60000");
  limited.set_caps(scene);
  expect_same(expected_map(scene, "block", fast_json, 60000), limited.map_of(scene, 0), "scale 60000");
  limited.map_of(scene, frame_time);
  const std::vector<Message> messages = limited.messages();
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_NE(messages[0].text.find("choose a smaller scale"), std::string::npos) << messages[0].text;
}

TEST(Element, AStrideOfThePicturesIsHonoured) {
  const Scene scene = make_scene(64, 30, GST_VIDEO_FORMAT_GRAY8);
  StereoHarness harness(fast);
  harness.set_caps(scene);
  Bytes padded(100 * 30, 255);
  for (int y = 0; y < 30; ++y) std::copy_n(&scene.left[y * 64], 64, &padded[y * 100]);
  GstBuffer* left = buffer_of({padded, 0});
  gsize offset[] = {0, 0, 0, 0};
  gint stride[] = {100, 0, 0, 0};
  gst_buffer_add_video_meta_full(left, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, 64, 30, 1, offset,
                                 stride);
  gst_harness_push(harness.left(), left);
  gst_harness_push(harness.right(), buffer_of({scene.right, 0}));
  GstBuffer* map = gst_harness_pull(harness.left());
  expect_same(expected_map(scene, "block", fast_json), bytes_of(map), "padded");
  gst_buffer_unref(map);
}

TEST(Element, ReportsTheLatencyOfAFrame) {
  const Scene scene = small();
  StereoHarness harness(fast);
  harness.set_caps(scene);
  harness.map_of(scene, 0);
  GstQuery* query = gst_query_new_latency();
  ASSERT_TRUE(gst_pad_peer_query(harness.left()->sinkpad, query));
  GstClockTime least = 0, most = 0;
  gst_query_parse_latency(query, nullptr, &least, &most);
  gst_query_unref(query);
  EXPECT_GE(least, frame_time);
  EXPECT_GE(most, least);
}

// The error that ends the change to PAUSED.
std::string error_of(const std::string& properties) {
  GstElement* element = gst_parse_launch(("parallaxstereo " + properties).c_str(), nullptr);
  gst_object_ref_sink(element);
  GstBus* bus = gst_bus_new();
  gst_element_set_bus(element, bus);
  EXPECT_EQ(gst_element_set_state(element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE) << properties;
  const std::vector<Message> messages = take_messages(bus);
  gst_element_set_state(element, GST_STATE_NULL);
  gst_element_set_bus(element, nullptr);
  gst_object_unref(bus);
  gst_object_unref(element);
  return messages.size() == 1 && messages[0].type == GST_MESSAGE_ERROR ? messages[0].text : "not one error";
}

TEST(Element, RefusesByName) {
  EXPECT_EQ(error_of("temporal=true maps=both"),
            "property 'temporal': steadies the map of the left view alone: choose maps=left");
  const std::map<std::string, std::string> refused = {
      {"window=8", "property 'window': window is 8: choose an odd number from 1 to 15"},
      {"method=block search-radius=3",
       "property 'search-radius': method block has no such parameter: leave it out, or choose method census"},
      {"cost=sad", "property 'cost': cost is sad: choose"},
      {"disparities=0", "property 'disparities': disparities is 0: choose a number from 1"},
      {"preset=quick", "property 'preset': preset is quick: choose default"},
      {"device=tpu", "property 'device' or 'threads': "},
      {"scale=-1", "property 'scale': is -1.000000: choose a number above 0"},
      {"method=bp outside-cost=much", "property 'outside-cost': outside_cost is much: choose"}};
  for (const auto& [properties, message] : refused) {
    const std::string error = error_of(properties);
    EXPECT_NE(error.find(message), std::string::npos) << properties << ": " << error;
  }
}

TEST(Element, RefusesWhatTheMatcherRefuses) {
  StereoHarness harness("method=bp cost=volume");
  const Scene scene = small();
  harness.set_caps(scene);
  gst_harness_push(harness.left(), buffer_of({scene.left, 0}));
  gst_harness_push(harness.right(), buffer_of({scene.right, 0}));
  gst_harness_push_event(harness.left(), gst_event_new_eos());
  gst_harness_push_event(harness.right(), gst_event_new_eos());
  std::vector<Message> messages;
  for (int i = 0; i < 200 && messages.empty(); ++i, g_usleep(10'000)) messages = harness.messages();
  ASSERT_FALSE(messages.empty());
  EXPECT_NE(messages[0].text.find("cost volume"), std::string::npos) << messages[0].text;
}

TEST(Element, RefusesFramesThatAreNoPair) {
  const Scene scene = small();
  const auto first_error = [](StereoHarness& harness) {
    std::vector<Message> messages;
    for (int i = 0; i < 200 && messages.empty(); ++i, g_usleep(10'000)) messages = harness.messages();
    return messages.empty() ? "no error" : messages[0].text;
  };
  StereoHarness sizes(fast);
  const Scene larger = make_scene(97, 43, GST_VIDEO_FORMAT_GRAY8);
  gst_harness_set_src_caps_str(sizes.left(), caps_of(scene).c_str());
  gst_harness_set_src_caps_str(sizes.right(), caps_of(larger).c_str());
  gst_harness_push(sizes.left(), buffer_of({scene.left, 0}));
  gst_harness_push(sizes.right(), buffer_of({larger.right, 0}));
  EXPECT_EQ(first_error(sizes),
            "left frames are 97×41 with 8 bits, right frames are 97×43 with 8 bits: both must have "
            "one size and depth");
  StereoHarness halves(std::string(fast) + " layout=side-by-side");
  gst_harness_set_src_caps_str(halves.left(), caps_of(scene).c_str());
  gst_harness_push(halves.left(), buffer_of({scene.left, 0}));
  EXPECT_EQ(first_error(halves), "frames are 97 pixels wide: side by side, the width must be even");
}

TEST(Element, LayoutIsFixedOnceLinked) {
  StereoHarness harness(fast);
  gst_util_set_object_arg(G_OBJECT(harness.element()), "layout", "side-by-side");
  const std::vector<Message> messages = harness.messages();
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_NE(messages[0].text.find("layout cannot change once"), std::string::npos);
  const Scene scene = small();
  harness.set_caps(scene);
  expect_same(expected_map(scene, "block", fast_json), harness.map_of(scene, 0), "pads");
}

TEST(Element, EveryParameterIsAPropertyWithItsPresetsValue) {
  const char* const* methods = nullptr;
  std::size_t method_count = 0;
  ASSERT_EQ(parallax_list_methods(&methods, &method_count), PARALLAX_OK);
  for (std::size_t m = 0; m < method_count; ++m) {
    GstElement* element = gst_element_factory_make("parallaxstereo", nullptr);
    ASSERT_NE(element, nullptr);
    gst_object_ref_sink(element);
    gst_util_set_object_arg(G_OBJECT(element), "method", methods[m]);
    const parallax_parameter* const* parameters = nullptr;
    std::size_t count = 0;
    ASSERT_EQ(parallax_list_parameters(methods[m], &parameters, &count), PARALLAX_OK);
    for (std::size_t i = 0; i < count; ++i) {
      std::string name = parameters[i]->name;
      std::replace(name.begin(), name.end(), '_', '-');
      GParamSpec* spec = g_object_class_find_property(G_OBJECT_GET_CLASS(element), name.c_str());
      ASSERT_NE(spec, nullptr) << name;
      GValue value = G_VALUE_INIT;
      g_value_init(&value, spec->value_type);
      g_object_get_property(G_OBJECT(element), name.c_str(), &value);
      gchar* text = gst_value_serialize(&value);
      const std::string actual = text, expected = parameters[i]->default_value;
      if (parameters[i]->kind == PARALLAX_INTEGER || parameters[i]->kind == PARALLAX_NUMBER)
        EXPECT_EQ(g_ascii_strtod(actual.c_str(), nullptr), g_ascii_strtod(expected.c_str(), nullptr)) << name;
      else
        EXPECT_EQ(actual, expected) << name;
      g_free(text);
      g_value_unset(&value);
    }
    gst_object_unref(element);
  }
}

TEST(Element, EveryKindOfPropertyReachesTheMatcher) {
  const Scene scene = small();
  const std::map<std::string, std::pair<std::string, std::string>> cases = {
      {"method=block full-row=true left-right-check=false",
       {"block", R"({"full_row": true, "left_right_check": false})"}},
      {"method=tiled-bp message-width=8 outside-cost=none early-out=false",
       {"tiled-bp", R"({"message_width": "8", "outside_cost": null, "early_out": false})"}},
      {"method=bp discontinuity-truncation=3 data-weight=0.06",
       {"bp", R"({"discontinuity_truncation": 3, "data_weight": 0.06})"}},
      {"method=tiled-bp discontinuity-truncation=3", {"tiled-bp", R"({"discontinuity_truncation": 3})"}},
      {"method=census preset=fast window=5", {"census", R"({"preset": "fast", "window": 5})"}}};
  for (const auto& [properties, expected] : cases) {
    StereoHarness harness(properties);
    harness.set_caps(scene);
    expect_same(expected_map(scene, expected.first, expected.second), harness.map_of(scene, 0), properties);
  }
}

}  // namespace
}  // namespace parallax_gst::test
