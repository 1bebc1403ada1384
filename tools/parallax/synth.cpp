// SPDX-License-Identifier: Apache-2.0
#include "parallax/synth.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>

#include "parallax/flow.h"
#include "parallax/formats.h"

#include "tools/command/file_errors.h"
#include "tools/command/options.h"
#include "tools/command/output_files.h"
#include "tools/command/pipeline.h"
#include "tools/files/pictures/codecs.h"
#include "tools/files/tiff.h"

namespace parallax::tool {
namespace {

std::vector<std::byte> colour_png(const Plane<std::uint8_t>& image) {
  const Size size{image.width() / 3, image.height()};
  return encode_png({image.row(0), {size, BitDepth::bits8}, 3, image.view().stride_bytes});
}

std::vector<std::byte> gray_png(const Plane<std::uint8_t>& image) {
  return encode_png(image.view());
}

std::vector<std::byte> calibration_bytes(const Calibration& calibration) {
  const std::string text = encode_middlebury_calibration(calibration);
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// Renders the complete pair in memory.
void write_pair(const std::string& folder, const SynthParameters& parameters, bool with_truth) {
  const SynthPair pair = synthesize(parameters);
  std::vector<FileBytes> files;
  const auto add = [&](const char* name, std::vector<std::byte> bytes) {
    files.emplace_back((std::filesystem::path(folder) / name).string(), std::move(bytes));
  };
  add("left.png", colour_png(pair.left));
  add("right.png", colour_png(pair.right));
  if (with_truth) {
    add("disp0GT.pfm", encode_pfm(pair.left_truth.view()));
    add("disp1GT.pfm", encode_pfm(pair.right_truth.view()));
    add("mask0nocc.png", gray_png(pair.left_mask));
    add("mask1nocc.png", gray_png(pair.right_mask));
  }
  add("calib.txt", calibration_bytes(pair.calibration));
  OutputFolders folders;
  folders.make(folder);
  write_files(files);
}

// A tiled TIFF that gets its name once it is complete.
template <class T>
class TiffPlane {
 public:
  TiffPlane(const std::string& folder, const std::string& name, Size size, int channels)
      : output_((std::filesystem::path(folder) / name).string()),
        writer_(output_.temporary(), pixels_in_tiles(size) * static_cast<std::size_t>(channels) * sizeof(T)) {
    writer_.begin({size, channels, 8 * static_cast<int>(sizeof(T))}, true);
  }
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

class TiledTruth {
 public:
  TiledTruth(const std::string& folder, Size size)
      : left_truth_(folder, "disp0GT.tiff", size, 1),
        right_truth_(folder, "disp1GT.tiff", size, 1),
        left_mask_(folder, "mask0nocc.tiff", size, 1),
        right_mask_(folder, "mask1nocc.tiff", size, 1) {}
  void write(const SynthPair& rows) {
    left_truth_.write(rows.left_truth);
    right_truth_.write(rows.right_truth);
    left_mask_.write(rows.left_mask);
    right_mask_.write(rows.right_mask);
  }
  void finish() {
    left_truth_.finish();
    right_truth_.finish();
    left_mask_.finish();
    right_mask_.finish();
  }
  void take_place() {
    left_truth_.take_place();
    right_truth_.take_place();
    left_mask_.take_place();
    right_mask_.take_place();
  }

 private:
  TiffPlane<float> left_truth_, right_truth_;
  TiffPlane<std::uint8_t> left_mask_, right_mask_;
};

// Renders several bands of rows in parallel and writes them in order.
void write_tiled_pair(const std::string& folder, const SynthParameters& parameters, bool with_truth) {
  OutputFolders folders;
  folders.make(folder);
  const Size size = parameters.size;
  TiffPlane<std::uint8_t> left(folder, "left.tiff", size, 3), right(folder, "right.tiff", size, 3);
  std::optional<TiledTruth> truth;
  if (with_truth) truth.emplace(folder, size);
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
    left.write(bands[slot].pair.left);
    right.write(bands[slot].pair.right);
    if (truth) truth->write(bands[slot].pair);
    if (bands[slot].first == 0) calibration = bands[slot].pair.calibration;
    show_progress("row " + std::to_string(bands[slot].first) + " of " + std::to_string(size.height),
                  static_cast<double>(bands[slot].first) / size.height);
  };
  run_pipeline(bands.size(), take, {{false, render}, {true, write}});
  left.finish();
  right.finish();
  if (truth) truth->finish();
  OutputFile calibration_file((std::filesystem::path(folder) / "calib.txt").string());
  calibration_file.write(calibration_bytes(calibration));
  calibration_file.finish();
  left.take_place();
  right.take_place();
  if (truth) truth->take_place();
  calibration_file.take_place();
  show_progress("");
}

void write_frames(const std::string& folder, const FlowSynthParameters& parameters, bool with_truth) {
  const FlowSynthPair pair = synthesize_flow(parameters);
  std::vector<FileBytes> files;
  const auto add = [&](const char* name, std::vector<std::byte> bytes) {
    files.emplace_back((std::filesystem::path(folder) / name).string(), std::move(bytes));
  };
  add("frame1.png", colour_png(pair.first));
  add("frame2.png", colour_png(pair.second));
  if (with_truth) {
    add("flow.flo", encode_flo(pair.truth.view()));
    add("mask.png", gray_png(pair.mask));
  }
  OutputFolders folders;
  folders.make(folder);
  write_files(files);
}

// Larger pairs are always written in tiles: in memory, they would take gigabytes.
constexpr std::size_t most_pixels_at_once = 100'000'000;

}  // namespace

// Options that only one of the two kinds of pairs has. \throws UsageError
void check_kind(const Options& options, bool motions) {
  for (const char* other : {"--disparities", "--tiled"})
    if (motions && options.given(other))
      throw UsageError(std::string(other) + " is for stereo pairs: leave it out with --flow");
  for (const char* other : {"--motion", "--noise", "--exposure"})
    if (!motions && options.given(other)) throw UsageError(std::string(other) + " needs --flow: give both");
}

constexpr const char* scenes = "dots, planes or layers";
constexpr const char* flow_scenes = "translation, rotation, zoom, layers or thin";

int synth_command(const Arguments& arguments) {
  std::string folder;
  bool tiled = false, without_truth = false;
  SynthParameters parameters;
  parameters.size = {640, 480};
  bool motions = false;
  FlowSynthParameters flow;
  std::string scene = "layers";
  Options options(
      "synth",
      "Render a synthetic pair with exact truth, in the layout of Middlebury 2014; or two frames with exact "
      "motions.");
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
  options.add("--motion X", flow.motion, "Longest motion, in pixels").range(0, 1000);
  options.add("--noise X", flow.noise, "Standard deviation of the noise of both frames, in gray levels")
      .range(0, 255);
  options
      .add("--exposure X", flow.exposure, "Brightness of the second frame, as a multiple of the first one's")
      .range(0.1, 10);
  options.read(arguments);
  check_kind(options, motions);
  if (motions) {
    flow.size = parameters.size;
    flow.seed = parameters.seed;
    flow.scene = parse_flow_scene(scene);
    write_frames(folder, flow, !without_truth);
    return done;
  }
  parameters.scene = parse_scene(scene);
  if (!options.given("--disparities"))
    parameters.disparities = std::min(parameters.disparities, parameters.size.width);
  if (parameters.disparities > parameters.size.width)
    throw UsageError("--disparities is " + std::to_string(parameters.disparities) +
                     ": give at most the width, " + std::to_string(parameters.size.width));

  if (tiled || parameters.size.pixels() > most_pixels_at_once)
    write_tiled_pair(folder, parameters, !without_truth);
  else
    write_pair(folder, parameters, !without_truth);
  return done;
}

}  // namespace parallax::tool
