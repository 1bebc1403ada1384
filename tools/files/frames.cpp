// SPDX-License-Identifier: Apache-2.0
#include "tools/files/frames.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <set>

#include <glob.h>

#include "tools/command/command.h"
#include "tools/command/command_files.h"
#include "tools/files/video.h"

namespace parallax::tool {
namespace {

namespace fs = std::filesystem;

enum class InputKind { picture, folder, pattern, glob, video };

bool has_wildcards(const std::string& path) {
  return path.find_first_of("*?[") != std::string::npos;
}

InputKind kind_of(const std::string& path) {
  std::error_code unknown;
  const fs::file_status status = fs::status(path, unknown);
  if (fs::is_directory(status)) return InputKind::folder;
  if (fs::is_regular_file(status) && is_video(path)) return InputKind::video;
  if (fs::exists(status)) return InputKind::picture;
  if (has_wildcards(path)) return InputKind::glob;
  return NumberPattern::parse(path) ? InputKind::pattern : InputKind::picture;
}

const char* kind_text(InputKind kind) {
  constexpr const char* texts[] = {"a picture", "a directory", "a pattern", "a pattern with wildcards",
                                   "a video"};
  return texts[static_cast<int>(kind)];
}

InputKind common_kind(const Input& input) {
  const InputKind left = kind_of(input.left);
  if (input.holds_both_in_left()) return left;
  const InputKind right = kind_of(input.right);
  // What is not there is of no kind.
  std::error_code unknown;
  for (const std::string& path : {input.left, input.right})
    if (left != right && kind_of(path) == InputKind::picture && !fs::exists(path, unknown))
      fail_file("read", path, ENOENT);
  if (left != right)
    throw Error(ErrorCategory::file, input.left + " is " + kind_text(left) + ", " + input.right + " is " +
                                         kind_text(right) + ": give two of the same kind");
  return left;
}

// Calibrations are often for pictures as the camera stores them. Tells it once, of all frames.
void tell_if_turned(const Picture& picture, const std::string& path) {
  static std::atomic<bool> told{false};
  if (picture.notes.orientation == 1 || told.exchange(true)) return;
  constexpr const char* ways[] = {"mirrored left to right",         "turned by 180°",
                                  "mirrored top to bottom",         "mirrored and turned by 90°",
                                  "turned by 90° clockwise",        "mirrored and turned by 90°",
                                  "turned by 90° counter-clockwise"};
  complain(path + " is " + ways[picture.notes.orientation - 2] +
           ", as its EXIF data say: --ignore-orientation takes it as it is stored");
}

// The pictures of a frame of the input. The cameras of a rig may have pictures of different sizes.
PicturePair read_pictures(const std::string& left, const std::string& right, const Input& input) {
  const bool both = input.holds_both_in_left();
  PicturePair pair = both ? with_expected_values(read_both(left, input.layout, input.pictures))
                          : read_any_pair(left, right, input.pictures);
  tell_if_turned(pair.left, left);
  if (!both) tell_if_turned(pair.right, right);
  if (input.rig.empty()) check_formats(pair, left, right);
  return pair;
}

class PictureFrames : public FrameSource {
 public:
  PictureFrames(std::vector<Frame> frames, const Input& input) : frames_(std::move(frames)), input_(input) {}

  bool next(Frame& frame) override {
    if (position_ == frames_.size()) return false;
    frame = frames_[position_++];
    return true;
  }
  void decode(Frame& frame) const override {
    frame.pictures = read_pictures(frame.left, frame.right, input_);
  }
  std::vector<Frame> names() const override { return frames_; }
  std::size_t count() const override { return frames_.size(); }

 private:
  std::vector<Frame> frames_;
  std::size_t position_ = 0;
  Input input_;
};

// The files of one side. Their keys, names or what wildcards stand for, pair them.
struct Side {
  struct File {
    std::string key;
    fs::path path;
  };

  std::string name;
  std::vector<File> files;

  explicit Side(const std::string& text) : name(text) {
    if (has_wildcards(text) && !fs::is_directory(text))
      add_matches();
    else
      add_pictures();
    // In numeric order: frame2 before frame10.
    std::sort(files.begin(), files.end(),
              [](const File& a, const File& b) { return ::strverscmp(a.key.c_str(), b.key.c_str()) < 0; });
  }

 private:
  void add_pictures() {
    for (const auto& entry : fs::directory_iterator(name))
      if (is_picture_name(entry.path()) && !entry.path().filename().string().starts_with('.'))
        files.push_back({entry.path().filename(), entry.path()});
    if (files.empty()) throw Error(ErrorCategory::file, name + " contains no pictures: give another folder");
  }

  void add_matches() {
    glob_t found{};
    const int status = ::glob(name.c_str(), GLOB_NOSORT | GLOB_NOESCAPE, nullptr, &found);
    const std::unique_ptr<glob_t, void (*)(glob_t*)> guard(&found, ::globfree);
    if (status == GLOB_NOSPACE) throw std::bad_alloc();
    if (status != 0) throw Error(ErrorCategory::file, "no file matches " + name + ": check the pattern");
    const std::size_t before = name.find_first_of("*?["), after = name.size() - 1 - name.find_last_of("*?]");
    for (std::size_t i = 0; i < found.gl_pathc; ++i) {
      const std::string path = found.gl_pathv[i];
      files.push_back({path.substr(before, path.size() - before - after), path});
    }
  }
};

// Sides with the same keys are paired by key; sides with entirely different keys are paired in order. A
// partial overlap means that pictures are missing on each side.
void check_keys(const Side& left, const Side& right) {
  if (left.files.size() != right.files.size())
    throw Error(ErrorCategory::file, left.name + " contains " + std::to_string(left.files.size()) +
                                         " pictures, " + right.name + " " +
                                         std::to_string(right.files.size()) + ": give the same number");
  std::set<std::string> keys;
  for (const Side::File& file : right.files) keys.insert(file.key);
  const auto missing = [&](const Side::File& file) { return !keys.contains(file.key); };
  const auto first = std::find_if(left.files.begin(), left.files.end(), missing);
  if (first == left.files.end()) return;
  if (!std::all_of(left.files.begin(), left.files.end(), missing))
    throw Error(ErrorCategory::file, right.name + " has no " + first->key + ", which " + left.name +
                                         " has: use the same names on both sides, or no name on both");
  complain("names in " + left.name + " and " + right.name + " differ: pairing them in order, " + first->key +
           " with " + right.files.front().key + " first");
}

std::vector<Frame> listed_frames(const Input& input) {
  const Side left(input.left);
  std::optional<Side> right;
  if (!input.holds_both_in_left()) check_keys(left, right.emplace(input.right));
  std::vector<Frame> frames;
  for (std::size_t i = 0; i < left.files.size(); ++i) {
    const fs::path& path = left.files[i].path;
    frames.push_back({i, path, right ? right->files[i].path.string() : "", path.stem(), {}, {}});
  }
  return frames;
}

NumberPattern parse_pattern(const std::string& text) {
  const fs::path path(text);
  if (NumberPattern::parse(path.parent_path()))
    throw UsageError(text + " has its number in the folder name: put it in the file name");
  return *NumberPattern::parse(path.filename());
}

std::set<std::uint64_t> list_numbers(const std::string& text) {
  const NumberPattern pattern = parse_pattern(text);
  const fs::path folder = fs::path(text).parent_path();
  std::set<std::uint64_t> numbers;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder, missing))
    if (const auto number = pattern.number_of(entry.path().filename())) numbers.insert(*number);
  if (numbers.empty())
    throw Error(ErrorCategory::file, "no file matches " + text + ": check the folder and the pattern");
  return numbers;
}

// All numbers found on either side: a number that one side lacks is a broken frame.
std::vector<Frame> pattern_frames(const Input& input) {
  std::set<std::uint64_t> numbers = list_numbers(input.left);
  if (!input.holds_both_in_left()) numbers.merge(list_numbers(input.right));
  const NumberPattern left = *NumberPattern::parse(input.left);
  std::vector<Frame> frames;
  for (const std::uint64_t number : numbers) {
    const std::string right =
        input.holds_both_in_left() ? "" : NumberPattern::parse(input.right)->name(number);
    const fs::path path = left.name(number);
    frames.push_back({number, path, right, path.stem(), {}, {}});
  }
  return frames;
}

class VideoFrames : public FrameSource {
 public:
  explicit VideoFrames(const Input& input) : input_(input), left_(input.left) {
    if (!input.right.empty())
      right_ = std::make_unique<VideoReader>(input.right);
    else
      layout_ = input.layout ? *input.layout : left_.layout().value_or(Layout::side_by_side);
  }

  bool next(Frame& frame) override {
    if (ended_) return false;
    frame = name(number_++);
    bool left = true, right = true;
    // Both sides are read even if one is broken, so that they stay in step.
    read(left_, frame.pictures.left, frame, left);
    if (right_) read(*right_, frame.pictures.right, frame, right);
    if (!right_) right = left;
    ended_ = !left || !right;
    if (left != right)
      frame.error = (left ? input_.right : input_.left) + " ends here, " +
                    (left ? input_.left : input_.right) +
                    " continues: give videos with the same number of frames";
    return left || right;
  }

  void decode(Frame& frame) const override {
    frame.pictures.left = as_asked(frame.pictures.left, frame.left, input_.pictures);
    if (right_)
      frame.pictures.right = as_asked(frame.pictures.right, frame.right, input_.pictures);
    else
      frame.pictures = split(frame.pictures.left, layout_, frame.left);
    frame.pictures = with_expected_values(frame.pictures);
    if (right_ && input_.rig.empty()) check_formats(frame.pictures, frame.left, frame.right);
  }

  // Limited, because a video may announce any number.
  std::vector<Frame> names() const override {
    std::vector<Frame> frames;
    do frames.push_back(name(frames.size()));
    while (frames.size() < std::min<std::size_t>(left_.announced(), 100'000));
    return frames;
  }
  std::size_t count() const override { return left_.announced(); }
  double frames_per_second() const override { return left_.frames_per_second(); }

 private:
  Frame name(std::uint64_t number) const {
    const static NumberPattern stem = *NumberPattern::parse("%06d");
    return {number, input_.left, input_.right, stem.name(number), {}, {}};
  }

  static void read(VideoReader& video, Picture& picture, Frame& frame, bool& there) {
    try {
      there = video.read(picture);
    } catch (const Error& error) {
      if (frame.error.empty()) frame.error = error.what();
    }
  }

  Input input_;
  VideoReader left_;
  std::unique_ptr<VideoReader> right_;  // null = LEFT holds both
  Layout layout_ = Layout::side_by_side;
  std::uint64_t number_ = 0;
  bool ended_ = false;
};

}  // namespace

std::string format_error(const Frame& frame, const ImageFormat& earlier) {
  const ImageFormat format = frame.pictures.left.view().format;
  return format == earlier ? ""
                           : frame.left + " is " + describe(format) + ", earlier frames are " +
                                 describe(earlier) + ": give frames of one size and depth";
}

void complain_of(const Frame& frame) {
  show_progress("");
  complain("frame " + std::to_string(frame.number) + ": " + frame.error);
}

bool states_layout(const Input& input) {
  const InputKind kind = kind_of(input.left);
  if (kind == InputKind::video) return VideoReader::stated_layout(input.left).has_value();
  const std::string first = kind == InputKind::picture   ? input.left
                            : kind == InputKind::pattern ? pattern_frames(input).front().left
                                                         : listed_frames(input).front().left;
  return !stated_views(first, {}).empty();
}

std::unique_ptr<FrameSource> open_sequence(const Input& input) {
  const InputKind kind = common_kind(input);
  if (kind == InputKind::picture) return nullptr;
  if (kind == InputKind::video) return std::make_unique<VideoFrames>(input);
  return std::make_unique<PictureFrames>(
      kind == InputKind::pattern ? pattern_frames(input) : listed_frames(input), input);
}

OutputNames::OutputNames(const std::string& option, const std::string& text, const std::string& extension)
    : text_(text), extension_(extension) {
  if (text.empty() || names_folder(text)) return;
  pattern_ = NumberPattern::parse(text);
  if (!pattern_)
    throw UsageError(option + " is " + text + ", one file for all frames: give a pattern such as d_%04d" +
                     fs::path(text).extension().string() + ", or a folder");
}

void OutputNames::make_folder(OutputFolders& folders) const {
  if (!text_.empty() && !pattern_) folders.make(text_);
}

std::string OutputNames::of(const Frame& frame) const {
  if (pattern_) return pattern_->name(frame.number);
  return text_.empty() ? "" : (fs::path(text_) / (frame.stem + extension_)).string();
}

PicturePair read_one_pair(const Input& input) {
  return read_pictures(input.left, input.right, input);
}

}  // namespace parallax::tool
