// SPDX-License-Identifier: Apache-2.0
#include "parallax/synth.h"

#include <algorithm>
#include <deque>
#include <filesystem>

#include "parallax/flow.h"
#include "parallax/formats.h"

#include "tools/command/command_files.h"
#include "tools/command/options.h"
#include "tools/command/output_files.h"
#include "tools/command/pipeline.h"
#include "tools/files/pictures/codecs.h"
#include "tools/files/tiff.h"

namespace parallax::tool {
namespace {

std::string file_in(const std::string& folder, const std::string& name) {
  return (std::filesystem::path(folder) / name).string();
}

std::vector<std::byte> colour_png(const Plane<std::uint8_t>& image) {
  const Size size{image.width() / 3, image.height()};
  return encode_png({image.row(0), {size, BitDepth::bits8}, 3, image.view().stride_bytes});
}

void write_to(const std::string& folder, std::vector<FileBytes> files) {
  for (auto& [name, bytes] : files) name = file_in(folder, name);
  OutputFolders folders;
  folders.make(folder);
  write_files(files);
}

void write_pair(const std::string& folder, const SynthParameters& parameters, bool with_truth) {
  const SynthPair pair = synthesize(parameters);
  std::vector<FileBytes> files{{"left.png", encode_png(pair.left_view())},
                               {"right.png", encode_png(pair.right_view())}};
  if (with_truth) {
    files.emplace_back("disp0GT.pfm", encode_pfm(pair.left_truth.view()));
    files.emplace_back("disp1GT.pfm", encode_pfm(pair.right_truth.view()));
    files.emplace_back("mask0nocc.png", encode_png(pair.left_mask.view()));
    files.emplace_back("mask1nocc.png", encode_png(pair.right_mask.view()));
  }
  files.emplace_back("calib.txt", bytes_of(encode_middlebury_calibration(pair.calibration)));
  write_to(folder, std::move(files));
}

// A tiled TIFF that gets its name once it is complete.
class TiffPlane {
 public:
  TiffPlane(const std::string& path, const TiffFormat& format)
      : output_(path), writer_(output_.temporary(), pixels_in_tiles(format.size) * format.pixel_bytes()) {
    writer_.begin(format, true);
  }
  template <class T>
  void write(const Plane<T>& rows) {
    writer_.write_rows(rows.row(0), rows.height(), rows.view().stride_bytes);
  }
  void finish() {
    writer_.end();
    writer_.close();
    output_.finish();
  }
  void take_place() { output_.take_place(); }

 private:
  OutputFile output_;
  TiffWriter writer_;
};

// Renders several bands of rows in parallel and writes them in order.
void write_tiled_pair(const std::string& folder, const SynthParameters& parameters, bool with_truth) {
  OutputFolders folders;
  folders.make(folder);
  const Size size = parameters.size;
  std::deque<TiffPlane> planes;
  const auto add = [&](const char* name, int channels, int bits) {
    planes.emplace_back(file_in(folder, name), TiffFormat{size, channels, bits});
  };
  for (const char* name : {"left.tiff", "right.tiff"}) add(name, 3, 8);
  if (with_truth) {
    for (const char* name : {"disp0GT.tiff", "disp1GT.tiff"}) add(name, 1, 32);
    for (const char* name : {"mask0nocc.tiff", "mask1nocc.tiff"}) add(name, 1, 8);
  }
  constexpr int rows_of_band = 64;
  struct Band {
    int first = 0;
    SynthPair pair;
  };
  std::vector<Band> bands(pipeline_slots());
  Calibration calibration;
  int taken = 0;
  const auto take = [&](std::size_t slot) {
    if (taken >= size.height) return false;
    bands[slot].first = taken;
    taken += rows_of_band;
    return true;
  };
  const auto render = [&](std::size_t slot) {
    const int first = bands[slot].first;
    bands[slot].pair = synthesize_rows(parameters, first, std::min(rows_of_band, size.height - first));
  };
  const auto write = [&](std::size_t slot) {
    const SynthPair& pair = bands[slot].pair;
    planes[0].write(pair.left);
    planes[1].write(pair.right);
    if (with_truth) {
      planes[2].write(pair.left_truth);
      planes[3].write(pair.right_truth);
      planes[4].write(pair.left_mask);
      planes[5].write(pair.right_mask);
    }
    if (bands[slot].first == 0) calibration = pair.calibration;
    show_progress("row " + std::to_string(bands[slot].first) + " of " + std::to_string(size.height),
                  static_cast<double>(bands[slot].first) / size.height);
  };
  run_pipeline(bands.size(), take, {{false, render}, {true, write}});
  for (TiffPlane& plane : planes) plane.finish();
  OutputFile calibration_file(file_in(folder, "calib.txt"));
  calibration_file.write(bytes_of(encode_middlebury_calibration(calibration)));
  calibration_file.finish();
  for (TiffPlane& plane : planes) plane.take_place();
  calibration_file.take_place();
  show_progress("");
}

void write_frames(const std::string& folder, const FlowSynthParameters& parameters, bool with_truth) {
  const FlowSynthPair pair = synthesize_flow(parameters);
  std::vector<FileBytes> files{{"frame1.png", colour_png(pair.first)},
                               {"frame2.png", colour_png(pair.second)}};
  if (with_truth) {
    files.emplace_back("flow.flo", encode_flo(pair.truth.view()));
    files.emplace_back("mask.png", encode_png(pair.mask.view()));
  }
  write_to(folder, std::move(files));
}

// A folder for each kind of file, with a file for each frame.
void write_video(const std::string& folder, const VideoSynthParameters& parameters, int frames,
                 bool with_truth) {
  parameters.validate();
  OutputFolders folders;
  folders.make(folder);
  std::vector<const char*> kinds{"left", "right"};
  if (with_truth) kinds.insert(kinds.end(), {"truth", "mask", "moving", "to_previous"});
  for (const char* kind : kinds) folders.make(file_in(folder, kind));
  std::vector<std::vector<FileBytes>> slots(pipeline_slots());
  std::vector<int> frame_of(slots.size());
  int taken = 0;
  const auto take = [&](std::size_t slot) {
    frame_of[slot] = taken;
    return taken++ < frames;
  };
  const auto render = [&](std::size_t slot) {
    const VideoSynthFrame frame = synthesize_frame(parameters, frame_of[slot]);
    const std::string number = std::to_string(1'000'000 + frame_of[slot]).substr(1);
    std::vector<FileBytes>& files = slots[slot];
    files.clear();
    const auto add = [&](const std::string& kind, const std::string& ending, std::vector<std::byte> bytes) {
      files.emplace_back(file_in(folder, file_in(kind, number + ending)), std::move(bytes));
    };
    add("left", ".png", encode_png(frame.pair.left_view()));
    add("right", ".png", encode_png(frame.pair.right_view()));
    if (frame_of[slot] == 0)
      files.emplace_back(file_in(folder, "calib.txt"),
                         bytes_of(encode_middlebury_calibration(frame.pair.calibration)));
    if (!with_truth) return;
    add("truth", ".pfm", encode_pfm(frame.pair.left_truth.view()));
    add("mask", ".png", encode_png(frame.pair.left_mask.view()));
    add("moving", ".png", encode_png(frame.moving.view()));
    add("to_previous", ".flo", encode_flo(frame.to_previous.view()));
  };
  const auto write = [&](std::size_t slot) {
    write_files(slots[slot]);
    const int done_frames = frame_of[slot] + 1;
    show_progress("frame " + std::to_string(done_frames) + " of " + std::to_string(frames),
                  static_cast<double>(done_frames) / frames);
  };
  run_pipeline(slots.size(), take, {{false, render}, {true, write}});
  show_progress("");
}

// Larger pairs are always written in tiles: in memory, they would take gigabytes.
constexpr std::size_t max_pixels_at_once = 100'000'000;

// Refuses options that the kind of pictures does not have.
// \throws UsageError
void check_kind(const Options& options, bool motions, bool is_video) {
  if (motions && is_video) throw UsageError("--video and --flow exclude each other: leave out one");
  if (motions) options.refuse({"--disparities", "--tiled"}, " is for stereo pairs: leave it out with --flow");
  if (is_video) options.refuse({"--scene", "--tiled"}, " is for single pairs: leave it out with --video");
  if (!motions && !is_video) options.refuse({"--motion", "--noise"}, " needs --flow or --video: give both");
  if (!motions) options.refuse({"--exposure"}, " needs --flow: give both");
  if (!is_video) options.refuse({"--drift", "--cut"}, " needs --video: give both");
}

constexpr const char* scenes = "dots, planes or layers";
constexpr const char* flow_scenes = "translation, rotation, zoom, layers or thin";

}  // namespace

int synth_command(const Arguments& arguments) {
  std::string folder;
  bool tiled = false, without_truth = false;
  SynthParameters parameters;
  parameters.size = {640, 480};
  bool motions = false;
  FlowSynthParameters flow;
  VideoSynthParameters video;
  int frames = 0;
  std::string scene = "layers";
  Options options(
      "synth",
      "Render a synthetic pair with exact truth, in the layout of Middlebury 2014; or two frames with exact "
      "motions; or a stereo video.");
  options.add("DIR", folder, "Output folder; created if missing").required();
  options.add("--size", parameters.size, "Width x height");
  options.add("--disparities N", parameters.disparities, "True disparities are below N");
  options
      .add("--scene NAME", scene, std::string("Scene to render: ") + scenes + "; with --flow: " + flow_scenes)
      .offer({"dots", "planes", "layers", "translation", "rotation", "zoom", "thin"});
  options.add("--seed N", parameters.seed, "Seed of the random scene");
  options.add_flag("--tiled", tiled, "Write tiled TIFFs in little memory; implied above 100 million pixels");
  options.add_flag("--no-truth", without_truth, "Leave out truth and masks");
  options.group("Motion");
  options.add_flag("--flow", motions, "Render two frames: frame1.png, frame2.png, flow.flo, mask.png");
  options
      .add("--video N", frames,
           "Render N frames of a stereo video into left/, right/, and, with truth, truth/, mask/, moving/, "
           "to_previous/")
      .range(1, 1'000'000);
  options
      .add("--motion X", flow.motion,
           "Longest motion between frames, in pixels; with --video 2 by default, at most 100")
      .range(0, 1000);
  options
      .add("--noise X", flow.noise,
           "Standard deviation of the noise in gray levels; with --video 2 by default")
      .range(0, 255);
  options
      .add("--exposure X", flow.exposure, "Brightness of the second frame, as a multiple of the first one's")
      .range(0.1, 10);
  options.add("--drift X", video.drift, "Share by which the brightness of a video drifts").range(0, 0.5);
  options.add("--cut N", video.cut, "Show another scene from frame N on").range(1, 1'000'000);
  options.read(arguments);
  const bool is_video = options.given("--video");
  check_kind(options, motions, is_video);
  if (!options.given("--disparities"))
    parameters.disparities = std::min(parameters.disparities, parameters.size.width);
  if (parameters.disparities > parameters.size.width)
    throw UsageError("--disparities is " + std::to_string(parameters.disparities) +
                     ": give at most the width, " + std::to_string(parameters.size.width));

  if (is_video) {
    video.size = parameters.size;
    video.seed = parameters.seed;
    video.disparities = parameters.disparities;
    if (options.given("--motion")) video.motion = flow.motion;
    if (options.given("--noise")) video.noise = flow.noise;
    write_video(folder, video, frames, !without_truth);
    return done;
  }
  if (motions) {
    flow.size = parameters.size;
    flow.seed = parameters.seed;
    flow.scene = parse_flow_scene(scene);
    write_frames(folder, flow, !without_truth);
    return done;
  }
  parameters.scene = parse_scene(scene);
  if (tiled || parameters.size.pixels() > max_pixels_at_once)
    write_tiled_pair(folder, parameters, !without_truth);
  else
    write_pair(folder, parameters, !without_truth);
  return done;
}

}  // namespace parallax::tool
