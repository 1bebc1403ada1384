// SPDX-License-Identifier: Apache-2.0
// Sources of pairs and of sequences of pairs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "parallax/rectify.h"

#include "tools/command/command_files.h"
#include "tools/command/number_pattern.h"
#include "tools/files/layout.h"
#include "tools/files/pictures.h"
#include "tools/files/rigs/rig_files.h"

namespace parallax::tool {

// The pictures that a command matches, and the files that belong to them.
struct Input {
  std::string left, right;       // for a sequence: folders, patterns, videos
  std::optional<Layout> layout;  // of both views in `left`; without a layout and `right`, the files say it
  bool side_by_side = false;     // the option that is short for a layout
  PictureOptions pictures;
  std::vector<std::string> calibration;  // of the rectified pair; two files for ROS
  std::string left_mask, right_mask;
  std::string cost_file;         // data costs, in place of the matcher's own
  std::vector<std::string> rig;  // the cameras of pictures that are not rectified
  RigChoices choices;            // what the files of the rig, or of the calibration, do not say
  RectifyParameters rectify;

  bool holds_both_in_left() const { return right.empty(); }
  // Whether depths are known.
  bool has_geometry() const { return !calibration.empty() || !rig.empty(); }
};

struct Frame {
  std::uint64_t number = 0;
  std::string left, right;  // files
  std::string stem;         // base name of the files of this frame in a folder
  PicturePair pictures;
  std::string error;  // why the pictures are missing; empty = they are there
};

class FrameSource {
 public:
  virtual ~FrameSource() = default;

  // Takes the next frame; false at the end. In order, one thread at a time.
  virtual bool next(Frame& frame) = 0;
  // Decodes the frame that next() took; may run on several threads at once.
  // \throws Error (file)
  virtual void decode(Frame& frame) const = 0;

  // Names of all frames; for a video, of the frames that it announces.
  virtual std::vector<Frame> names() const = 0;
  // 0 = not known.
  virtual std::size_t count() const = 0;
  virtual double frames_per_second() const { return 0; }
};

// Whether `body` succeeds with this frame; an Error (file) becomes the frame's.
// \throws other errors
template <class Body>
bool try_frame(Frame& frame, const Body& body) {
  try {
    body();
    return true;
  } catch (const Error& error) {
    if (error.category() != ErrorCategory::file) throw;
    frame.error = error.what();
    return false;
  }
}

// The error of a frame whose format is not that of the earlier ones; empty if it is.
std::string format_error(const Frame& frame, const ImageFormat& earlier);
void complain_of(const Frame& frame);

// Whether the files of an input without RIGHT say how they hold both views: the first one of several.
// \throws Error (file)
bool states_layout(const Input& input);

// The frames of an input; null if it is a single pair.
// \throws Error (file) when LEFT and RIGHT differ in kind or number of frames, or are empty; UsageError
std::unique_ptr<FrameSource> open_sequence(const Input& input);

// The names of one kind of output file, for every frame.
class OutputNames {
 public:
  // A pattern, or a folder for files of this extension, or nothing.
  // \throws UsageError
  OutputNames(const std::string& option, const std::string& text, const std::string& extension);

  void make_folder(OutputFolders& folders) const;
  // Empty if there are none.
  std::string of(const Frame& frame) const;

 private:
  std::string text_, extension_;
  std::optional<NumberPattern> pattern_;
};

// The pictures of a single pair.
// \throws Error (file)
PicturePair read_one_pair(const Input& input);

}  // namespace parallax::tool
