// SPDX-License-Identifier: Apache-2.0
#include "tools/files/cameras.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tools/command/command.h"

namespace parallax::tool {
using namespace std::chrono_literals;

std::string device_of_camera(const std::string& camera) {
  const bool is_number = !camera.empty() && camera.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? "/dev/video" + camera : camera;
}

void check_cameras(const std::vector<std::string>& cameras, const Input& input) {
  if (!input.left.empty())
    throw UsageError("--camera takes both views from cameras: leave out " + input.left);
  if (cameras.size() != (input.layout ? 1 : 2))
    throw UsageError("--camera has " + std::to_string(cameras.size()) +
                     " names: give two cameras, or one that has both views, with --layout");
}

Cameras::Cameras(const CameraOptions& options) : options_(options), cameras_(options.cameras.size()) {
  for (std::size_t i = 0; i < cameras_.size(); ++i) {
    cameras_[i].name = device_of_camera(options.cameras[i]);
    cameras_[i].reader = VideoReader::open_camera(cameras_[i].name, stopped_);
  }
  try {
    for (Camera& camera : cameras_) threads_.emplace_back([this, &camera] { read(camera); });
  } catch (...) {
    join();
    throw;
  }
}

Cameras::~Cameras() {
  join();
}

void Cameras::join() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    stop_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

void Cameras::fail(const std::string& error) {
  const std::lock_guard lock(mutex_);
  error_ = error;
  arrival_.notify_all();
}

void Cameras::read(Camera& camera) {
  try {
    read_on(camera);
  } catch (...) {
    fail(current_failure().message);
  }
}

void Cameras::read_on(Camera& camera) {
  std::string reason;
  while (read_until_it_ends(camera, reason)) {
    if (!options_.waits) return fail(reason);
    complain(reason);
    reopen(camera);
    if (camera.reader) complain(camera.name + " is back");
  }
}

// Leaves the camera without a reader if this object is being destroyed.
void Cameras::reopen(Camera& camera) {
  camera.reader.reset();
  while (!camera.reader) {
    {
      std::unique_lock lock(mutex_);
      if (stop_.wait_for(lock, 1s, [&] { return stopped_.load(); })) return;
    }
    try {
      camera.reader = VideoReader::open_camera(camera.name, stopped_);
    } catch (const Error&) {
      // Not yet.
    }
  }
}

// Returns true if the camera ended by itself, false if this object is being destroyed.
bool Cameras::read_until_it_ends(Camera& camera, std::string& reason) {
  reason = camera.name + " takes no more pictures: connect the camera again";
  try {
    for (Picture picture; camera.reader && camera.reader->read(picture); picture = Picture()) {
      std::string message;
      {
        const std::lock_guard lock(mutex_);
        if (stopped_) return false;
        message = take(camera, std::move(picture), camera.reader->seconds());
      }
      if (!message.empty()) complain(message);
    }
  } catch (const Error& failure) {
    reason = failure.what();
  }
  const std::lock_guard lock(mutex_);
  camera.shots.clear();
  camera.pictures = 0;
  return !stopped_;
}

// Returns what there is to say, if anything.
std::string Cameras::take(Camera& camera, Picture&& picture, double seconds) {
  const auto now = Clock::now();
  const double arrival = std::chrono::duration<double>(now.time_since_epoch()).count();
  std::string message;
  if (camera.pictures > 0 && !uses_arrival_ && seconds < camera.last) {
    message = "the time stamps of " + camera.name + " went back by " +
              with_decimals(camera.last - seconds, 3) +
              " s: pictures are paired by when they come from now on";
    uses_arrival_ = true;
    for (Camera& each : cameras_) {
      each.shots.clear();
      each.pictures = 0;
    }
  }
  if (uses_arrival_) seconds = arrival;
  constexpr double weight = 0.1;  // weight of the newest interval
  if (camera.pictures > 0) {
    const double interval = seconds - camera.last;
    camera.interval =
        camera.pictures == 1 ? interval : camera.interval + weight * (interval - camera.interval);
  }
  camera.last = seconds;
  ++camera.pictures;
  camera.shots.push_back({std::move(picture), seconds, now});
  const std::string about_pairs = pair_up();
  return message.empty() ? about_pairs : message;
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
  ++unpaired_in_a_row_;
}

// Returns what there is to say, if anything.
std::string Cameras::pair_up() {
  bool found = cameras_.size() == 1;
  if (found) {
    newest_ = {std::move(cameras_[0].shots.front())};
    cameras_[0].shots.clear();
  } else {
    std::deque<Shot>&left = cameras_[0].shots, &right = cameras_[1].shots;
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
  }
  constexpr std::uint64_t many = 300;
  const bool both_are_there =
      std::all_of(cameras_.begin(), cameras_.end(), [](const Camera& camera) { return camera.pictures > 0; });
  if (unpaired_in_a_row_ >= many && both_are_there) {
    unpaired_in_a_row_ = 0;
    return "the last " + std::to_string(many) + " pictures of " + cameras_[0].name + " and " +
           cameras_[1].name + " are no pairs, because their times differ by more than " +
           with_decimals(1000 * max_skew(), 1) + " ms: check the cameras' clocks, or allow more";
  }
  if (!found) return "";
  if (taken_ < counts_.pairs) ++counts_.skipped;
  ++counts_.pairs;
  arrival_.notify_all();
  return "";
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
