// SPDX-License-Identifier: Apache-2.0
#include "parallax/rectify.h"

#include "parallax/formats.h"

#include "tools/command/command_files.h"
#include "tools/command/method_options.h"
#include "tools/command/output_files.h"
#include "tools/files/picture_rectifier.h"
#include "tools/files/pictures/codecs.h"
#include "tools/files/rigs/rig_files.h"
#include "tools/parallax/pair_options.h"

namespace parallax::tool {
namespace {

struct RectifyRequest {
  std::string left, right, calibration, device = "auto";
  std::vector<std::string> rig, outputs, masks;
  RigChoices choices;
  PictureOptions pictures;
  RectifyParameters parameters;
  int threads = 0;
};

void check_two(const char* option, const std::vector<std::string>& paths) {
  if (paths.size() == 2) return;
  throw UsageError(std::string(option) + " has " + std::to_string(paths.size()) +
                   " files: give two, for the left and the right picture");
}

// The picture formats are those that codecs.h encodes.
void check_png(const std::vector<std::string>& paths) {
  for (const std::string& path : paths)
    if (!has_extension(path, {".png"}))
      throw UsageError(path + ": rectified pictures and masks are PNG: end it with .png");
}

void check_request(const RectifyRequest& request) {
  check_two("--output", request.outputs);
  check_png(request.outputs);
  if (!request.masks.empty()) check_two("--masks", request.masks);
  check_png(request.masks);
}

RectifyRequest read_rectify_request(const Arguments& arguments) {
  RectifyRequest request;
  Options options("rectify", "Turn the pictures of two calibrated cameras into a rectified pair.");
  options.add("LEFT", request.left, "Picture of the left camera").required();
  options.add("RIGHT", request.right, "Picture of the right camera").required();
  options.add_files("--rig", request.rig, "Calibration of the cameras; see 'parallax rig --help'").required();
  options.add_files("-o,--output", request.outputs, "The two rectified pictures (.png)").required();
  options.add_files("--masks", request.masks,
                    "Two masks (.png) for match: 0 where a camera saw nothing, 255 elsewhere");
  options.add("--calib FILE", request.calibration,
              "Calibration of the rectified pair (calib.txt), for match");
  const std::vector<std::string> kinds = device_kinds("");
  options.add("--device", request.device, join(kinds) + "; see 'parallax devices'").offer(kinds);
  options.add("--threads N", request.threads, "Threads of the cpu device; 0 = one per core").range(0, 4096);
  add_value_options(options, request.pictures);
  options.group("How to rectify");
  add_rectification_options(options, request.parameters, request.choices, true);
  options.read(arguments);
  check_request(request);
  return request;
}

void register_files(const RectifyRequest& request) {
  CommandFiles files;
  files.reads(request.left);
  files.reads(request.right);
  for (const std::string& path : request.rig) files.reads(path);
  std::vector<std::string> outputs = request.outputs;
  outputs.insert(outputs.end(), request.masks.begin(), request.masks.end());
  if (!request.calibration.empty()) outputs.push_back(request.calibration);
  for (const std::string& path : outputs) {
    files.writes(path);
    check_output(path);
  }
}

void write_results(const RectifyRequest& request, const PictureRectifier& rectifier,
                   const PicturePair& pair) {
  std::vector<FileBytes> files = {{request.outputs[0], encode_png(pair.left.view())},
                                  {request.outputs[1], encode_png(pair.right.view())}};
  if (!request.masks.empty()) {
    files.emplace_back(request.masks[0], encode_png(rectifier.left_mask()));
    files.emplace_back(request.masks[1], encode_png(rectifier.right_mask()));
  }
  if (!request.calibration.empty())
    files.emplace_back(request.calibration, bytes_of(encode_middlebury_calibration(rectifier.calibration())));
  write_files(files);
}

}  // namespace

int rectify_command(const Arguments& arguments) {
  const RectifyRequest request = read_rectify_request(arguments);
  register_files(request);
  Device device = Device::parse(request.device);
  device.threads = request.threads;
  PictureRectifier rectifier(request.rig, request.choices, request.parameters, device);
  const PicturePair pictures = read_any_pair(request.left, request.right, request.pictures);
  const PicturePair rectified = rectifier.run(pictures, request.left, request.right);
  write_results(request, rectifier, rectified);
  return done;
}

}  // namespace parallax::tool
