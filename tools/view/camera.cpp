// SPDX-License-Identifier: Apache-2.0
#include "tools/view/camera.h"

#include <algorithm>
#include <chrono>

namespace parallax::view {
namespace {

using namespace std::chrono_literals;

// Cameras may take seconds to adjust before their first picture.
constexpr auto patience = 10s;

// "0" is /dev/video0.
std::string device_of(const std::string& camera) {
  const bool is_number = !camera.empty() && camera.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? "/dev/video" + camera : camera;
}

}  // namespace

CameraPairs::CameraPairs(const std::vector<std::string>& cameras, tool::Layout layout)
    : layout_(layout), pictures_(cameras.size()) {
  for (const std::string& camera : cameras) {
    devices_.push_back(device_of(camera));
    readers_.push_back(tool::VideoReader::open_camera(devices_.back()));
  }
  for (std::size_t i = 0; i < readers_.size(); ++i)
    threads_.emplace_back([this, i] { read(i, *readers_[i]); });
}

CameraPairs::~CameraPairs() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

void CameraPairs::read(std::size_t camera, tool::VideoReader& reader) {
  std::string error = devices_[camera] + " takes no more pictures: connect the camera again";
  try {
    for (tool::Picture picture; reader.read(picture);) {
      const std::lock_guard lock(mutex_);
      if (stopped_) return;
      pictures_[camera] = picture;
      const bool is_complete =
          std::none_of(pictures_.begin(), pictures_.end(), [](const auto& each) { return each.empty(); });
      // The first camera sets the pace.
      if (camera == 0 && is_complete) {
        ++pairs_;
        arrival_.notify_all();
      }
    }
  } catch (const Error& failure) {
    error = failure.what();
  }
  const std::lock_guard lock(mutex_);
  error_ = error;
  arrival_.notify_all();
}

tool::Frame CameraPairs::newest(std::size_t number) {
  std::unique_lock lock(mutex_);
  arrival_.wait_for(lock, patience, [&] { return pairs_ > number || !error_.empty(); });
  if (!error_.empty()) throw Error(ErrorCategory::file, error_);
  if (pairs_ <= number)
    throw Error(ErrorCategory::file, devices_.front() + " takes no pictures: check the camera");
  tool::Frame frame;
  frame.number = pairs_ - 1;
  frame.left = devices_.front();
  frame.right = devices_.back();
  frame.stem = std::to_string(frame.number);
  if (pictures_.size() == 1) {
    frame.pictures = tool::split(pictures_.front(), layout_, frame.left);
  } else {
    frame.pictures = {pictures_[0], pictures_[1]};
    tool::check_formats(frame.pictures, frame.left, frame.right);
  }
  return frame;
}

}  // namespace parallax::view
