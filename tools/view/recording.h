// SPDX-License-Identifier: Apache-2.0
// Coloured maps of a sequence as a video.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "tools/files/video.h"

namespace parallax::view {

// An open file without a name: it is gone once this is.
class NamelessFile {
 public:
  // Takes the name away.
  // \throws Error (file)
  explicit NamelessFile(const std::string& path);
  NamelessFile(const NamelessFile&) = delete;
  NamelessFile& operator=(const NamelessFile&) = delete;
  ~NamelessFile();

  std::size_t bytes() const { return bytes_; }
  // Up to `most` bytes from a position on.
  // \throws Error (file)
  std::string read(std::size_t position, std::size_t most) const;

 private:
  int file_;
  std::size_t bytes_ = 0;
};

// Writes an AVI into a folder of its own among the temporary files. All members may be called by several
// threads at once.
class Recording {
 public:
  // \throws Error (file)
  Recording(double frames_per_second, Size size);
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  // Removes what was not finished.
  ~Recording();

  // Adds a map, unless this frame is the last one that was added: blue at `low`, red at `high`. Returns why
  // no more is added, at 2 GiB or before the disk is full; empty until then.
  // \throws Error (file); after that nothing is added
  std::string add(std::size_t frame, View<const float> disparity, double low, double high);
  std::size_t frames() const;
  // \throws Error (file) if there are no frames, or not all were written
  std::unique_ptr<NamelessFile> finish();

 private:
  std::string why_full() const;

  mutable std::mutex mutex_;
  std::string folder_;
  tool::TemporaryFile removed_on_signals_{folder_};
  std::optional<tool::VideoWriter> writer_;
  std::optional<std::size_t> last_;
  std::size_t frames_ = 0;
};

}  // namespace parallax::view
