// SPDX-License-Identifier: Apache-2.0
// Compares the latency of the element, from the push of a pair to its map, with the matcher's own time.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <gst/check/gstharness.h>
#include <gst/gst.h>
#include <parallax/parallax_c.h>

namespace {

constexpr int width = 640, height = 480;

void check(parallax_code code) {
  if (code == PARALLAX_OK) return;
  std::fprintf(stderr, "%s\n", parallax_error_message());
  std::exit(1);
}

struct Pair {
  std::vector<unsigned char> left, right;  // red, green, blue
};

Pair make_pair() {
  Pair pair{std::vector<unsigned char>(width * height * 3), std::vector<unsigned char>(width * height * 3)};
  std::vector<float> truth(width * height);
  const parallax_output left{sizeof(left), pair.left.data(), width, height, width * 3, PARALLAX_UINT8, 3};
  const parallax_output right{sizeof(right), pair.right.data(), width, height, width * 3, PARALLAX_UINT8, 3};
  const parallax_output exact{sizeof(exact), truth.data(), width, height, width * 4, PARALLAX_FLOAT32, 1};
  check(parallax_synthesize("layers", 64, 1, &left, &right, &exact));
  return pair;
}

template <class Run>
double milliseconds(const Run& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// A matcher outside GStreamer.
class OwnMatcher {
 public:
  OwnMatcher(const std::string& method, const std::string& preset, int threads) {
    check(parallax_matcher_create(method.c_str(), preset.c_str(), &matcher_));
    check(parallax_matcher_set_device(matcher_, "cpu", threads));
    check(parallax_matcher_plan(matcher_, width, height, PARALLAX_UINT8));
  }
  ~OwnMatcher() { parallax_matcher_release(matcher_); }
  OwnMatcher(const OwnMatcher&) = delete;
  OwnMatcher& operator=(const OwnMatcher&) = delete;

  void run(const Pair& frames) {
    const parallax_image left{sizeof(left), frames.left.data(), width, height, width * 3, PARALLAX_UINT8, 3};
    const parallax_image right{sizeof(right), frames.right.data(), width, height,
                               width * 3,     PARALLAX_UINT8,      3};
    const parallax_output disparity{sizeof(disparity), disparity_.data(), width, height,
                                    width * 4,         PARALLAX_FLOAT32,  1};
    const parallax_output status{sizeof(status), status_.data(), width, height, width, PARALLAX_UINT8, 1};
    const parallax_pair pair{sizeof(pair), &left, &right, nullptr, nullptr, nullptr};
    const parallax_map map{sizeof(map), &disparity, &status, nullptr, nullptr, nullptr};
    check(parallax_matcher_run(matcher_, &pair, &map));
  }

 private:
  parallax_matcher* matcher_ = nullptr;
  std::vector<float> disparity_ = std::vector<float>(width * height);
  std::vector<unsigned char> status_ = std::vector<unsigned char>(width * height);
};

class Element {
 public:
  Element(const std::string& method, const std::string& preset, int threads) {
    element_ = gst_parse_launch(("parallaxstereo device=cpu threads=" + std::to_string(threads) +
                                 " method=" + method + " preset=" + preset)
                                    .c_str(),
                                nullptr);
    if (element_ == nullptr) {
      std::fprintf(stderr,
                   "no element parallaxstereo: set GST_PLUGIN_PATH to the folder of libgstparallax.so\n");
      std::exit(1);
    }
    left_ = gst_harness_new_with_element(element_, "sink_left", "src");
    right_ = gst_harness_new_with_element(element_, "sink_right", nullptr);
    const std::string caps = "video/x-raw,format=RGB,framerate=5/1,width=" + std::to_string(width) +
                             ",height=" + std::to_string(height);
    gst_harness_set_src_caps_str(left_, caps.c_str());
    gst_harness_set_src_caps_str(right_, caps.c_str());
  }
  ~Element() {
    gst_harness_teardown(right_);
    gst_harness_teardown(left_);
    gst_object_unref(element_);
  }
  Element(const Element&) = delete;
  Element& operator=(const Element&) = delete;

  // Returns the time from the push of the second frame to the arrival of the map.
  double run(const Pair& frames) {
    GstBuffer *left = buffer(frames.left), *right = buffer(frames.right);
    time_ += GST_SECOND / 5;
    gst_harness_push(left_, left);
    return milliseconds([&] {
      gst_harness_push(right_, right);
      gst_buffer_unref(gst_harness_pull(left_));
    });
  }

 private:
  GstBuffer* buffer(const std::vector<unsigned char>& pixels) const {
    GstBuffer* made = gst_buffer_new_memdup(pixels.data(), pixels.size());
    GST_BUFFER_PTS(made) = time_;
    return made;
  }

  GstElement* element_;
  GstHarness *left_, *right_;
  GstClockTime time_ = 0;
};

void compare(const Pair& frames, const std::string& method, const std::string& preset, int threads,
             int repetitions) {
  OwnMatcher matcher(method, preset, threads);
  Element element(method, preset, threads);
  std::vector<double> own, latency, difference;
  for (int i = -3; i < repetitions; ++i) {  // the first three warm up
    const double own_time = milliseconds([&] { matcher.run(frames); }), element_time = element.run(frames);
    if (i < 0) continue;
    own.push_back(own_time);
    latency.push_back(element_time);
    difference.push_back(element_time - own_time);
  }
  std::printf("%-9s %-9s %8.2f ms %8.2f ms %+7.2f ms %+6.1f %%\n", method.c_str(), preset.c_str(),
              median(own), median(latency), median(difference), 100 * median(difference) / median(own));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  gst_init(&argc, &argv);
  const int threads = argc > 1 ? std::atoi(argv[1]) : 0;  // 0 = one for each core
  const Pair frames = make_pair();
  std::printf("%dx%d, 64 disparities, medians\n%-9s %-9s %11s %11s %10s\n", width, height, "method", "preset",
              "matcher", "element", "more");
  compare(frames, "block", "default", threads, 201);
  compare(frames, "census", "fast", threads, 201);
  compare(frames, "census", "default", threads, 201);
  compare(frames, "bp", "default", threads, 31);
}
