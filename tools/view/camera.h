// SPDX-License-Identifier: Apache-2.0
// Pairs as they come from one camera with both views side by side, or from two cameras.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tools/files/frames.h"
#include "tools/files/video.h"

namespace parallax::view {

// Reads in threads of its own, so that a pair is never older than one frame, however slow the reader is. Two
// cameras are not synchronised: a pair has the newest picture of each.
class CameraPairs {
 public:
  // Numbers or paths of one camera with both views, or of two cameras.
  // \throws UsageError, Error (file)
  CameraPairs(const std::vector<std::string>& cameras, tool::Layout layout);
  CameraPairs(const CameraPairs&) = delete;
  CameraPairs& operator=(const CameraPairs&) = delete;
  ~CameraPairs();

  // The newest pair, once its number is at least this one; pairs are counted from 0.
  // \throws Error (file) when a camera ends, or takes no pictures
  tool::Frame newest(std::size_t number);

 private:
  void read(std::size_t camera, tool::VideoReader& reader);

  std::vector<std::string> devices_;
  tool::Layout layout_;  // of the views of one camera
  std::vector<std::unique_ptr<tool::VideoReader>> readers_;
  std::mutex mutex_;
  std::condition_variable arrival_;
  std::vector<tool::Picture> pictures_;  // the newest of each camera
  std::size_t pairs_ = 0;                // that have been complete
  std::string error_;
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace parallax::view
