// SPDX-License-Identifier: Apache-2.0
#include <iomanip>
#include <iostream>
#include <optional>

#include "parallax/motion.h"

#include "tools/command/command_files.h"
#include "tools/command/json.h"
#include "tools/command/method_options.h"
#include "tools/command/pipeline.h"
#include "tools/files/flow_files.h"
#include "tools/files/frames.h"
#include "tools/files/picture_rectifier.h"
#include "tools/files/pictures.h"
#include "tools/files/pictures/codecs.h"
#include "tools/files/video.h"
#include "tools/match/match_report.h"
#include "tools/parallax/pair_options.h"

namespace parallax::tool {
namespace {

using nlohmann::ordered_json;

struct FlowRequest {
  std::string first, second;  // `first` alone: a sequence
  PictureOptions pictures;
  Input cameras;  // the rig whose left camera took the frames
  std::string first_mask, second_mask;
  std::string output, image;
  VideoOptions video;
  double longest = 0;
  Size range;
  std::string least;  // "U,V", of --min
  int repeat = 1;
  bool json = false;
  Search search;
};

std::string read_preset(const Arguments& arguments) {
  std::string preset = "default";
  Options options("flow", "");
  options.add("--preset", preset, "");
  options.read_known(arguments);
  return preset;
}

// Checks the motions of one axis.
void check_motions(int least, int count) {
  const auto most = [](const char* parameter) {
    return static_cast<int>(describe_parameter("motion", parameter).most);
  };
  const int widest = most("disparities"), farthest = most("min_disparity");
  if (count > widest)
    throw UsageError("--range has a side of " + std::to_string(count) + ": choose sides from 1 to " +
                     std::to_string(widest));
  if (least < -farthest || least > farthest - (count - 1))
    throw UsageError("--min is " + std::to_string(least) + " on a side of --range with " +
                     std::to_string(count) + " motions: choose --min from " + std::to_string(-farthest) +
                     " to " + std::to_string(farthest - (count - 1)));
}

// Parameters that --range and --min set. They name disparities, which are motions to the left.
constexpr std::string_view ranges[] = {"disparities", "min_disparity", "row_offsets", "min_row_offset"};

void settle_range(const Options& options, FlowRequest& request) {
  if (!options.given("--range")) return options.refuse({"--min"}, " needs --range: give both");
  auto& motion = *request.search.parameters.get_if<MotionParameters>();
  const Size range = request.range;
  int u = -(range.width - 1) / 2, v = -(range.height - 1) / 2;
  if (options.given("--min")) {
    const auto least = two_integers(request.least, ",");
    if (!least) throw UsageError("--min is '" + request.least + "': give two integers, such as -8,-4");
    u = (*least)[0];
    v = (*least)[1];
  }
  check_motions(u, range.width);
  check_motions(v, range.height);
  motion.disparities = range.width;
  motion.min_disparity = -(u + range.width - 1);
  motion.row_offsets = range.height;
  motion.min_row_offset = v;
}

void check_request(const FlowRequest& request) {
  if (!request.output.empty() && !names_folder(request.output)) check_flow_path(request.output);
  check_image_path(request.image);
  check_video(request.video);
  request.search.parameters.validate();
}

FlowRequest parse(const Arguments& arguments) {
  FlowRequest request;
  Search& search = request.search;
  search.method = "motion";
  search.preset = read_preset(arguments);
  search.parameters = method_preset("motion", search.preset);
  Options options("flow", "Find the motion of each pixel from one frame to another, or through a sequence.");
  options.group("Input");
  options
      .add("FRAME1", request.first,
           "First frame; or, without FRAME2, a sequence: a folder, a pattern such as frame_%04d.png or "
           "'*/frame.png', or a video")
      .required();
  options.add("FRAME2", request.second, "Second frame");
  options.add("--first-mask FILE", request.first_mask, "Gray picture: 0 = this pixel of FRAME1 is not valid");
  options.add("--second-mask FILE", request.second_mask,
              "Gray picture: 0 = this pixel of FRAME2 is not valid");
  add_value_options(options, request.pictures);
  add_rectify_options(options, request.cameras);
  options.group("Output");
  options.add(
      "-o,--output FILE", request.output,
      "Motions: .flo, or .png (16 bits, as KITTI); for a sequence: a pattern such as flow_%04d.flo, or a "
      "folder");
  options.add("--image FILE", request.image, "Coloured picture of the motions (.png): hue = direction");
  options
      .add("--longest X", request.longest, "Motion of full colour, in pixels; 0 = the longest one of a frame")
      .range(0, 1e6);
  add_video_options(options, request.video);
  options.add_flag("--json", request.json, "Report as JSON on standard output");
  options.add("--repeat N", request.repeat, "Match N times, report median times").range(1, 1'000'000);
  options.add_memory("--max-memory", search.max_memory, "Memory limit, such as 2G; 0 = the machine's memory");
  options.group("Search");
  options
      .add("--range", request.range,
           "Motions to search, in columns x rows of pixels; without it, those of the preset")
      .without_default();
  options
      .add("--min U,V", request.least,
           "Least motion: to the right, and downwards; may be negative; by default the range has 0 in its "
           "middle")
      .without_default();
  add_preset_option(options, search.preset, "motion");
  add_device_options(options, search.device, search.threads, "motion");
  add_configuration_option(options, search.configuration);
  add_method_options(options, search.parameters, ranges);
  std::vector<Advice> advice;
  for (const char* option : {"--disparities", "--min-disparity", "--row-offsets", "--min-row-offset"})
    advice.push_back({option, "{} is for 'parallax match': give --range and --min"});
  options.advise(advice);
  options.read(arguments);
  settle_method_options(options, search.parameters);
  settle_range(options, request);
  check_rectify_options(options, request.cameras);
  if (!request.cameras.rig.empty())
    options.refuse({"--first-mask", "--second-mask"},
                   " is for frames without distortion: leave it out with --rig");
  check_request(request);
  return request;
}

Flow motions_of(const Result& result) {
  return flow_of(result.disparity.view(), result.row_offset.view());
}

// Takes the distortion out of frames of the left camera of a rig; does nothing without a rig.
class FrameStraightener {
 public:
  explicit FrameStraightener(const FlowRequest& request) {
    const Input& cameras = request.cameras;
    if (cameras.rig.empty()) return;
    rectifier_.emplace(cameras.rig, cameras.choices, cameras.rectify, request.search.first_device());
    rectifier_->take_frames_of_left_camera();
  }

  // \throws Error
  PicturePair straight(const PicturePair& frames, const std::string& first, const std::string& second) {
    return rectifier_ ? rectifier_->run(frames, first, second) : frames;
  }
  // Where the camera saw something; empty without a rig.
  View<const std::uint8_t> mask() const {
    return rectifier_ ? rectifier_->left_mask() : View<const std::uint8_t>();
  }

 private:
  std::optional<PictureRectifier> rectifier_;
};

// A matcher for frames of one format, with the masks of the request.
class FlowMatcher {
 public:
  FlowMatcher(const FlowRequest& request, const ImageFormat& format, const FrameStraightener& straightener)
      : straightener_(straightener),
        device_(request.search.first_device()),
        format_(format),
        first_mask_(mask(request.first_mask, format.size)),
        second_mask_(mask(request.second_mask, format.size)),
        matcher_(request.search.parameters, device_, format,
                 {request.search.max_memory, request.search.configuration}) {}

  const ImageFormat& format() const { return format_; }
  const Device& device() const { return device_; }
  const Matcher& matcher() const { return matcher_; }

  void run(const Picture& first, const Picture& second, Result& result) {
    if (result.size() != format_.size) result = Result(format_.size, false, true);
    const View<const std::uint8_t> seen = straightener_.mask();
    Picture pictures[] = {first, second};
    const auto mask = [&](Picture& frame, const Plane<std::uint8_t>& of_request) {
      return frame.mask().empty() && seen.data != nullptr ? seen : mask_of(frame, of_request);
    };
    matcher_.run(
        {first.view(), second.view(), mask(pictures[0], first_mask_), mask(pictures[1], second_mask_)},
        result.map());
  }

 private:
  // The mask of a frame, to which that of the request is added.
  static View<const std::uint8_t> mask_of(Picture& frame, const Plane<std::uint8_t>& mask) {
    if (frame.mask().empty()) return mask.view();
    if (mask.width() > 0) frame.add_to_mask(mask.view());
    return frame.mask();
  }

  static Plane<std::uint8_t> mask(const std::string& path, Size size) {
    if (path.empty()) return {};
    Plane<std::uint8_t> mask = read_mask(path);
    if (mask.size() != size)
      throw Error(ErrorCategory::file, path + " is " + text(mask.size()) + ", the frames are " + text(size) +
                                           ": give a mask of their size");
    return mask;
  }

  const FrameStraightener& straightener_;
  Device device_;
  ImageFormat format_;
  Plane<std::uint8_t> first_mask_, second_mask_;
  Matcher matcher_;
};

ordered_json report_of(const FlowRequest& request, const FlowMatcher& matcher, const Stopwatch& stopwatch,
                       const PixelShares& shares) {
  const auto& motion = *request.search.parameters.get_if<MotionParameters>();
  const Size size = matcher.format().size;
  return {{"method", "motion"},
          {"device", matcher.device().text()},
          {"size", {{"width", size.width}, {"height", size.height}}},
          {"range", {{"width", motion.disparities}, {"height", motion.row_offsets}}},
          {"min", {-(motion.min_disparity + motion.disparities - 1), motion.min_row_offset}},
          {"parameters", describe_parameters(request.search.parameters)},
          {"milliseconds", stopwatch.to_json()},
          {"memory_bytes", matcher.matcher().memory_bytes()},
          {"valid", shares.valid},
          {"status", to_json(shares)}};
}

std::vector<FileBytes> encode_outputs(const std::string& output, const std::string& image, double longest,
                                      const Result& result) {
  const Flow flow = motions_of(result);
  std::vector<FileBytes> files;
  if (!output.empty()) files.emplace_back(output, encode_flow(output, flow.view()));
  if (!image.empty()) files.emplace_back(image, encode_png(coloured_flow(flow.view(), longest).view()));
  return files;
}

int match_frames(const FlowRequest& request) {
  CommandFiles files;
  for (const std::string& path : {request.first, request.second, request.first_mask, request.second_mask})
    files.reads(path);
  for (const std::string& path : request.cameras.rig) files.reads(path);
  for (const std::string& path : {request.output, request.image}) {
    if (names_folder(path))
      throw UsageError(path + " is a directory: give a file name, as for any two frames");
    files.writes(path);
    check_output(path);
  }
  if (!request.video.path.empty())
    throw UsageError("--video is for a sequence: leave it out, or leave out FRAME2");
  FrameStraightener straightener(request);
  const PicturePair frames = straightener.straight(read_pair(request.first, request.second, request.pictures),
                                                   request.first, request.second);
  FlowMatcher matcher(request, frames.left.view().format, straightener);
  Result result;
  Stopwatch stopwatch;
  for (int i = 0; i < request.repeat; ++i) {
    matcher.run(frames.left, frames.right, result);
    stopwatch.add(matcher.matcher().stage_times());
  }
  write_files(encode_outputs(request.output, request.image, request.longest, result));
  const PixelShares shares = pixel_shares(result);
  if (request.json)
    std::cout << report_of(request, matcher, stopwatch, shares).dump(2) << "\n";
  else
    std::cerr << std::fixed << std::setprecision(1) << "matched " << text(matcher.format().size)
              << " by motion on " << matcher.device().text() << " in " << stopwatch.total() << " ms, "
              << 100 * shares.valid << " % of pixels have a motion\n";
  return done;
}

// Each frame of a sequence with the one after it. Files are named after the first of the two.
class FlowSequence {
 public:
  FlowSequence(const FlowRequest& request, FrameSource& source)
      : request_(request),
        source_(source),
        outputs_("--output", request.output, ".flo"),
        images_("--image", request.image, ".png"),
        items_(pipeline_slots()),
        video_(request.video, source.frames_per_second()) {}

  int run() {
    if (request_.repeat > 1) throw UsageError("--repeat is for two frames: leave it out for a sequence");
    check_names();
    outputs_.make_folder(folders_);
    images_.make_folder(folders_);
    const auto stage = [&](bool one_at_a_time, auto body) {
      return PipelineStage{one_at_a_time, [this, body](std::size_t slot) { (this->*body)(items_[slot]); }};
    };
    run_pipeline(items_.size(), [&](std::size_t slot) { return source_.next(items_[slot].frame); },
                 {stage(false, &FlowSequence::decode), stage(true, &FlowSequence::match),
                  stage(false, &FlowSequence::write), stage(true, &FlowSequence::finish)});
    show_progress("");
    video_.finish();
    if (frames_ == 1 && failures_.empty())
      throw Error(ErrorCategory::file, request_.first + " has one frame: a motion needs two");
    report();
    return failures_.empty() ? done : failed;
  }

 private:
  struct Item {
    Frame frame;   // the second one
    Frame before;  // what the files are named after
    bool has_result = false;
    Result result;
    std::vector<StageTime> stages;
    PixelShares shares;
    Picture coloured;
  };

  void check_names() {
    for (const std::string& path : {request_.first_mask, request_.second_mask}) files_.reads(path);
    for (const std::string& path : request_.cameras.rig) files_.reads(path);
    std::vector<Frame> frames = source_.names();
    for (const Frame& frame : frames) files_.reads(frame.left);
    files_.writes(request_.video.path);
    if (!frames.empty()) frames.pop_back();
    for (const Frame& frame : frames) check_names_of(frame);
    checked_ = frames.size();
  }

  void check_names_of(const Frame& frame) {
    for (const OutputNames* names : {&outputs_, &images_}) files_.writes(names->of(frame));
  }

  void decode(Item& item) const {
    if (!item.frame.error.empty() || !item.frame.pictures.left.empty()) return;
    try_frame(item.frame,
              [&] { item.frame.pictures.left = read_picture(item.frame.left, request_.pictures); });
  }

  // A video may have more frames than it announces.
  void check_unannounced(Item& item, const Frame& before) {
    try {
      check_names_of(before);
    } catch (const UsageError& error) {
      item.frame.error = error.what();
    }
  }

  void straighten(Frame& frame) {
    if (!frame.error.empty()) return;
    const Picture picture = frame.pictures.left;
    try_frame(frame, [&] {
      frame.pictures.left = straightener_.straight({picture, picture}, frame.left, frame.left).left;
    });
  }

  void match(Item& item) {
    item.has_result = false;
    straighten(item.frame);
    Frame before = std::exchange(before_, item.frame);
    if (frames_++ > checked_) check_unannounced(item, before);
    if (!item.frame.error.empty()) return;
    if (!matcher_) matcher_.emplace(request_, item.frame.pictures.left.view().format, straightener_);
    item.frame.error = format_error(item.frame, matcher_->format());
    if (!item.frame.error.empty()) {
      before_ = item.frame;
      return;
    }
    if (before.pictures.left.empty() || !before.error.empty()) return;  // there is none, or it is broken
    const PicturePair pair = with_expected_values({before.pictures.left, item.frame.pictures.left});
    matcher_->run(pair.left, pair.right, item.result);
    item.stages = matcher_->matcher().stage_times();
    item.before = std::move(before);
    item.has_result = true;
  }

  void write(Item& item) const {
    if (!item.has_result) return;
    constexpr bool on_disk = false;  // a disk may take longer than the match
    write_files(
        encode_outputs(outputs_.of(item.before), images_.of(item.before), request_.longest, item.result),
        on_disk);
    item.shares = pixel_shares(item.result);
    if (video_.is_wanted()) item.coloured = coloured_flow(motions_of(item.result).view(), request_.longest);
  }

  void finish(Item& item) {
    if (!item.frame.error.empty()) {
      complain_of(item.frame);
      failures_.push_back({item.frame.number, item.frame.error});
    }
    item.frame.pictures = {};
    if (!item.has_result) return;
    if (video_.is_wanted()) video_.write(item.coloured);
    stopwatch_.add(item.stages);
    valid_ += item.shares.valid;
    ++matched_;
    show_progress("pair " + std::to_string(matched_));
  }

  void report() const {
    if (request_.json) {
      ordered_json json{{"method", "motion"}, {"pairs", matched_}};
      if (matched_ > 0)
        json.update({{"device", matcher_->device().text()},
                     {"milliseconds", stopwatch_.to_json()},
                     {"memory_bytes", matcher_->matcher().memory_bytes()},
                     {"valid", valid_ / static_cast<double>(matched_)}});
      json["failed"] = ordered_json::array();
      for (const auto& [number, error] : failures_)
        json["failed"].push_back({{"number", number}, {"error", error}});
      std::cout << json.dump(2) << "\n";
      return;
    }
    std::cerr << std::fixed << std::setprecision(1) << "matched " << matched_ << " pairs of frames";
    if (matched_ > 0)
      std::cerr << " of " << text(matcher_->format().size) << " by motion on " << matcher_->device().text()
                << ": " << stopwatch_.total() << " ms per match (median)";
    std::cerr << "\n";
  }

  const FlowRequest& request_;
  FrameSource& source_;
  OutputNames outputs_, images_;
  CommandFiles files_;
  OutputFolders folders_;
  std::vector<Item> items_;
  SequenceVideo video_;
  FrameStraightener straightener_{request_};
  std::optional<FlowMatcher> matcher_;
  Frame before_;
  Stopwatch stopwatch_;
  double valid_ = 0;
  std::size_t frames_ = 0, matched_ = 0;
  std::size_t checked_ = 0;  // pairs whose files are known to replace no other
  std::vector<std::pair<std::uint64_t, std::string>> failures_;
};

}  // namespace

int flow_command(const Arguments& arguments) {
  const FlowRequest request = parse(arguments);
  if (!request.second.empty()) return match_frames(request);
  Input one_side;
  one_side.left = request.first;
  const std::unique_ptr<FrameSource> source = open_sequence(one_side);
  if (source == nullptr)
    throw UsageError("FRAME2 is required, because " + request.first +
                     " is a single picture; see 'parallax flow --help'");
  return FlowSequence(request, *source).run();
}

}  // namespace parallax::tool
