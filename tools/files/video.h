// SPDX-License-Identifier: Apache-2.0
// Video files, by the programs ffmpeg and ffprobe, which are needed only when a video is read or written.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/command/child_process.h"
#include "tools/command/output_files.h"
#include "tools/files/layout.h"

namespace parallax::tool {

// Whether to read this file as a video, because it is not a picture.
bool is_video(const std::string& path);

// Description of a file's video.
struct VideoDescription {
  std::size_t frames = 0;        // 0 = not known
  double frames_per_second = 0;  // 0 = not known
  bool is_steady = false;        // constant frame rate
  double first_second = 0;       // first second of the video, in the time of the file
  bool is_deep = false;          // more than 8 bits per channel
  std::optional<Layout> layout;  // of both views in a frame
};

class VideoReader {
 public:
  // \throws Error (file) if the file is not a video, or ffmpeg is not installed
  explicit VideoReader(const std::string& path);
  // Pictures as a camera takes them: a device of Video4Linux, such as /dev/video0. A video stands for a
  // camera, too: it is played again and again, at its own rate. No more pictures are read once `stop` is
  // true.
  // \throws Error (file) if there is no such camera, it is in use, or ffmpeg is not installed
  static std::unique_ptr<VideoReader> open_camera(const std::string& device, const std::atomic<bool>& stop);

  // What a video says about both views in its frames.
  // \throws Error (file) as the constructor does
  static std::optional<Layout> stated_layout(const std::string& path);

  // Reads the next frame, R, G, B of 8 bits, or of 16 where the video has more than 8; false at the end.
  // \throws Error (file) when this frame is broken: the next call reads the one after it
  bool read(Picture& picture);

  // The time of the last frame that was read, in seconds.
  double seconds() const { return seconds_; }
  double frames_per_second() const { return description_.frames_per_second; }
  std::size_t announced() const { return description_.frames; }
  std::optional<Layout> layout() const { return description_.layout; }

 private:
  // With what ffmpeg needs to read the input.
  VideoReader(const std::string& name, const std::vector<std::string>& input, const std::atomic<bool>& stop);

  void start(const std::vector<std::string>& input, const std::string& remedy);
  std::string read_line();
  std::optional<std::size_t> next_number();
  void decode(Picture& picture);
  bool end();

  std::string path_;
  const std::atomic<bool>* stop_ = nullptr;  // ends the pictures of a camera; null for a file
  std::unique_ptr<ChildProcess> decoder_;
  Size size_;
  VideoDescription description_;
  std::size_t position_ = 0;            // number of the next frame to read
  std::optional<std::size_t> decoded_;  // number of the frame that the decoder has ready
  bool has_ended_ = false;
  double seconds_per_tick_ = 0, decoded_seconds_ = 0, seconds_ = 0;
};

// \throws UsageError if VideoWriter does not support the extension
void check_video_path(const std::string& path);

// A video file that gets its name once it is complete: .avi (Motion JPEG) or .mp4 (MPEG-4).
class VideoWriter {
 public:
  // \throws Error (file)
  VideoWriter(const std::string& path, double frames_per_second, Size size);

  // Writes a frame, R, G, B of 8 bits, of the planned size.
  // \throws Error (file)
  void write(const Picture& picture);
  // \throws Error (file) if not all frames were written
  void finish();

 private:
  [[noreturn]] void fail();

  std::string path_;
  OutputFile file_;
  std::unique_ptr<ChildProcess> encoder_;
  std::vector<std::byte> frame_;
};

}  // namespace parallax::tool
