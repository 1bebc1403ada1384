// SPDX-License-Identifier: Apache-2.0
#include "tools/view/recording.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/files/pictures.h"

namespace parallax::view {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t min_free_bytes = std::uintmax_t{32} << 20;

// Half of what the system allows, so that there is room for what ffmpeg writes at the end.
std::uintmax_t max_bytes() {
  constexpr std::uintmax_t most = std::uintmax_t{2} << 30;
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return most;
  return std::min<std::uintmax_t>(most, limit.rlim_cur / 2);
}

std::string make_folder() {
  std::error_code missing;
  std::string path = fs::temp_directory_path(missing) / "parallax-view-XXXXXX";
  if (missing)
    throw Error(ErrorCategory::file, "cannot record: the folder for temporary files is missing (" +
                                         missing.message() + "): set TMPDIR to one, and start again");
  if (::mkdtemp(path.data()) == nullptr)
    throw Error(ErrorCategory::file, "cannot make the folder " + path + " (" + std::strerror(errno) +
                                         "): free some space, or set TMPDIR to another folder");
  return path;
}

std::string video_in(const std::string& folder) {
  return folder + "/disparity.avi";
}

}  // namespace

NamelessFile::NamelessFile(const std::string& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  struct stat status {};
  if (file_ < 0 || ::fstat(file_, &status) != 0) {
    if (file_ >= 0) ::close(file_);
    throw Error(ErrorCategory::file, "cannot read " + path + " (" + std::strerror(errno) + "): record again");
  }
  bytes_ = static_cast<std::size_t>(status.st_size);
  ::unlink(path.c_str());
}

NamelessFile::~NamelessFile() {
  ::close(file_);
}

std::string NamelessFile::read(std::size_t position, std::size_t most) const {
  std::string bytes(most, '\0');
  const ssize_t count = ::pread(file_, bytes.data(), most, static_cast<off_t>(position));
  if (count < 0)
    throw Error(ErrorCategory::file,
                std::string("cannot read the recording (") + std::strerror(errno) + "): record again");
  bytes.resize(static_cast<std::size_t>(count));
  return bytes;
}

Recording::Recording(double frames_per_second, Size size) : folder_(make_folder()) {
  try {
    writer_.emplace(video_in(folder_), frames_per_second, size);
  } catch (...) {
    ::rmdir(folder_.c_str());
    throw;
  }
}

Recording::~Recording() {
  writer_.reset();
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string Recording::add(std::size_t frame, View<const float> disparity, double low, double high) {
  const std::lock_guard lock(mutex_);
  if (!writer_ || frame == last_) return "";
  if (const std::string why = why_full(); !why.empty())
    return "the recording ended after " + std::to_string(frames_) + " frames, because " + why +
           ": save it, and record again";
  last_ = frame;
  try {
    writer_->write(tool::colour(disparity, low, high));
  } catch (...) {
    writer_.reset();
    throw;
  }
  ++frames_;
  return "";
}

std::size_t Recording::frames() const {
  const std::lock_guard lock(mutex_);
  return frames_;
}

std::unique_ptr<NamelessFile> Recording::finish() {
  const std::lock_guard lock(mutex_);
  if (!writer_ || frames_ == 0)
    throw Error(ErrorCategory::argument, "no frame was recorded: play while you record");
  writer_->finish();
  writer_.reset();
  return std::make_unique<NamelessFile>(video_in(folder_));
}

// The folder has the video only, under the name that it has until it is complete.
std::string Recording::why_full() const {
  std::uintmax_t bytes = 0;
  for (const fs::directory_entry& file : fs::directory_iterator(folder_)) bytes += file.file_size();
  if (bytes > max_bytes()) return "its file may not be larger";
  std::error_code unknown;
  const fs::space_info space = fs::space(folder_, unknown);
  if (!unknown && space.available < min_free_bytes)
    return "the disk of " + fs::path(folder_).parent_path().string() + " is nearly full";
  return "";
}

}  // namespace parallax::view
