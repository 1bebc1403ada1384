#include "tools/parallax/video.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>

#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "parallax/formats.h"

#include "tools/parallax/command.h"
#include "tools/parallax/pictures.h"
#include "tools/parallax/silence.h"

namespace parallax::tool {
namespace {

namespace fs = std::filesystem;

// How far to look for a frame that can be decoded.
constexpr std::size_t most_broken = 1000;

// FFmpeg reads nearly everything; OpenCV's own reader of Motion JPEG is there in every build.
bool open(cv::VideoCapture& capture, const std::string& path) {
  const Silence silence;
  return capture.open(path, cv::CAP_FFMPEG) || capture.open(path, cv::CAP_OPENCV_MJPEG);
}

bool is_avi(const std::string& path) {
  return has_extension(path, {".avi"});
}

// The encoders take even sizes.
cv::Size even(cv::Size size) {
  return {size.width + size.width % 2, size.height + size.height % 2};
}

bool open(cv::VideoWriter& writer, const std::string& path, double frames_per_second, cv::Size size) {
  const Silence silence;
  const int code = is_avi(path) ? cv::VideoWriter::fourcc('M', 'J', 'P', 'G')
                                : cv::VideoWriter::fourcc('m', 'p', '4', 'v');
  return writer.open(path, cv::CAP_FFMPEG, code, frames_per_second, size) ||
         (is_avi(path) && writer.open(path, cv::CAP_OPENCV_MJPEG, code, frames_per_second, size));
}

std::string temporary_beside(const fs::path& path) {
  std::random_device random;
  return (path.parent_path() / (".parallax-" + std::to_string(random()) + path.extension().string()))
      .string();
}

}  // namespace

bool is_video(const std::string& path) {
  if (is_picture_name(path) || cv::haveImageReader(path)) return false;
  cv::VideoCapture capture;
  return open(capture, path);
}

VideoReader::VideoReader(const std::string& path) : path_(path) {
  if (!open(capture_, path)) throw Error(ErrorCategory::file, path + " is no video that can be read");
  announced_ = static_cast<std::size_t>(std::max(0.0, capture_.get(cv::CAP_PROP_FRAME_COUNT)));
}

double VideoReader::frames_per_second() const {
  const double rate = capture_.get(cv::CAP_PROP_FPS);
  return std::isfinite(rate) && rate > 0 ? rate : 0;
}

// A frame that cannot be decoded looks like the end of the file, until another follows.
std::size_t VideoReader::broken_frames_ahead() {
  std::size_t broken = 0;
  while (!(grabbed_ = capture_.grab())) {
    ++broken;
    if (broken > most_broken || position_ + broken >= announced_) break;
  }
  return broken;
}

bool VideoReader::read(cv::Mat& pixels) {
  const Silence silence;
  if (!grabbed_ && broken_ == 0) broken_ = broken_frames_ahead();
  if (!grabbed_) {
    const std::size_t missing_from = position_;
    position_ = announced_;
    if (missing_from >= announced_) return false;
    throw Error(ErrorCategory::file, path_ + " ends after " + std::to_string(missing_from) + " of " +
                                         std::to_string(announced_) + " frames: it is cut short");
  }
  ++position_;
  if (broken_ > 0) {
    --broken_;
    throw Error(ErrorCategory::file,
                path_ + ": frame " + std::to_string(position_ - 1) + " is damaged: copy the video again");
  }
  grabbed_ = false;
  if (!capture_.retrieve(pixels) || pixels.type() != CV_8UC3)
    throw Error(ErrorCategory::file,
                path_ + ": frame " + std::to_string(position_ - 1) + " cannot be decoded");
  return true;
}

void check_video_path(const std::string& path) {
  if (!has_extension(path, {".avi", ".mp4"}))
    throw UsageError("--video is " + path + ": name it .avi or .mp4");
}

VideoWriter::VideoWriter(const std::string& path, double frames_per_second, cv::Size size)
    : path_(path), temporary_(temporary_beside(path)) {
  write_file(temporary_, {});  // for its message when there can be no file
  if (open(writer_, temporary_, frames_per_second, even(size))) return;
  fs::remove(temporary_);
  throw Error(ErrorCategory::file, "cannot write " + path + ": OpenCV has no encoder for it" +
                                       (is_avi(path) ? "" : ", give a name that ends in .avi"));
}

VideoWriter::~VideoWriter() {
  const Silence silence;
  writer_.release();
  std::error_code gone;
  if (!temporary_.empty()) fs::remove(temporary_, gone);
}

void VideoWriter::write(const cv::Mat& pixels) {
  const cv::Size size = even(pixels.size());
  cv::Mat padded;
  cv::copyMakeBorder(pixels, padded, 0, size.height - pixels.rows, 0, size.width - pixels.cols,
                     cv::BORDER_REPLICATE);
  const Silence silence;
  writer_.write(padded);
  ++frames_;
}

// OpenCV tells nobody of a write that failed: what is in the file does.
void VideoWriter::finish() {
  {
    const Silence silence;
    writer_.release();
  }
  cv::VideoCapture written;
  const bool whole = open(written, temporary_) && static_cast<std::size_t>(std::max(
                                                      0.0, written.get(cv::CAP_PROP_FRAME_COUNT))) == frames_;
  if (!whole)
    throw Error(ErrorCategory::file,
                "cannot write " + path_ +
                    ": the file did not take all frames; free some space, or choose another disk");
  std::error_code error;
  fs::rename(temporary_, path_, error);
  if (error) throw Error(ErrorCategory::file, "cannot write " + path_ + ": " + error.message());
  temporary_.clear();
}

}  // namespace parallax::tool
