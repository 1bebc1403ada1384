// Video files, through OpenCV.
#pragma once

#include <cstddef>
#include <string>

#include <opencv2/videoio.hpp>

namespace parallax::tool {

// Does this file hold video, and no picture?
bool is_video(const std::string& path);

class VideoReader {
 public:
  // \throws Error (file)
  explicit VideoReader(const std::string& path);

  // Reads the next frame, B, G, R of 8 bits; false at the end. \throws Error (file) when this frame is
  // broken: the next call reads the one after it
  bool read(cv::Mat& pixels);

  double frames_per_second() const;  // 0 = the file does not say
  std::size_t announced() const { return announced_; }

 private:
  std::size_t broken_frames_ahead();

  std::string path_;
  cv::VideoCapture capture_;
  std::size_t announced_ = 0;  // frames, as the file says; 0 = it does not
  std::size_t position_ = 0;   // of the next frame to be read
  std::size_t broken_ = 0;     // frames from here on that cannot be decoded
  bool grabbed_ = false;       // the one after them has been
};

// \throws UsageError when VideoWriter does not know the extension
void check_video_path(const std::string& path);

// A video file that appears under its name when it is whole: .avi (Motion JPEG) or .mp4 (MPEG-4).
class VideoWriter {
 public:
  // \throws Error (file)
  VideoWriter(const std::string& path, double frames_per_second, cv::Size size);
  VideoWriter(const VideoWriter&) = delete;
  VideoWriter& operator=(const VideoWriter&) = delete;
  ~VideoWriter();

  // B, G, R of 8 bits, of the planned size.
  void write(const cv::Mat& pixels);
  // \throws Error (file) when not all frames are in the file
  void finish();

 private:
  std::string path_, temporary_;
  cv::VideoWriter writer_;
  std::size_t frames_ = 0;
};

}  // namespace parallax::tool
