// SPDX-License-Identifier: Apache-2.0
// Pairs as they come from one camera with both views in each picture, or from two cameras.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tools/files/frames.h"
#include "tools/files/video.h"

namespace parallax::tool {

struct CameraOptions {
  // One camera that has both views, or two cameras: a number or a path of Video4Linux, or a video, which is
  // played again and again at its own rate.
  std::vector<std::string> cameras;
  Layout layout = Layout::side_by_side;  // layout of the views of one camera
  double max_skew = 0;                   // seconds between the pictures of a pair; 0 = half a picture's time
  bool waits = false;                    // for a camera that is gone, instead of ending
};

// A pair, when its last picture came, and by how many seconds the right picture is later.
struct LivePair {
  Frame frame;
  std::chrono::steady_clock::time_point arrival;
  double skew = 0;
};

// What became of the pictures that came.
struct CameraCounts {
  std::uint64_t pairs = 0,
                skipped = 0;   // pairs that came, and those that nobody took before the next one came
  std::uint64_t unpaired = 0;  // pictures without a partner
};

// The device or file of a camera: "0" is /dev/video0.
std::string device_of_camera(const std::string& camera);
// \throws UsageError unless the cameras are enough for two views
void check_cameras(const std::vector<std::string>& cameras, const Input& input);

// Reads in threads of its own, so that a pair is never older than one picture, however slow the reader is.
// Pictures of two cameras are paired by their time stamps, or, once these have gone back, by when they come.
class Cameras {
 public:
  // \throws UsageError, Error (file)
  explicit Cameras(const CameraOptions& options);
  Cameras(const Cameras&) = delete;
  Cameras& operator=(const Cameras&) = delete;
  ~Cameras();

  // The newest pair, once its number is at least this one; pairs are counted from 0. False if none came in
  // this time.
  // \throws Error (file) when a camera ends, unless it is waited for
  bool newest(std::size_t number, std::chrono::milliseconds patience, LivePair& pair);
  CameraCounts counts() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Shot {
    Picture picture;
    double seconds;
    Clock::time_point arrival;
  };
  struct Camera {
    std::string name;
    std::unique_ptr<VideoReader> reader;
    std::deque<Shot> shots;  // that have no partner yet
    std::uint64_t pictures = 0;
    double last = 0, interval = 0;  // seconds: time of the last picture, and from one to the next
  };

  void read(Camera& camera);
  void read_on(Camera& camera);
  bool read_until_it_ends(Camera& camera, std::string& reason);
  void reopen(Camera& camera);
  std::string take(Camera& camera, Picture&& picture, double seconds);
  std::string pair_up();
  void fail(const std::string& error);
  void join();
  double max_skew() const;
  void drop_first(Camera& camera);

  CameraOptions options_;
  std::vector<Camera> cameras_;
  mutable std::mutex mutex_;
  std::condition_variable arrival_, stop_;
  std::vector<Shot> newest_;  // newest picture of each camera's pair
  CameraCounts counts_;
  std::uint64_t taken_ = 0;    // number after the last pair that was taken
  bool uses_arrival_ = false;  // as time stamps
  std::uint64_t unpaired_in_a_row_ = 0;
  std::string error_;
  std::atomic<bool> stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace parallax::tool
