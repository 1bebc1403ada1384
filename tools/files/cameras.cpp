// SPDX-License-Identifier: Apache-2.0
#include "tools/files/cameras.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "tools/command/command.h"

namespace parallax::tool {
namespace {

using namespace std::chrono_literals;

// "0" is /dev/video0.
std::string device_of(const std::string& camera) {
  const bool is_number = !camera.empty() && camera.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? "/dev/video" + camera : camera;
}

}  // namespace

Cameras::Cameras(const CameraOptions& options) : options_(options), cameras_(options.cameras.size()) {
  for (std::size_t i = 0; i < cameras_.size(); ++i) {
    cameras_[i].name = device_of(options.cameras[i]);
    cameras_[i].reader = VideoReader::open_camera(cameras_[i].name);
  }
  for (Camera& camera : cameras_) threads_.emplace_back([this, &camera] { read(camera); });
}

Cameras::~Cameras() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    stop_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

bool Cameras::sleep(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return !stop_.wait_for(lock, time, [&] { return stopped_; });
}

void Cameras::read(Camera& camera) {
  std::string reason;
  while (read_until_it_ends(camera, reason)) {
    if (!options_.waits) {
      const std::lock_guard lock(mutex_);
      error_ = reason;
      arrival_.notify_all();
      return;
    }
    write_message("parallax: " + reason + "\n");
    camera.reader.reset();
    while (!camera.reader) {
      if (!sleep(1s)) return;
      try {
        camera.reader = VideoReader::open_camera(camera.name);
      } catch (const Error&) {
        // Not yet.
      }
    }
    write_message("parallax: " + camera.name + " is back\n");
  }
}

// Returns whether the camera is gone, and not this object.
bool Cameras::read_until_it_ends(Camera& camera, std::string& reason) {
  reason = camera.name + " takes no more pictures: connect the camera again";
  try {
    for (Picture picture; camera.reader->read(picture); picture = Picture()) {
      const std::lock_guard lock(mutex_);
      if (stopped_) return false;
      take(camera, std::move(picture), camera.reader->seconds());
    }
  } catch (const Error& failure) {
    reason = failure.what();
  }
  const std::lock_guard lock(mutex_);
  camera.shots.clear();
  camera.pictures = 0;
  return !stopped_;
}

void Cameras::take(Camera& camera, Picture&& picture, double seconds) {
  const auto now = Clock::now();
  const double arrival = std::chrono::duration<double>(now.time_since_epoch()).count();
  if (camera.pictures > 0 && !uses_arrival_ && seconds < camera.last) {
    write_message("parallax: the time stamps of " + camera.name + " went back by " +
                  with_decimals(camera.last - seconds, 3) +
                  " s: pictures are paired by when they come from now on\n");
    uses_arrival_ = true;
    for (Camera& each : cameras_) {
      each.shots.clear();
      each.pictures = 0;
    }
  }
  if (uses_arrival_) seconds = arrival;
  constexpr double weight = 0.1;  // of the newest interval
  if (camera.pictures > 0) {
    const double interval = seconds - camera.last;
    camera.interval =
        camera.pictures == 1 ? interval : camera.interval + weight * (interval - camera.interval);
  }
  camera.last = seconds;
  ++camera.pictures;
  camera.shots.push_back({std::move(picture), seconds, now});
  pair_up();
}

// Half the time between the pictures of the faster camera, so that a picture has one partner at most.
double Cameras::max_skew() const {
  if (options_.max_skew > 0) return options_.max_skew;
  constexpr double usual = 1.0 / 30;
  double interval = usual;
  bool known = false;
  for (const Camera& camera : cameras_)
    if (camera.pictures > 1 && camera.interval > 0) {
      interval = known ? std::min(interval, camera.interval) : camera.interval;
      known = true;
    }
  return 0.5 * interval;
}

void Cameras::drop_first(Camera& camera) {
  camera.shots.pop_front();
  ++counts_.unpaired;
  constexpr std::uint64_t many = 300;
  if (++unpaired_in_a_row_ == many)
    write_message("parallax: no picture of " + cameras_[0].name + " has a partner within " +
                  with_decimals(1000 * max_skew(), 1) + " ms among those of " + cameras_[1].name +
                  ": check the cameras' clocks, or allow a larger --max-skew\n");
}

void Cameras::pair_up() {
  if (cameras_.size() == 1) {
    newest_ = {std::move(cameras_[0].shots.front())};
    cameras_[0].shots.clear();
  } else {
    std::deque<Shot>&left = cameras_[0].shots, &right = cameras_[1].shots;
    bool found = false;
    while (!left.empty() && !right.empty()) {
      const double skew = right.front().seconds - left.front().seconds;
      if (std::abs(skew) <= max_skew()) {
        found = true;
        unpaired_in_a_row_ = 0;
        newest_ = {std::move(left.front()), std::move(right.front())};
        left.pop_front();
        right.pop_front();
      } else {
        drop_first(skew > 0 ? cameras_[0] : cameras_[1]);
      }
    }
    // A camera that waits for the other one keeps few pictures.
    constexpr std::size_t most = 8;
    for (Camera& camera : cameras_)
      while (camera.shots.size() > most) drop_first(camera);
    if (!found) return;
  }
  if (taken_ < counts_.pairs) ++counts_.skipped;
  ++counts_.pairs;
  arrival_.notify_all();
}

CameraCounts Cameras::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

bool Cameras::newest(std::size_t number, std::chrono::milliseconds patience, LivePair& pair) {
  std::unique_lock lock(mutex_);
  arrival_.wait_for(lock, patience, [&] { return counts_.pairs > number || !error_.empty(); });
  if (counts_.pairs <= number) {
    if (!error_.empty()) throw Error(ErrorCategory::file, error_);
    return false;
  }
  taken_ = counts_.pairs;
  Frame& frame = pair.frame;
  frame = Frame();
  frame.number = counts_.pairs - 1;
  frame.left = cameras_.front().name;
  frame.right = cameras_.back().name;
  frame.stem = std::to_string(frame.number);
  pair.arrival = newest_.back().arrival;
  pair.skew = 0;
  if (newest_.size() == 1) {
    frame.pictures = split(newest_.front().picture, options_.layout, frame.left);
  } else {
    pair.arrival = std::max(pair.arrival, newest_.front().arrival);
    pair.skew = newest_[1].seconds - newest_[0].seconds;
    frame.pictures = {newest_[0].picture, newest_[1].picture};
    check_formats(frame.pictures, frame.left, frame.right);
  }
  return true;
}

}  // namespace parallax::tool
