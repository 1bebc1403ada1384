#include "parallax/synth.h"

#include <algorithm>
#include <filesystem>
#include <iostream>

#include <opencv2/imgproc.hpp>

#include "parallax/formats.h"

#include "tools/parallax/command_line.h"
#include "tools/parallax/pictures.h"

namespace parallax::tool {
namespace {

std::vector<std::byte> colour_png(const Plane<std::uint8_t>& image) {
  const cv::Mat rgb(image.height(), image.width() / 3, CV_8UC3, const_cast<std::uint8_t*>(image.row(0)),
                    static_cast<std::size_t>(image.view().stride));
  cv::Mat bgr;
  cv::cvtColor(rgb, bgr, cv::COLOR_RGB2BGR);
  return encode_png(bgr);
}

std::vector<std::byte> gray_png(const Plane<std::uint8_t>& image) {
  return encode_png(cv::Mat(image.height(), image.width(), CV_8U, const_cast<std::uint8_t*>(image.row(0)),
                            static_cast<std::size_t>(image.view().stride)));
}

}  // namespace

int synth_command(const Arguments& arguments) {
  std::string folder, size = "640x480";
  SynthParameters parameters;
  CommandLine app("synth", "Render a synthetic pair with exact truth, in the layout of Middlebury 2014");
  app.add_option("DIR", folder, "Folder to write into; made if missing")->required();
  app.add_option("--size", size, "Width x height");
  app.add_option("--disparities", parameters.disparities, "True disparities are below this");
  add_choice<Scene>(app, "--scene", parameters.scene,
                    {{"dots", Scene::dots}, {"planes", Scene::planes}, {"layers", Scene::layers}},
                    "What to render");
  app.add_option("--seed", parameters.seed, "Another number, another scene")->check(not_negative());
  app.read(arguments);
  parameters.size = parse_size(size);
  if (app.count("--disparities") == 0)
    parameters.disparities = std::min(parameters.disparities, parameters.size.width);
  if (parameters.disparities > parameters.size.width)
    throw UsageError("--disparities is " + std::to_string(parameters.disparities) +
                     ": give at most the width, " + std::to_string(parameters.size.width));

  const SynthPair pair = synthesize(parameters);
  const std::string calibration = encode_middlebury_calibration(pair.calibration);
  const auto* text = reinterpret_cast<const std::byte*>(calibration.data());
  const std::pair<const char*, std::vector<std::byte>> files[] = {
      {"left.png", colour_png(pair.left)},
      {"right.png", colour_png(pair.right)},
      {"disp0GT.pfm", encode_pfm(pair.left_truth.view())},
      {"disp1GT.pfm", encode_pfm(pair.right_truth.view())},
      {"mask0nocc.png", gray_png(pair.left_mask)},
      {"mask1nocc.png", gray_png(pair.right_mask)},
      {"calib.txt", {text, text + calibration.size()}},
  };
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw Error(ErrorCategory::file, "cannot make folder " + folder + ": " + error.message());
  for (const auto& [name, bytes] : files) write_file((std::filesystem::path(folder) / name).string(), bytes);
  return done;
}

}  // namespace parallax::tool
